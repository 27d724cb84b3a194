"""Every page is sound in a real browser: in both schemes, narrow, enlarged, printed, and without scripts."""

import pytest
from playwright.sync_api import ViewportSize

from tests.browser.addresses import example, pages
from tests.browser.conftest import Looks, faults, wider_than_window

MORE = (
    "/attempts?sub_domain=nvlink_fabric&q=node",
    "/attempts?q=nothing+is+called+so",
    "/attempts?terminal_state=faild",
    "/nowhere",
    "/rules?kind=relation",
    "/coverage?days=365",
    "/attempts?group=cause",
    "/nodes?q=nothing",
)
"""Pages in another state: narrowed, empty, refused, not there."""

PATHS = (*pages(), *MORE)

PHONE: ViewportSize = {"width": 390, "height": 844}
ENLARGED: ViewportSize = {"width": 640, "height": 450}


def address(looks: Looks, path: str) -> str:
    return example(path, looks.site.keys["nvlink-signal-integrity"], looks.site.evidence_id)


def quiet(looks: Looks, path: str) -> None:
    """What a browser says itself of an answer that is an error is no fault of the page."""
    if path in {"/nowhere", "/attempts?terminal_state=faild"}:
        looks.problems = [item for item in looks.problems if "Failed to load resource" not in item]


@pytest.mark.parametrize("path", PATHS)
def test_it_is_sound_in_both_schemes_and_at_every_size(looks: Looks, path: str) -> None:
    with looks.page(address(looks, path), color_scheme="light") as page:
        assert faults(page) == []
        page.emulate_media(color_scheme="dark")
        assert faults(page, "color-contrast") == []
        # 200 % of a window of 1,280 pixels leaves 640 of the sheet's
        for size in (PHONE, ENLARGED):
            page.set_viewport_size(size)
            assert wider_than_window(page) <= 0, size
    quiet(looks, path)


@pytest.mark.parametrize("path", PATHS)
def test_without_scripts_it_says_the_same(looks: Looks, path: str) -> None:
    texts = []
    for allowed in (True, False):
        with looks.page(address(looks, path), java_script_enabled=allowed) as page:
            texts.append(page.locator("main h1, main h2, main h3, main th, main dd").all_inner_texts())
    assert texts[0] == texts[1] and texts[0]
    quiet(looks, path)


def test_a_diagnosis_prints_whole_and_without_the_frame(looks: Looks) -> None:
    with looks.page(looks.site.attempt("nvlink-signal-integrity")) as page:
        page.emulate_media(media="print")
        assert page.locator("h1").is_visible() and page.locator("#evidence").is_visible()
        for selector in ("header.top", "footer.bottom", ".toc", ".downloads"):
            assert not page.locator(selector).is_visible(), selector
        assert len(page.pdf()) > 10_000


def test_forced_colours_keep_what_states_say(looks: Looks) -> None:
    with looks.page("/patterns", forced_colors="active") as page:
        assert page.locator(".badge").first.is_visible()
        assert faults(page) == []
