"""The diagnosis page tells a result in the order in which an operator asks, whatever the logs hold."""

import re
from collections.abc import Callable

import pytest

from attribution.contracts.diagnosis import Diagnosis
from attribution.contracts.result import AttributionBlueprintResult, ConnectorReport
from attribution.contracts.vocabulary import Action, Role, Source, Status, SubDomain, SymptomStatus
from attribution.dashboard import rendering
from attribution.dashboard.views import tables
from attribution.dashboard.views.diagnosis import diagnosis_view

from tests.dashboard.conftest import result_of
from tests.dashboard.markup import Element, promises
from tests.presentation import builders

KEY = "0" * 32


def shown(result: AttributionBlueprintResult) -> Element:
    """The page of a result, after checking what holds for every page."""
    return promises(rendering.page("diagnosis.html", view=diagnosis_view(result, KEY)))


@pytest.mark.parametrize("shape", builders.SHAPES, ids=lambda shape: shape.__name__)
def test_every_shape_keeps_the_promises(shape: Callable[[], Diagnosis]) -> None:
    page = shown(result_of(shape()))
    order = [item.text for item in page.all("h2")]
    told = ["Evidence", "Notes", "Set aside", "Alternatives", "Not examined", "Connectors", "How it was decided"]
    assert [title for title in told if title in order] == [title for title in order if title in told]
    assert order[-1] == "Identity"


def test_the_headline_comes_first_and_says_what_where_and_what_now() -> None:
    page = shown(result_of(builders.single(), user="ana", cluster="cluster-a"))
    verdict = page.one("section", class_="verdict")
    assert "bad" in verdict.attributes["class"].split()
    assert verdict.one("p", class_="state").text == "■ failed hardware / nvlink_fabric"
    assert page.one("h1").text == "NVLink signal integrity (Xid 149, sub-code 4)"
    assert verdict.one("p", class_="where").text == "Where: node-02 · GPU 0000:1b:00 · link 8"
    assert verdict.one("dl").all("li")[0].text == "Restart without the excluded nodes"
    labels = [item.text for item in verdict.all("dt")]
    assert labels[:3] == ["What to do next", "Exclude", "How sure"]
    assert labels.index("First failure") < labels.index("Impact")
    told = {item.one("dt").text: item.one("dd").text for item in verdict.one("dl").all("div")}
    assert told["Device"] == "also index 0", "the headline has the rest"
    assert "user ana" in verdict.one("p", class_="about").text


def test_the_decisive_line_stands_marked_between_the_lines_around_it() -> None:
    figure = shown(result_of(builders.single())).one("figure", id="evidence-e1")
    before, decisive, after = figure.one("ol").all("li")
    assert before.text == "May 4 03:06:57 node-02 kernel: nvidia-nvlink: link 8 retrains"
    assert decisive.one("code").raw_text == builders.XID_149
    assert decisive.one("mark").text == "149, NETIR_LINK_EVT Fatal XC0 i0 Link 08"
    assert "Xid (PCI:0000:1b:00): 45" in after.text
    assert figure.one("a", class_="place").text == "syslog/node-02.log:812"


def test_what_was_set_aside_names_the_rule_and_the_reason() -> None:
    page = shown(result_of(builders.single()))
    table = page.one("section", **{"aria-labelledby": "aside"}).all("table")[0]
    rows = [[cell.text for cell in row.parts if isinstance(cell, Element)] for row in table.one("tbody").all("tr")]
    assert ["Xid 45", "node-02", "the driver cleared up after the link", "XID101"] in rows
    echo = next(row for row in rows if row[0].startswith("NCCL error"))
    assert echo[0] == "NCCL error ×64" and echo[1] == "node-01, node-03, node-04, node-05 and 4 more"


def test_what_is_not_of_the_attempt_is_counted_as_the_text_counts_it() -> None:
    section = shown(result_of(builders.single())).one("section", **{"aria-labelledby": "aside"})
    assert "And 12 findings from before or after the attempt." in section.text
    late = builders.covered(Source.SYSLOG, "node-02", out_of_window=1)
    section = shown(result_of(builders.diagnosis(SubDomain.NONE, coverage=(late,)))).one(
        "section", **{"aria-labelledby": "aside"}
    )
    assert "1 finding from before or after the attempt." in section.text and "Nothing" not in section.text


