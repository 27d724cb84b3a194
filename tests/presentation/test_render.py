"""The rendered answers, as text and as Markdown.

Golden files stand in `golden/`. After a change that is meant, write them anew and read the difference:

    UPDATE_GOLDEN=1 .venv/bin/pytest tests/presentation
"""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attribution.contracts.diagnosis import Device, Diagnosis, Untestable
from attribution.contracts.vocabulary import Action, DeviceKind, Role, Source, Status, SubDomain, TerminalState
from attribution.presentation import markdown, text
from attribution.presentation.columns import width

from tests.examples import examples
from tests.presentation import builders
from tests.work import calls

GOLDEN = Path(__file__).parent / "golden"
SHAPES = pytest.mark.parametrize("shape", builders.SHAPES, ids=lambda shape: shape.__name__)
Shape = Callable[[], Diagnosis]


def assert_golden(name: str, shown: str) -> None:
    """The text equals the golden file, or becomes it."""
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(shown, encoding="utf-8")
    assert path.exists(), f"{path} is missing: UPDATE_GOLDEN=1 writes it"
    assert shown == path.read_text(encoding="utf-8")


@SHAPES
@pytest.mark.parametrize("columns", [80, 120])
def test_text(shape: Shape, columns: int) -> None:
    assert_golden(f"{shape.__name__}.{columns}.txt", text.render(shape(), width=columns))


@SHAPES
def test_verbose_text(shape: Shape) -> None:
    assert_golden(f"{shape.__name__}.verbose.txt", text.render(shape(), width=80, verbose=True))


@SHAPES
def test_markdown(shape: Shape) -> None:
    assert_golden(f"{shape.__name__}.md", markdown.render(shape()))


@SHAPES
@pytest.mark.parametrize("verbose", [False, True])
def test_no_line_is_too_wide(shape: Shape, verbose: bool) -> None:
    diagnosis = shape()
    for columns in range(60, 161):
        for line in text.render(diagnosis, width=columns, verbose=verbose).splitlines():
            assert width(line) <= columns


@SHAPES
@pytest.mark.parametrize("verbose", [False, True])
def test_colour_changes_nothing_but_colour(shape: Shape, verbose: bool) -> None:
    plain = text.render(shape(), verbose=verbose)
    painted = text.render(shape(), color=True, verbose=verbose)
    assert painted.startswith("\x1b[1m")
    assert re.sub(r"\x1b\[\d+m", "", painted) == plain


def test_the_common_case_is_short() -> None:
    clean = builders.single().model_copy(update={"coverage": builders.diagnosis(SubDomain.DATA).coverage})
    assert len(text.render(clean).splitlines()) <= 15
    assert len(text.render(builders.single()).splitlines()) <= 17
    assert len(text.render(builders.metric()).splitlines()) <= 11


def test_the_verdict_comes_first() -> None:
    heads = {shape.__name__: text.render(shape(), width=120).splitlines()[0] for shape in builders.SHAPES}
    assert heads["single"].startswith("failed · hardware / nvlink_fabric  ")
    assert heads["single"].endswith("  node-02 · GPU 0000:1b:00 · link 8")
    assert heads["compound"].endswith("node-02, node-03 and 6 more")
    assert heads["ambiguous"] == "failed · two causes fit: GPU hardware or the job's code"
    assert heads["insufficient"] == "failed · no cause is in the evidence"
    assert heads["none"] == "completed · nothing wrong"


def test_a_first_failure_is_told_relative_to_the_cause_only_on_comparable_clocks() -> None:
    apart = builders.user_code()
    assert "2026-05-04 03:06:57.712 (zone unknown)" in text.render(apart, width=120)
    sure = tuple(e.model_copy(update={"at_uncertainty_secs": 0.001}) for e in apart.evidence)
    assert "rank 3, -0.4 s" in text.render(apart.model_copy(update={"evidence": sure}))
    coarse = tuple(e.model_copy(update={"at_uncertainty_secs": 1.0}) for e in apart.evidence)
    assert "rank 3, -0 s ±1 s" in text.render(apart.model_copy(update={"evidence": coarse}))


@pytest.mark.parametrize("verbose", [False, True])
def test_a_scope_that_is_incomplete_is_said(verbose: bool) -> None:
    diagnosis = builders.single().model_copy(update={"partial": "none of its pods was placed on a node"})
    assert "    = partial        none of its pods was placed on a node\n" in text.render(diagnosis, verbose=verbose)
    assert "- **Partial:** none of its pods was placed on a node\n" in markdown.render(diagnosis)
    assert "partial  " not in text.render(builders.metric(), verbose=verbose)


