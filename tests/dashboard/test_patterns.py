"""The page of patterns shows every state, and keeps the promises of all pages whatever its texts hold."""

import httpx

from attribution.contracts.vocabulary import Status, TerminalState
from attribution.dashboard.rendering import inert
from attribution.dashboard.views.patterns import HOSTILE
from attribution.presentation import words

from tests.dashboard.markup import promises


def test_every_state_is_shown_with_a_word_and_a_shape(pages: httpx.Client) -> None:
    page = promises(pages.get("/patterns").text)
    badges = page.one("section", **{"aria-labelledby": "badges"}).all("span", class_="badge")
    said = {item.text.split(" ", 1)[1]: item.text[0] for item in badges}
    assert {words.STATES[state] for state in TerminalState} <= set(said)
    assert {words.STATUSES[status] for status in Status} <= set(said)
    tones = {(item.attributes["class"], item.text[0]) for item in badges}
    shapes = {shape for _, shape in tones}
    assert len(shapes) >= 5 and all(not shape.isalnum() for shape in shapes)


def test_hostile_text_is_shown_and_made_harmless(pages: httpx.Client) -> None:
    page = promises(pages.get("/patterns").text)
    shown = [item.text for item in page.one("ul", class_="hostile").all("li")]
    assert len(shown) == len(HOSTILE)
    told = [" ".join(inert(text).split())[:40].lower() for text in HOSTILE]
    assert [text[:40].lower() for text in shown] == told


def test_it_has_no_twin(pages: httpx.Client) -> None:
    assert pages.get("/patterns.json").status_code == 404