def test_an_alternative_shows_its_own_line_and_the_line_that_rules_it_out_each_named() -> None:
    shape = builders.single()
    reason = shape.alternatives[0].because
    aside = builders.aside("XID_48", "node-02", "NVLINK_SIGNAL_INTEGRITY", reason, role=Role.CAUSE)
    other = builders.aside("XID_48", "node-02", "XID_79", "another reason", role=Role.CAUSE)
    standing = shape.alternatives[0].model_copy(update={"ruled_out": False, "node": "node-07", "because": "it stands"})
    diagnosis = shape.model_copy(
        update={
            "symptoms": (
                shape.symptoms[0],
                other.model_copy(update={"evidence_ids": ("e1",)}),
                aside.model_copy(update={"evidence_ids": ("e7",)}),
            ),
            "evidence": (
                *shape.evidence,
                builders.line("e7", "Xid 48", line=7, stream="syslog/node-02.log"),
                builders.line("e8", "Xid 48", line=8, node="node-07", stream="syslog/node-07.log"),
            ),
            "alternatives": (
                shape.alternatives[0].model_copy(update={"evidence_ids": ("e1",)}),
                standing.model_copy(update={"evidence_ids": ("e8",)}),
            ),
        }
    )
    table = shown(result_of(diagnosis)).one("section", **{"aria-labelledby": "alternatives"}).one("table")
    told = [row.one("td", **{"data-label": "Lines"}).text for row in table.one("tbody").all("tr")]
    assert told == ["its ownsyslog/node-02.log:7what rules it outsyslog/node-02.log:812", "syslog/node-07.log:8"]


def test_what_gave_way_to_a_finding_that_gave_way_itself_says_so() -> None:
    shape = builders.single()
    down = builders.aside("SLURM_NODE_DOWN", "node-02", "NVLINK_SIGNAL_INTEGRITY", "jobs often survive it")
    lost = builders.aside("SCHEDULER_NODE_FAILED", "node-09", "SLURM_NODE_DOWN", "it came after", count=3)
    page = shown(result_of(shape.model_copy(update={"symptoms": (shape.symptoms[0], down, lost)})))
    table = page.one("section", **{"aria-labelledby": "aside"}).one("table")
    assert [row.one("td", **{"data-label": "Why"}).text for row in table.one("tbody").all("tr")] == [
        "jobs often survive it",
        "it came after; that gave way in turn to NVLink signal integrity on node-02",
    ]


def test_causes_of_one_sub_domain_are_said_to_be_of_it() -> None:
    told = shown(result_of(builders.compound())).one("section", class_="verdict").text
    assert "8 causes, all of one sub-domain (GPU hardware); none of another is left." in told


def test_ambiguity_is_an_answer_with_both_places() -> None:
    page = shown(result_of(builders.ambiguous()))
    verdict = page.one("section", class_="verdict")
    assert " or " in page.one("h1").text
    assert (
        verdict.one("p", class_="where").text
        == "Where: node-02 · GPU 0000:1b:00 or node-07 (from the file name) · rank 33"
    )
    assert "2 causes fit the evidence equally well" in verdict.text
    assert "What would decide" in [item.text for item in verdict.all("dt")]
    assert "%" not in verdict.text


def test_of_several_causes_each_reason_and_step_says_which_one_is_meant() -> None:
    shape = builders.ambiguous()
    gpu, code = shape.causes
    causes = (gpu.model_copy(update={"actions": (Action.RUN_DIAGNOSTICS,)}), code)
    verdict = shown(result_of(shape.model_copy(update={"causes": causes}))).one("section", class_="verdict")
    told = {item.one("dt").text: item.one("dd") for item in verdict.one("dl").all("div")}
    first, second = [item.text for item in told["How sure"].all("li")]
    assert first.startswith("An uncorrectable GPU memory error (Xid 48) on node-02 · GPU 0000:1b:00: Nothing else")
    assert second.startswith("An exception in the job's own code (ValueError) on node-07 (from the file name): ")
    steps = [item.text for item in told["What to do next"].all("li")]
    assert steps[1] == "Run the vendor's diagnostics (node-02 · GPU 0000:1b:00)"
    asking = tuple(cause.model_copy(update={"actions": (Action.RUN_DIAGNOSTICS,)}) for cause in causes)
    page = shown(result_of(shape.model_copy(update={"causes": asking})))
    step = page.one("div", class_="next").all("li")[1].text
    assert step == "Run the vendor's diagnostics (node-02 · GPU 0000:1b:00 and node-07 (from the file name))"


def test_a_completed_attempt_has_no_cause_and_nothing_to_be_sure_of() -> None:
    page = shown(result_of(builders.none()))
    verdict = page.one("section", class_="verdict")
    assert verdict.one("p", class_="state").text == "● completed nothing wrong"
    assert "How sure" not in [item.text for item in verdict.all("dt")]


def test_one_step_is_not_numbered() -> None:
    done = builders.none().model_copy(update={"actions": (Action.NONE,)})
    told = shown(result_of(done)).one("div", class_="next")
    assert told.one("dd").text == "Nothing to do" and not told.all("ol")


