"""What scripts add: keys in the timeline, copies of names, charts of metrics. None of it asks for anything more."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import Looks

FOCUSED = "document.activeElement.getAttribute('aria-labelledby')"


def test_arrow_keys_move_between_the_marks_of_the_timeline(looks: Looks) -> None:
    with looks.page(looks.site.attempt("nvlink-signal-integrity")) as page:
        marks = page.locator(".lanes > li:first-child a.mark")
        marks.first.focus()
        assert page.evaluate(FOCUSED) == marks.first.get_attribute("aria-labelledby")
        page.keyboard.press("ArrowRight")
        assert page.evaluate(FOCUSED) == marks.nth(1).get_attribute("aria-labelledby")
        page.keyboard.press("Home")
        page.keyboard.press("ArrowDown")
        assert "mark-2-" in page.evaluate(FOCUSED)
        page.keyboard.press("Enter")
        page.wait_for_url("**/evidence/*")


def test_a_name_is_copied(looks: Looks) -> None:
    permissions = ["clipboard-read", "clipboard-write"]
    with looks.page(looks.site.attempt("nvlink-signal-integrity"), permissions=permissions) as page:
        button = page.get_by_role("button", name="copy node-02").first
        button.click()
        expect(button).to_have_text("copied")
        assert page.evaluate("navigator.clipboard.readText()") == "node-02"


def test_metrics_are_drawn_with_and_without_scripts(looks: Looks) -> None:
    for allowed in (True, False):
        with looks.page("/patterns", java_script_enabled=allowed) as page:
            assert drawn(page) == ("canvas" if allowed else "polyline")
            page.locator("summary", has_text="samples as a table").first.click()
            expect(page.locator("caption", has_text="Samples of DCGM_FI_DEV_GPU_TEMP").first).to_be_attached()


def drawn(page: Page) -> str:
    """What shows the samples of the first metric."""
    return next(kind for kind in ("canvas", "polyline") if page.locator(f".strip {kind}").count())
