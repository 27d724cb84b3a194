"""What people do with the pages: by keyboard, with a link, without scripts; and what hostile text tries."""

import re

from playwright.sync_api import Page, expect

from attribution.dashboard.views import links
from attribution.dashboard.views.patterns import HOSTILE

from tests.browser.conftest import Looks


def tab_to(page: Page, selector: str, presses: int = 400) -> None:
    """Press Tab until what has the focus matches."""
    for _ in range(presses):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"Tab never reaches {selector}")


def test_by_keyboard_from_the_list_to_the_evidence_and_back(looks: Looks) -> None:
    href = links.attempt(looks.site.keys["nvlink-signal-integrity"])
    with looks.page("/attempts?q=418201") as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        tab_to(page, f'a[href="{href}"]')
        page.keyboard.press("Enter")
        page.wait_for_url(f"**{href}")
        expect(page.locator("h1")).to_contain_text("NVLink signal integrity")
        tab_to(page, '.evidence a[href*="/evidence/"]')
        page.keyboard.press("Enter")
        page.wait_for_url("**/evidence/*")
        expect(page.locator("main")).to_contain_text("Xid")
        page.go_back()
        page.wait_for_url(f"**{href}")
        page.go_back()
        page.wait_for_url(re.compile(r"/attempts\?q=418201(#main)?$"))


def test_focus_is_seen(looks: Looks) -> None:
    with looks.page("/attempts") as page:
        tab_to(page, "main a")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_facets_survive_a_reload_and_a_new_window(looks: Looks) -> None:
    with looks.page("/attempts") as page:
        page.locator('#facets a[href*="sub_domain=nvlink_fabric"]').first.click()
        page.wait_for_url("**sub_domain=nvlink_fabric**")
        told = page.locator('p[role="status"]').first.inner_text()
        assert "NVLink fabric" in told
        page.reload()
        assert page.locator('p[role="status"]').first.inner_text() == told
        address = page.url
        rows = page.locator("table.attempts tbody tr").count()
    with looks.page(address) as page:
        assert page.locator("table.attempts tbody tr").count() == rows > 0


def test_a_phone_sees_the_first_attempt_on_its_first_screen(looks: Looks) -> None:
    with looks.page("/attempts?user=ana", viewport={"width": 390, "height": 844}) as page:
        assert page.locator("#f-user").is_visible(), "what is asked for is seen"
        assert not page.locator("#f-node").is_visible()
        page.locator("#f-q").focus()
        assert page.locator("#f-node").is_visible() and page.locator("#f-since").is_visible()
    with looks.page("/attempts", viewport={"width": 390, "height": 844}) as page:
        box = page.locator("table.attempts tbody tr").first.bounding_box()
        assert box is not None and box["y"] + box["height"] < 844, box


def test_without_scripts_the_verdict_the_timeline_and_the_lines_are_there(looks: Looks) -> None:
    with looks.page(looks.site.attempt("nvlink-signal-integrity"), java_script_enabled=False) as page:
        expect(page.locator("h1")).to_contain_text("NVLink signal integrity")
        expect(page.locator(".where")).to_contain_text("node-02")
        assert page.locator(".timeline svg .mark").count() >= 1
        page.locator("summary", has_text="timeline as a table").click()
        expect(page.locator("details[open] table").first).to_be_visible()
        expect(page.locator(".evidence mark").first).to_be_visible()
        page.locator(".evidence a").first.click()
        expect(page.locator("main")).to_contain_text("Xid")


def test_hostile_text_is_shown_and_does_nothing(looks: Looks) -> None:
    attempt = links.attempt(looks.site.keys["hostile"])
    for path in ("/attempts", attempt, f"{attempt}/decided", f"{attempt}/evidence/h0", "/coverage", "/patterns"):
        with looks.page(path) as page:
            inside = "main script, main img, main iframe, main [onload], main [onerror], main a[href^='javascript']"
            assert page.locator(inside).count() == 0, path
            assert page.locator("h1").count() == 1, path
            text = page.locator("body").inner_text()
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u200b\u202a-\u202e]", text), path
            assert len(text) < 400_000, path
    with looks.page(attempt) as page:
        expect(page.locator("body")).to_contain_text(HOSTILE[0])
        expect(page.locator("body")).to_contain_text("\\x1b[31mred")


def test_nothing_in_the_page_may_run_that_is_not_its_own(looks: Looks) -> None:
    with looks.page("/attempts") as page:
        ran = page.evaluate(
            """() => new Promise(done => {
                document.addEventListener('securitypolicyviolation', event => done(event.violatedDirective));
                const made = document.createElement('script');
                made.textContent = 'window.ran = true';
                document.body.append(made);
                setTimeout(() => done('nothing'), 2000);
            })"""
        )
        assert ran == "script-src-elem" and not page.evaluate("'ran' in window")
    assert any("Content Security Policy" in item for item in looks.problems)
    looks.problems = []


def test_every_link_of_the_frame_leads_to_a_page(looks: Looks) -> None:
    with looks.page("/attempts") as page:
        for link in page.locator("header nav a").all():
            answer = page.request.get(looks.site.url + (link.get_attribute("href") or ""))
            assert answer.status == 200, link.get_attribute("href")