def test_long_names_do_not_push_what_to_do_off_the_screen() -> None:
    long = "x" * 5_000
    named = builders.single().model_copy(update={"workload_id": long})
    page = shown(result_of(named, name=long, user=long, cluster=long))
    assert len(page.one("p", class_="about").text) < 600
    assert page.one("section", **{"aria-labelledby": "identity"}).text.count(long) == 4, "nothing is lost"


def test_a_lost_submission_shows_and_comes_first() -> None:
    fine = {"connector": "files", "observations": 4, "submitted": 4}
    reports = [
        ConnectorReport(source=Source.APPLOG, status=Status.OK, accepted=3, duplicate=1, **fine),
        ConnectorReport(source=Source.SYSLOG, status=Status.OK, node="node-02", accepted=2, rejected=1, **fine),
        ConnectorReport(connector="files", source=Source.BMC, status=Status.ERROR, reason="HTTP 503", retries=3),
    ]
    page = shown(result_of(builders.single(), *reports))
    rows = page.one("div", **{"aria-label": "Connector reports"}).one("tbody").all("tr")
    assert "1 lost on the way to the Service; 1 rejected by the Service" in rows[0].text
    assert "HTTP 503; tried again 3 times" in rows[1].text and "■ error" in rows[1].text
    assert rows[2].text.endswith("–")


def test_hostile_text_is_inert_and_visible() -> None:
    diagnosis = builders.hostile()
    evil = ["\x1b", "\u202e", "\u200b", "\r", "\x00", "\u2066", "\ud800"]
    named = diagnosis.model_copy(update={"notes": ("<script>alert(1)</script>" + "".join(evil),)})
    report = ConnectorReport(connector="<img src=x>", source=Source.BMC, status=Status.ERROR, reason='"><b>\x9b31m')
    html = rendering.page(
        "diagnosis.html",
        view=diagnosis_view(result_of(named, report, name="</title><script>", user="' onx='", reason="{{ 7*7 }}"), KEY),
    )
    page = promises(html)
    assert not page.all("b") and not page.all("img")
    note = page.one("section", **{"aria-labelledby": "notes"}).one("li").raw_text
    assert note == "<script>alert(1)</script>\\x1b\\u202e\\u200b\\r\\x00\\u2066\\ud800"
    assert "{{ 7*7 }}" in page.text
    html.encode("utf-8")


def test_a_line_of_a_megabyte_is_cut_around_what_was_read_and_the_page_stays_small() -> None:
    single = builders.single()
    noise = "\x1b<x" * 350_000
    long = single.evidence[0].model_copy(
        update={"text": f"{noise} NVRM: Xid 149 {noise}", "before": (noise,) * 10, "after": (noise,) * 10}
    )
    coverage = tuple(line.model_copy(update={"reason": noise}) for line in single.coverage)
    diagnosis = single.model_copy(update={"evidence": (long,), "notes": (noise,), "coverage": coverage})
    html = rendering.page("diagnosis.html", view=diagnosis_view(result_of(diagnosis), KEY))
    page = promises(html)
    assert len(html) < 200_000
    figure = page.one("figure", class_="evidence")
    assert "149" in figure.one("li", class_="decisive").text
    assert re.search(r"a part of 2,1\d\d,\d\d\d characters", figure.text)


def test_a_page_of_many_rows_says_how_many_it_leaves_out() -> None:
    rule = builders.single().symptoms[1].demoted_by
    assert rule is not None
    many = tuple(
        builders.symptom("NCCL_ERROR", f"node-{n:04}").model_copy(
            update={"status": SymptomStatus.DEMOTED, "demoted_by": rule.model_copy(update={"reason": f"reason {n}"})}
        )
        for n in range(tables.SHOWN_ROWS + 7)
    )
    page = shown(result_of(builders.single().model_copy(update={"symptoms": many})))
    section = page.one("section", **{"aria-labelledby": "aside"})
    assert len(section.one("tbody").all("tr")) == tables.SHOWN_ROWS
    assert section.one("p", class_="more").text == "and 7 more kinds; the JSON has them all"


def test_no_template_lets_text_through_unescaped() -> None:
    for name in rendering.environment().list_templates():
        source, _, _ = rendering.environment().loader.get_source(rendering.environment(), name)  # type: ignore[union-attr]
        source = re.sub(r'<script type="module" src="/static/[a-z]+\.js"></script>', "", source)
        assert not re.search(r"\|\s*safe|autoescape|Markup\(|<script|<style|style=", source), name


def test_everything_that_a_template_prints_is_made_visible_and_escaped() -> None:
    template = rendering.environment().from_string('{{ text }} <a href="{{ text }}">')
    shown = "a\\u202eb&lt;&#34;"
    assert template.render(text='a\u202eb<"') == f'{shown} <a href="{shown}">'