def test_nothing_set_aside_is_lost() -> None:
    kinds = tuple(builders.aside(f"KIND_{n}", "node-01", "XID_79", f"reason {n}") for n in range(9))
    diagnosis = builders.diagnosis(SubDomain.DATA, symptoms=kinds)
    assert "and 6 more kinds" in text.render(diagnosis)
    verbose = text.render(diagnosis, verbose=True)
    assert all(f"kind {n} on node-01" in verbose and f"reason {n} (COL101)" in verbose for n in range(9))


def test_every_combination_of_state_and_sub_domain_renders() -> None:
    for state in TerminalState:
        for sub_domain in SubDomain:
            empty = builders.diagnosis(sub_domain, state)
            assert text.render(empty, verbose=True) and markdown.render(empty)


def test_a_large_diagnosis_takes_work_in_proportion() -> None:
    found = tuple(builders.aside("NCCL_ERROR", f"node-{n}", "XID_79", "it followed", rank=n) for n in range(8_192))
    whole = builders.single().model_copy(update={"symptoms": found})
    quarter = builders.single().model_copy(update={"symptoms": found[:2_048]})
    assert "and 8,184 more" in text.render(whole, verbose=True)
    work = [calls(lambda d=d: text.render(d, verbose=True)) for d in (quarter, whole)]  # type: ignore[misc]
    assert work[1] < 6 * work[0], work


# --- hostile text -------------------------------------------------------------------------------------------------

HOSTILE = st.one_of(
    st.text(max_size=80),
    st.sampled_from(["`" * 7, "~~~", "| --- |", "@everyone", "<!channel>", "\x1b[2J", "\u202e", "日本" * 40, "1) x"]),
)


def harmless(shown: str) -> bool:
    return all(line.isprintable() for line in shown.split("\n"))


@st.composite
def diagnoses(draw: st.DrawFn) -> Diagnosis:
    """A diagnosis in which every text may be anything."""
    any_text = lambda: draw(HOSTILE)  # noqa: E731
    cause = builders.cause(
        any_text(),
        any_text(),
        SubDomain.GPU_HARDWARE,
        node=any_text(),
        why=any_text(),
        rule=any_text(),
        rank=draw(st.none() | st.integers(0, 9)),
        device={"kind": draw(st.sampled_from(DeviceKind)), "ids": {any_text(): any_text()}},
    )
    line: dict[str, Any] = {
        "node": any_text(),
        "stream": any_text(),
        "fields": {any_text(): any_text()},
        "before": (any_text(), any_text()),
        "after": (any_text(),),
        "rule": any_text(),
        "at": draw(st.none() | st.just(builders.START)),
        "at_uncertainty_secs": draw(st.none() | st.floats(min_value=0)),
    }
    covered = [
        builders.covered(
            draw(st.sampled_from(Source)), any_text(), status=status, reason=any_text(), node_is_guess=True
        )
        for status in Status
    ]
    return builders.diagnosis(
        draw(st.sampled_from(SubDomain)),
        draw(st.sampled_from(TerminalState)),
        workload_id=any_text(),
        summary=any_text(),
        causes=draw(st.sampled_from([(), (cause,), (cause,) * 2, (cause,) * 5])),
        exclude_nodes=(any_text(), any_text()),
        first_failure={"symptom": any_text(), "node": any_text(), "evidence_id": draw(st.sampled_from(["e1", "e2"]))},
        symptoms=(
            builders.aside(any_text(), any_text(), any_text(), any_text(), rule=any_text()),
            builders.symptom(any_text(), any_text(), draw(st.sampled_from(Role))),
        ),
        evidence=(builders.line("e1", any_text() * 3, **line),),
        would_decide=any_text(),
        inferred=(any_text(),),
        partial=any_text(),
        coverage=tuple(covered),
        untestable=({"sub_domains": (SubDomain.DATA,), "nodes": (any_text(),), "reason": any_text()},),
        alternatives=({"symptom": any_text(), "sub_domain": "data", "ruled_out": True, "because": any_text()},),
        trace=({"stage": any_text(), "rule": any_text(), "outcome": any_text(), "reason": any_text()},),
    )


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(diagnoses(), st.integers(60, 160), st.booleans())
def test_no_text_breaks_the_columns(diagnosis: Diagnosis, columns: int, verbose: bool) -> None:
    shown = text.render(diagnosis, width=columns, verbose=verbose)
    assert harmless(shown)
    assert all(width(line) <= columns for line in shown.split("\n"))


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(diagnoses())
def test_no_text_is_read_as_markup(diagnosis: Diagnosis) -> None:
    shown = markdown.render(diagnosis)
    assert harmless(shown)
    for line in outside_fences(shown):
        bare = outside_code(line)
        own = bare.replace("**", "").removeprefix("## ").removeprefix("### ").replace(" | ", " ").strip("| ")
        assert not re.search(r"[@#<>\[\]*_~!&$\\|`{}^]|://|www\.", own), line


