"""What scripts add to the pages of an attempt: keys, buttons that copy, charts. The pages hold all without them."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import Looks


def focused(page: Page) -> str:
    """What the focused mark says."""
    said: str = page.evaluate("document.activeElement.querySelector('title')?.textContent ?? ''")
    return said


def test_arrows_move_between_the_marks_of_a_lane_and_between_lanes(looks: Looks) -> None:
    with looks.page(looks.site.attempt("nvlink-signal-integrity")) as page:
        marks = page.locator(".lanes > li:first-child a.mark")
        marks.first.focus()
        first = focused(page)
        assert first
        page.keyboard.press("ArrowRight")
        assert focused(page) not in {"", first}
        page.keyboard.press("ArrowLeft")
        assert focused(page) == first
        page.keyboard.press("End")
        assert focused(page) == marks.last.locator("title").text_content()
        page.keyboard.press("ArrowDown")
        assert " on node-02;" not in focused(page) != ""
        page.keyboard.press("Enter")
        page.wait_for_url("**/evidence/*")


def test_arrows_walk_through_the_trail(looks: Looks) -> None:
    with looks.page(looks.site.attempt("nvlink-signal-integrity")) as page:
        page.locator("a.place").first.click()
        page.wait_for_url("**/evidence/*")
        here = page.url
        page.keyboard.press("ArrowRight")
        page.wait_for_url(lambda url: url != here)
        page.keyboard.press("ArrowLeft")
        page.wait_for_url(here)


def test_a_button_copies_the_name_beside_it(looks: Looks) -> None:
    address = looks.site.attempt("nvlink-signal-integrity")
    with looks.page(address, permissions=["clipboard-read", "clipboard-write"]) as page:
        button = page.get_by_role("button", name="copy node-02")
        button.click()
        expect(button).to_have_text("copied")
        assert page.evaluate("navigator.clipboard.readText()") == "node-02"
    with looks.page(address, java_script_enabled=False) as page:
        assert page.locator("button.copy").count() == 0 and page.locator(".where code").first.inner_text() == "node-02"


COLOURS = """() => {
  const canvas = document.querySelector(".strip canvas");
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  const found = new Set();
  for (let place = 0; place < pixels.length; place += 4) {
    if (pixels[place + 3] === 255) found.add(pixels.slice(place, place + 3).join());
  }
  return [...found];
}"""


def test_metric_strips_lie_under_the_timeline_and_follow_the_scheme(looks: Looks) -> None:
    with looks.page(looks.site.attempt("gpu-memory-uncorrectable"), color_scheme="light") as page:
        expect(page.locator(".strip.live canvas").first).to_be_visible()
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_function(
                "Math.abs(document.querySelector('.strip .u-over').getBoundingClientRect().width"
                " - document.querySelector('.lanes .track').getBoundingClientRect().width) < 1"
            )
            chart, lane = (
                page.locator(".strip .u-over").first.bounding_box(),
                page.locator(".lanes .track").first.bounding_box(),
            )
            assert chart and lane and abs(chart["x"] - lane["x"]) < 1
        light = set(page.evaluate(COLOURS))
        page.emulate_media(color_scheme="dark")
        page.wait_for_function(f"(before) => !({COLOURS})().some(colour => before.includes(colour))", arg=sorted(light))
        page.locator(".strip .u-over").first.hover()
        expect(page.locator(".strip .value").first).to_contain_text("Z: ")
        looks.problems = [
            item for item in looks.problems if "willReadFrequently" not in item
        ]  # of this test's own reads
