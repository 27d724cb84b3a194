"""Debian's Chromium, driven by Playwright; every page that is looked at records what must never happen."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from attribution.extraction.ruleset import RuleSets

from tests.browser.site import Site, fill, serving

REQUIRED = "ATTRIBUTION_BROWSER"
"""Set to 1 where a missing browser is a failure, as in CI."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test of this folder needs a browser, and time."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def chromium() -> str:
    """The program."""
    found = os.environ.get("ATTRIBUTION_CHROMIUM") or shutil.which("chromium")
    if found:
        return found
    told = "no chromium here; on Debian: apt-get install chromium fonts-dejavu-core"
    if os.environ.get(REQUIRED) == "1":
        pytest.fail(told)
    pytest.skip(told)


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """One browser for the tests of one file: Playwright's event loop must be gone before other tests run theirs.

    It has no sandbox of its own: CI is root in a container, and the pages are ours.
    """
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="session")
def site(chromium: str, tmp_path_factory: pytest.TempPathFactory, shipped: RuleSets) -> Iterator[Site]:
    """The pages."""
    path = tmp_path_factory.mktemp("browser") / "attribution.db"
    keys = fill(path, shipped)
    with serving(path, keys) as found:
        yield found


class Looks:
    """Opens pages, and fails at the end if one of them complained, asked elsewhere, or let hostile text act."""

    def __init__(self, browser: Browser, site: Site) -> None:
        self.site = site
        self.problems: list[str] = []
        self._browser = browser

    @contextmanager
    def page(self, address: str = "/attempts", **options: Any) -> Iterator[Page]:
        """A page in a window of its own. `options` are those of a browser context."""
        context = self._browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        context.on("console", lambda message: self._console(message.type, message.text))
        context.on("weberror", lambda error: self.problems.append(f"error: {error.error}"))
        context.on("dialog", lambda dialog: (self.problems.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        context.on("request", lambda request: self._asked(request.url))
        context.set_default_navigation_timeout(120_000)  # a busy machine is no fault of a page
        found = context.new_page()
        try:
            found.goto(address if "://" in address else self.site.url + address)
            yield found
        finally:
            context.close()

    def _console(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"}:
            self.problems.append(f"console {kind}: {text}")

    def _asked(self, url: str) -> None:
        wanted, own = urlsplit(url), urlsplit(self.site.url)
        if (wanted.scheme, wanted.netloc) != (own.scheme, own.netloc):
            self.problems.append(f"asked elsewhere: {url}")


@pytest.fixture
def looks(browser: Browser, site: Site) -> Iterator[Looks]:
    """What a test opens pages with."""
    found = Looks(browser, site)
    yield found
    assert found.problems == []


def faults(page: Page, *rules: str) -> list[str]:
    """What axe finds wrong with a page, by all its rules or some, one line each."""
    only = {"runOnly": {"type": "rule", "values": list(rules)}} if rules else {}
    found = Axe().run(page, options={"resultTypes": ["violations"], **only}).response["violations"]
    return [f"{item['id']}: {node['target']} {node['html'][:120]}" for item in found for node in item["nodes"][:5]]


def wider_than_window(page: Page) -> int:
    """How many pixels the page is wider than its window."""
    width: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return width