def outside_fences(shown: str) -> list[str]:
    """The lines that are Markdown, once every fence is seen to be closed."""
    fence, found = "", []
    for line in shown.split("\n"):
        opened = re.fullmatch(r"(`{3,})text", line)
        if fence:
            assert not re.match(rf" {{0,3}}{fence}`+\s*$", line)
            fence = "" if line == fence else fence
        elif opened:
            fence = opened[1]
        else:
            found.append(line)
    assert not fence
    return found


def outside_code(line: str) -> str:
    """The line without its code spans: a run of backticks is closed by the next run of its length."""
    return re.sub(r"(?<!`)(`+)(?!`)(?:.*?[^`])\1(?!`)", "", line)


def test_log_text_in_markdown_stands_as_code() -> None:
    assert markdown.prose("ping @ops now") == "ping `@ops` now"
    assert markdown.prose("see http://x.example/a and host.example") == "see `http://x.example/a` and `host.example`"
    assert markdown.prose("**bold** a_b :smile: #12") == "`**bold**` `a_b` `:smile:` `#12`"
    assert markdown.prose("1) not a list (Xid 48) at 03:06:58") == "`1)` not a list (Xid 48) at 03:06:58"
    named = markdown.render(builders.single().model_copy(update={"workload_id": "<img src=x onerror=alert(1)>"}))
    assert "- **Workload:** `<img src=x onerror=alert(1)>`, attempt 2\n" in named, "a name is one piece"
    assert markdown.prose("a|b", in_table=True) == "`a\\x7cb`"
    assert markdown.code("`` x") == "``` `` x ```"
    assert markdown.fenced(["````"]) == ["`````text", "````", "`````"]


def test_markup_of_a_log_stands_as_code_only() -> None:
    """A tag in the evidence, its surroundings, a node or a note is in a fence or a code span, never raw."""
    tag = "<script>alert(1)</script>"
    diagnosis = builders.single()
    evidence = tuple(
        item.model_copy(update={"text": f"{item.text} {tag}", "before": (f"```{tag}",), "after": (tag,)})
        for item in diagnosis.evidence
    )
    causes = tuple(
        item.model_copy(update={"meaning": f"{item.meaning} {tag}", "node": tag}) for item in diagnosis.causes
    )
    changed = {"evidence": evidence, "causes": causes, "notes": (f"said `{tag}`",), "summary": tag}
    shown = markdown.render(diagnosis.model_copy(update=changed))
    assert shown.count(tag) >= 4
    outside = re.sub(r"^(`{3,})text\n.*?^\1$", "", shown, flags=re.M | re.S)
    assert outside.count(tag) >= 1 and len(outside) < len(shown)
    assert "<" not in re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", outside)


def test_a_record_that_is_cited_is_not_told_as_unexamined() -> None:
    gap = Untestable(sub_domains=(SubDomain.STORAGE,), source=Source.SCHEDULER, reason="no source")
    shape = builders.single().model_copy(update={"untestable": (gap,)})
    assert "scheduler record (no source)" in text.render(shape, width=120)
    cited = shape.evidence[0].model_copy(update={"source": Source.SCHEDULER})
    shown = text.render(shape.model_copy(update={"evidence": (cited, *shape.evidence[1:])}), width=120)
    assert "scheduler log (no source)" in shown
    assert "scheduler record (no source)" not in shown


def test_what_an_attempt_survived_is_not_called_nothing() -> None:
    diagnosis = builders.none().model_copy(update={"actions": (Action.NONE,)})
    assert "= next           nothing to do\n" in text.render(diagnosis)
    device = Device(kind=DeviceKind.NVLINK, ids={"pci": "0000:1b:00", "link": "8"})
    seen = builders.symptom("NVLINK_DOWN", "node-02", role=Role.CAUSE, device=device)
    told = text.render(diagnosis.model_copy(update={"symptoms": (seen,)}), width=200)
    assert "= next           nothing to do for the attempt; it survived what may be worth a look\n" in told
