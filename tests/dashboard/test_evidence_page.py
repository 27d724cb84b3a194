"""A line of evidence has a page: in its context, with what was read from it, what rests on it, and its neighbours."""

import json
import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from attribution.contracts.diagnosis import Diagnosis, Evidence
from attribution.contracts.vocabulary import Role
from attribution.dashboard import rendering
from attribution.dashboard.pages import results
from attribution.dashboard.views.evidence import evidence
from attribution.dashboard.views.trail import TrailView, trail_view
from attribution.store.queries import get_result

from tests.dashboard.conftest import result_of
from tests.dashboard.markup import Element, promises
from tests.dashboard.test_decided import address_of
from tests.presentation import builders

KEY = "0" * 32


def trail(diagnosis: Diagnosis, item: str) -> TrailView:
    """What the page of a piece of evidence shows."""
    found = trail_view(result_of(diagnosis), KEY, item)
    assert found is not None
    return found


def page_of(diagnosis: Diagnosis, item: str) -> Element:
    """The page, after checking what holds for every page."""
    return promises(rendering.page("evidence.html", view=trail(diagnosis, item), key=KEY))


def test_the_line_stands_in_its_context_with_its_place_and_what_was_read() -> None:
    page = page_of(builders.single(), "e1")
    assert page.one("h1").text == "Evidence: syslog/node-02.log:812"
    assert page.one("mark").text == "149, NETIR_LINK_EVT Fatal XC0 i0 Link 08"
    assert len(page.one("ol", class_="lines").all("li")) == 3
    place = dict(trail(builders.single(), "e1").place)
    assert (place["Stream"], place["Line"], place["Byte offset"]) == ("syslog/node-02.log", "812", "90,112")
    assert page.one("dl").all("a")[0].attributes["href"] == "/rules/NVL001"
    fields = [item.text for item in page.one("dl").all("dt")]
    assert "Field code" in fields and "Field severity" in fields


def test_what_the_engine_itself_reads_has_no_page_of_a_rule() -> None:
    line = builders.line("e1", "scheduler_state: TIMEOUT", rule="scheduler-record")
    page = page_of(builders.single().model_copy(update={"evidence": (line,)}), "e1")
    assert "the engine (scheduler-record)" in page.one("dl").text
    assert page.one("p", class_="reading").text == "Read by the engine (scheduler-record)"
    assert not [a for a in page.all("a") if a.attributes["href"].startswith("/rules/scheduler")]


def test_the_id_of_a_rule_stays_in_one_line(pages: httpx.Client) -> None:
    names = page_of(builders.single(), "e1").one("p", class_="reading").all("code", class_="rule")
    assert [item.text for item in names] == ["NVL001"]
    assert re.search(r"code\.rule \{[^}]*white-space: nowrap", pages.get("/static/diagnosis.css").text)
    long = builders.line("e1", "text", rule="X" * 60)
    page = page_of(builders.single().model_copy(update={"evidence": (long,)}), "e1")
    assert not page.one("p", class_="reading").all("code", class_="rule"), "what is no id may break"


def test_what_rests_on_a_line_is_told() -> None:
    uses = trail(builders.single(), "e1").uses.rows
    assert [use.part for use in uses] == ["the decisive line of a cause", "first failure", "finding (cause), stands"]
    assert uses[0].what == "NVLink signal integrity (Xid 149, sub-code 4)"
    page = page_of(builders.single(), "e1")
    assert page.one("tbody").all("a")[0].attributes["href"] == "/symptoms/NVLINK_SIGNAL_INTEGRITY"


def test_a_line_that_sets_aside_or_rules_out_says_so() -> None:
    shape = builders.single()
    echo = next(s for s in shape.symptoms if s.node == "node-03").model_copy(update={"evidence_ids": ("e1",)})
    ruled_out = shape.alternatives[0].model_copy(update={"evidence_ids": ("e1",)})
    uses = trail(shape.model_copy(update={"symptoms": (echo,), "alternatives": (ruled_out,)}), "e1").uses.rows
    assert [(use.part, use.remark, use.rule) for use in uses[-2:]] == [
        ("finding (effect), set aside", "the peer on node-02 was lost first", "COL101"),
        ("rules out an alternative", "it reports the same error as the link", ""),
    ]


def test_the_own_line_of_an_alternative_does_not_rule_it_out() -> None:
    shape = builders.single()
    survived = builders.symptom("XID_48", "node-02", Role.CAUSE, evidence_ids=("e1",))
    ruled_out = shape.alternatives[0].model_copy(update={"evidence_ids": ("e1",)})
    uses = trail(shape.model_copy(update={"symptoms": (survived,), "alternatives": (ruled_out,)}), "e1").uses.rows
    assert uses[-1].part == "an alternative that was ruled out"


def test_the_trail_leads_through_all_evidence_in_both_directions() -> None:
    shape, way = builders.compound(), []
    item = shape.evidence[0].id
    while True:
        way.append(item)
        found = trail(shape, item)
        assert (found.number, found.total) == (len(way), 8)
        if found.next is None:
            break
        item = found.next.href.rpartition("/")[2]
        back = trail(shape, item).previous
        assert back is not None and back.href == f"/attempts/{KEY}/evidence/{way[-1]}"
    assert way == [line.id for line in shape.evidence]


