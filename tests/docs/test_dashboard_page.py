"""The manual of the dashboard names every page, every key of an address, every facet and every field of a twin."""

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest
from starlette.routing import Route

from attribution.client.in_process import InProcess
from attribution.dashboard.access import Access
from attribution.dashboard.app import ROUTES, create_app
from attribution.dashboard.views import links
from attribution.dashboard.views.attempts import FACETS
from attribution.extraction.ruleset import RuleSets
from attribution.store.database import open_store

from tests.browser.addresses import example, pages
from tests.browser.site import NOW, decisive, fill
from tests.conftest import ROOT

MANUAL = (ROOT / "docs" / "dashboard.md").read_text()
PICTURES = ROOT / "docs" / "pictures"
SHARED = "Words that several pages share"
MAPS = frozenset({"filters", "fields", "where", "ids", "failures"})
"""Fields whose own keys are values: labels, ids, kinds."""

LIMIT_KB = 120
"""What a picture may weigh."""

pytestmark = pytest.mark.slow


def sections() -> dict[str, str]:
    """The text below each heading, by the heading."""
    parts = re.split(r"^## (.+)$", MANUAL, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def section_of(path: str) -> str:
    """The text of the section that is headed by a path; a parameter that takes in several segments is told plainly."""
    plain = path.replace(":path}", "}")
    found = [text for heading, text in sections().items() if f"`{plain}`" in heading]
    assert len(found) == 1, f"{len(found)} sections are headed `{plain}`"
    return found[0]


def words(text: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", text))


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory, shipped: RuleSets) -> Iterator[tuple[httpx.Client, str, str]]:
    """The pages, the key of an attempt, and the id of a piece of its evidence."""
    path = tmp_path_factory.mktemp("documented") / "attribution.db"
    key = fill(path, shipped, ("nvlink-signal-integrity", "cable-overheated"), attempts=40)["nvlink-signal-integrity"]
    with closing(open_store(str(path), read_only=True)) as store:
        transport = InProcess(create_app(store, Access(), lambda: NOW))
        with httpx.Client(transport=transport, base_url="http://127.0.0.1:8080") as client:
            yield client, key, decisive(store, key)


@pytest.mark.parametrize("path", pages())
def test_every_page_has_a_section(path: str) -> None:
    assert section_of(path).strip()


def test_every_other_form_is_named() -> None:
    for route in ROUTES:
        assert isinstance(route, Route)
        if not route.path.endswith(".json"):
            assert f"`{route.path.replace(':path}', '}')}`" in MANUAL, route.path


@pytest.mark.parametrize("path", pages())
def test_every_key_of_an_address_is_told(twins: tuple[httpx.Client, str, str], path: str) -> None:
    client, key, evidence_id = twins
    answer = client.get(f"{links.twin(example(path, key, evidence_id))}?zzzzzzzz=1")
    if path == links.PATTERNS:
        return  # it has no twin
    (problem,) = answer.json()["problems"]
    if problem["remedy"] == "this page has none":
        return
    known = re.findall(r"[a-z_]+", problem["remedy"].partition("are ")[2]) or re.findall(r"`(\w+)`", problem["remedy"])
    assert known, problem
    assert not set(known) - words(section_of(path)) - words(sections()[SHARED] if "days" in known else "")


@pytest.mark.parametrize("path", [path for path in pages() if path != links.PATTERNS])
def test_every_field_of_a_twin_is_told(twins: tuple[httpx.Client, str, str], path: str) -> None:
    client, key, evidence_id = twins
    told = section_of(path)
    if path == "/attempts/{key}":
        assert "attribution-blueprint-result.schema.json" in told
        return
    address = example(path, key, evidence_id)
    fields: set[str] = set()
    for query in ("", "?group=cause") if path == "/attempts" else ("",):
        answer = client.get(links.twin(address + query))
        assert answer.status_code == 200, answer.text[:200]
        fields |= set(names(answer.json()))
    missing = sorted(fields - words(told) - words(sections()[SHARED]))
    assert not missing


def names(value: Any) -> Iterator[str]:
    """The names of all fields; of a map whose keys are values, only its own."""
    if isinstance(value, list):
        for item in value:
            yield from names(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name != name.upper():
                yield name
            if name not in MAPS:
                yield from names(item)


def test_every_facet_is_told() -> None:
    assert set(FACETS) <= words(section_of("/attempts").partition("The facets are")[2].partition(":")[0])


def test_every_picture_is_there_small_and_shown() -> None:
    shown = set(re.findall(r"pictures/([\w-]+\.png)", MANUAL))
    assert shown == {path.name for path in PICTURES.iterdir()}
    for name in shown:
        picture = (PICTURES / name).read_bytes()
        assert picture.startswith(b"\x89PNG") and len(picture) < LIMIT_KB * 1024, name
