"""What the pages load is their own or vendored as it was released, and is served under the strict policy."""

import hashlib
import re
from pathlib import Path

import httpx
import pytest

from attribution.dashboard.app import STATIC
from attribution.dashboard.headers import POLICY

VENDORED = {
    "vendor/uplot-1.6.32/uPlot.esm.js": "5dd9b3281aa64b461b42d9945f6adb2649d346502b12281a9ae0d46599a80eba",
    "vendor/uplot-1.6.32/uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
    "vendor/uplot-1.6.32/LICENSE": "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
}
"""Files of others, with the SHA-256 of what was released."""

OWN_SCRIPTS = sorted(path for path in STATIC.glob("*.js"))


@pytest.mark.parametrize("name", VENDORED)
def test_vendored_files_are_as_they_were_released(name: str) -> None:
    assert hashlib.sha256((STATIC / name).read_bytes()).hexdigest() == VENDORED[name]


def test_every_vendored_file_is_listed() -> None:
    found = {path.relative_to(STATIC).as_posix() for path in (STATIC / "vendor").rglob("*") if path.is_file()}
    assert found == set(VENDORED)


@pytest.mark.parametrize("path", OWN_SCRIPTS, ids=lambda path: path.name)
def test_scripts_make_no_markup_and_ask_nobody(path: Path) -> None:
    source = path.read_text()
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|Function\(|fetch\(|https?:", source
    )
    for module in re.findall(r'from "([^"]+)"', source):
        assert (path.parent / module).is_file(), module


@pytest.mark.parametrize("name", ["keys.js", "vendor/uplot-1.6.32/uPlot.esm.js", "diagnosis.css"])
def test_what_pages_load_is_served_with_its_type_and_the_policy(pages: httpx.Client, name: str) -> None:
    answer = pages.get(f"/static/{name}")
    assert answer.status_code == 200
    assert answer.headers["content-type"].split(";")[0] in {"text/javascript", "application/javascript", "text/css"}
    assert answer.headers["content-security-policy"] == POLICY