@pytest.mark.parametrize(
    ("doubt", "said"),
    [
        (0.001, "UTC, within ±0.001 s"),
        (0.000001, "UTC, within ±1 µs"),
        (None, "the line has no time of its own: it was written at or after the stamped line before it"),
        (50_400.0, "a local clock whose zone is not known: it orders only lines of this node and source"),
    ],
)
def test_how_far_the_clock_may_be_off_is_told(doubt: float | None, said: str) -> None:
    shape = builders.single()
    line = shape.evidence[0].model_copy(update={"at_uncertainty_secs": doubt})
    assert dict(trail(shape.model_copy(update={"evidence": (line,)}), "e1").place)["Clock"] == said


def test_a_record_is_shown_as_the_sentence_it_tells_with_the_record_to_unfold() -> None:
    told = "NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus."
    text = json.dumps({"_HOSTNAME": "node-02", "MESSAGE": told, "PRIORITY": "3"})
    shown, record = decisive_line(builders.line("e1", text, fields={"code": "79"})).all("code")
    assert shown.raw_text == told and shown.one("mark").text == "79"
    assert record.raw_text == text
    folded = decisive_line(builders.line("e1", text)).one("details")
    assert folded.one("summary").text == "the record as it stands" and "open" not in folded.attributes
    assert not decisive_line(builders.line("e1", told)).all("details")


def test_records_around_a_line_are_shown_as_what_they_tell() -> None:
    around = ('{"log": "epoch 3\\n", "stream": "stderr"}', "no record", '{"MESSAGE": "cut sho…')
    shape = builders.single().model_copy(update={"evidence": (builders.line("e1", "decisive", before=around),)})
    figure = page_of(shape, "e1").one("figure", class_="evidence")
    assert [item.text for item in figure.all("ol")[0].all("li", class_="around")] == [
        "epoch 3",
        "no record",
        "cut sho…",
    ]
    assert [item.text for item in figure.one("details").all("li")] == [around[0], around[2]]


def decisive_line(item: Evidence) -> Element:
    """The line of a piece of evidence as its page shows it."""
    return page_of(builders.single().model_copy(update={"evidence": (item,)}), "e1").one("li", class_="decisive")


def test_a_line_of_a_megabyte_is_cut_everywhere() -> None:
    noise = "\x1b<x\u202e" * 300_000
    shape = builders.single()
    long = shape.evidence[0].model_copy(
        update={
            "text": f'{{"log": "{noise} Xid 149 {noise}"}}',
            "stream": noise,
            "rule": noise,
            "before": (noise,) * 10,
            "fields": {"code": "149", noise: noise},
        }
    )
    html = rendering.page("evidence.html", view=trail(shape.model_copy(update={"evidence": (long,)}), "e1"), key=KEY)
    promises(html)
    assert len(html) < 250_000


# --- over HTTP ----------------------------------------------------------------------------------------------------


def test_the_page_is_found_from_the_diagnosis_and_its_twin_says_the_same(pages: httpx.Client) -> None:
    address = address_of(pages, "job-single")
    figure = promises(pages.get(address).text).one("figure", id="evidence-e1")
    link = figure.one("a", class_="place").attributes["href"]
    page = promises(pages.get(link).text)
    assert page.one("nav", **{"aria-label": "Breadcrumb"}).all("a")[1].attributes["href"] == address
    twin = page.one("head").one("link", rel="alternate").attributes["href"]
    answer = pages.get(twin).json()
    assert answer["attempt"]["href"] == address
    assert answer["evidence"]["text"] == builders.XID_149
    assert answer["used_by"][0]["part"] == "the decisive line of a cause"
    assert (answer["number"], answer["total"], answer["previous"], answer["next"]) == (1, 1, None, None)


def test_the_twin_reads_the_result_once(pages: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    address, reads = address_of(pages, "job-single"), []

    def counted(*given: Any) -> Any:
        reads.append(given)
        return get_result(*given)

    monkeypatch.setattr(results, "get_result", counted)
    assert pages.get(f"{address}/evidence/e1.json").status_code == 200
    assert len(reads) == 1


@pytest.mark.parametrize("item", ["e9", "..%2f..", "%00", "~2e~2e", "<b>", "x" * 3000])
def test_evidence_that_is_not_kept_is_told(pages: httpx.Client, item: str) -> None:
    address = address_of(pages, "job-single")
    answer = pages.get(f"{address}/evidence/{item}")
    assert answer.status_code == 404
    promises(answer.text)


@pytest.mark.parametrize("shape", builders.SHAPES, ids=lambda shape: shape.__name__)
def test_every_piece_of_evidence_has_a_page(shape: Callable[[], Diagnosis]) -> None:
    for item in shape().evidence:
        page_of(shape(), item.id)
        assert evidence(item, lambda found: found).href == item.id
