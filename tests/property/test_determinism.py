"""The same evidence gives the same bytes, however it is ordered, cut, repeated or shared among workers."""

import json
import random
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attribution.bundle.cut import observations
from attribution.bundle.evidence import Evidence, assemble
from attribution.bundle.reader import open_bundle
from attribution.contracts.context import ExecutionContext
from attribution.contracts.observation import Observation
from attribution.diagnosis.engine import diagnose
from attribution.extraction.ruleset import RuleSets

from tests.conftest import SAMPLES
from tests.examples import examples

START = datetime(2026, 5, 4, 3, 0, tzinfo=UTC)

KERNEL_LINES = (
    "kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    "kernel: NVRM: Xid (PCI:0000:1b:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 "
    "(0x004505c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
    "kernel: NVRM: Xid (PCI:0000:1b:00): 45, pid=812, name=python3, Ch 00000001 caused by previous Xid 149",
    "kernel: NVRM: Xid (PCI:0000:52:00): 13, pid=812, name=python3, Graphics SM Warp Exception on "
    "(GPC 7, TPC 7, SM 0): Illegal Instruction Parameter",
    "kernel: Memory cgroup out of memory: Killed process 812 (python3) total-vm:183467924kB, anon-rss:104857600kB, "
    "file-rss:1024kB, shmem-rss:0kB, UID:0 pgtables:215040kB oom_score_adj:979",
    "systemd[1]: Started Session 12 of user root.",
)
APP_LINES = (
    "INFO step 120 loss 2.345 grad_norm 0.87",
    "Traceback (most recent call last):",
    '  File "/data/job/train.py", line 40, in <module>',
    "ValueError: batch size must be positive",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB",
    "[E ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=41, "
    "OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600021 milliseconds before timing out.",
    "\x1b[31mRuntimeError: données corrompues é€\x1b[0m",
    "10%|#   | 1/10\r20%|##  | 2/10\rOSError: [Errno 28] No space left on device",
)

CHATTER = {
    "syslog": ("systemd[1]: Started Session 12 of user root.", "chronyd[702]: Selected source 10.0.0.1"),
    "applog": ("DEBUG cache hit ratio 0.97", "INFO collected 0 garbage objects in generation 2"),
}

Stream = tuple[str, str, int | None, str]


@st.composite
def attempts(draw: st.DrawFn) -> list[tuple[Stream, str]]:
    """Some streams of two nodes: lines that mean something among lines that do not, most of them stamped.

    The clock of either node may be wrong by up to a minute and a half.
    """
    found = []
    for node in ("node-01", "node-02"):
        skew = timedelta(milliseconds=draw(st.integers(-90_000, 90_000)))
        for source, pool in (("syslog", KERNEL_LINES), ("applog", APP_LINES)):
            picks = draw(st.lists(st.tuples(st.sampled_from(pool), st.integers(0, 1200)), max_size=8))
            lines = []
            for text, second in sorted(picks, key=lambda pick: pick[1]):
                at = (START + timedelta(seconds=second) + skew).isoformat(timespec="milliseconds")
                host = f"{node} " if source == "syslog" else ""
                lines.append(f"{at} {host}{text}" if draw(st.booleans()) or source == "syslog" else text)
            end = draw(st.sampled_from(["\n", ""]))
            found.append(
                ((source, node, 3 if source == "applog" else None, f"{source}/{node}.log"), "\n".join(lines) + end)
            )
    return found


def context() -> ExecutionContext:
    return ExecutionContext.model_validate(
        {
            "workload_id": "job-7",
            "started_at": START,
            "ended_at": START + timedelta(minutes=25),
            "nodes": [{"name": "node-01", "ranks": [0, 1, 2, 3]}, {"name": "node-02", "ranks": [4, 5, 6, 7]}],
        }
    )


def cut(stream: Stream, text: str, marks: Sequence[int], overlap: int) -> list[Observation]:
    """One stream as observations that begin at `marks` and overlap by up to `overlap` characters."""
    source, node, rank, name = stream
    bounds = sorted({0, len(text), *(mark % (len(text) + 1) for mark in marks)})
    pieces = []
    for begin, end in pairwise(bounds):
        begin = max(0, begin - overlap)
        before = text[:begin]
        pieces.append(
            Observation.model_validate(
                {
                    "source": source,
                    "node": node,
                    "rank": rank,
                    "stream": name,
                    "offset": len(before.encode()),
                    "first_line": before.count("\n"),
                    "body": text[begin:end],
                }
            )
        )
    return pieces or [Observation.model_validate({"source": source, "node": node, "rank": rank, "stream": name})]


def answer(parts: Sequence[Observation], rules: RuleSets, workers: int = 1) -> bytes:
    evidence, rejected = assemble(context(), parts)
    assert not rejected
    return diagnose(evidence, rules, workers=workers).to_json()


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    attempt=attempts(),
    marks=st.lists(st.integers(0, 4000), max_size=12),
    overlap=st.integers(0, 30),
    seed=st.integers(0, 2**32),
)
def test_order_cut_repetition_and_workers_do_not_matter(
    shipped: RuleSets, attempt: list[tuple[Stream, str]], marks: list[int], overlap: int, seed: int
) -> None:
    whole = [piece for stream, text in attempt for piece in cut(stream, text, [], 0)]
    pieces = [piece for stream, text in attempt for piece in cut(stream, text, marks, overlap)]
    chance = random.Random(seed)
    pieces += chance.sample(pieces, k=len(pieces) // 2)
    chance.shuffle(pieces)
    assert answer(pieces, shipped, workers=chance.choice([1, 3])) == answer(whole, shipped)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(attempt=attempts(), shift=st.integers(-400_000, 400_000))
def test_shifting_all_times_shifts_only_times(shipped: RuleSets, attempt: list[tuple[Stream, str]], shift: int) -> None:
    base = context()
    moved = base.model_copy(
        update={name: getattr(base, name) + timedelta(seconds=shift) for name in ("started_at", "ended_at")}
    )
    answers = []
    for where, secs in ((base, 0), (moved, shift)):
        pieces = [p for stream, text in attempt for p in cut(stream, shifted(text, secs), [], 0)]
        evidence, _ = assemble(where, pieces)
        answers.append(_timeless(json.loads(diagnose(evidence, shipped).to_json())))
    assert answers[0] == answers[1]


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(attempt=attempts(), seed=st.integers(0, 2**32))
def test_benign_lines_change_only_places_and_counts(
    shipped: RuleSets, attempt: list[tuple[Stream, str]], seed: int
) -> None:
    chance = random.Random(seed)
    answers = []
    for change in (lambda _, text: text, lambda stream, text: with_chatter(stream, text, chance)):
        pieces = [p for stream, text in attempt for p in cut(stream, change(stream, text), [], 0)]
        answers.append(_placeless(json.loads(answer(pieces, shipped))))
    assert answers[0] == answers[1]


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(attempt=attempts(), skew=st.floats(-1.9, 1.9))
def test_a_clock_within_the_doubt_turns_no_definite_answer_into_another(
    shipped: RuleSets, attempt: list[tuple[Stream, str]], skew: float
) -> None:
    answers = []
    for secs in (0.0, skew):
        moved = [(stream, shifted(text, secs if stream[1] == "node-02" else 0)) for stream, text in attempt]
        diagnosis = json.loads(answer([p for stream, text in moved for p in cut(stream, text, [], 0)], shipped))
        if diagnosis["sub_domain"] in {"ambiguous", "insufficient_evidence"}:
            return
        answers.append((diagnosis["sub_domain"], {cause["symptom"] for cause in diagnosis["causes"][:1]}))
    assert answers[0] == answers[1]


def shifted(text: str, secs: float) -> str:
    """The text with every stamp later by `secs`."""

    def later(match: re.Match[str]) -> str:
        return (datetime.fromisoformat(match[0]) + timedelta(seconds=secs)).isoformat(timespec="milliseconds")

    return re.sub(r"2026-05-04T\d\d:\d\d:\d\d\.\d{3}\+00:00", later, text)


def with_chatter(stream: Stream, text: str, chance: random.Random) -> str:
    """The text with lines that mean nothing before some of those that are stamped, so that no record is torn."""
    lines = []
    for line in text.splitlines(keepends=True):
        if line.startswith("2026-") and chance.random() < 0.6:
            host = f"{stream[1]} " if stream[0] == "syslog" else ""
            lines.append(f"{line.split(' ', 1)[0]} {host}{chance.choice(CHATTER[stream[0]])}\n")
        lines.append(line)
    return "".join(lines)


def _placeless(diagnosis: dict[str, object]) -> object:
    """A diagnosis without what lines that mean nothing may change."""

    def strip(value: object) -> object:
        if isinstance(value, dict):
            gone = {"line", "offset", "before", "after", "coverage", "input_digest"}
            return {key: strip(item) for key, item in value.items() if key not in gone}
        return [strip(item) for item in value] if isinstance(value, list) else value

    return strip(diagnosis)


def _timeless(diagnosis: dict[str, object]) -> object:
    """A diagnosis without times and without what is made of raw lines."""

    def strip(value: object) -> object:
        if isinstance(value, dict):
            gone = {"at", "first_at", "last_at", "id", "evidence_id", "evidence_ids", "text", "before", "after"}
            return {key: strip(item) for key, item in value.items() if key not in gone | {"input_digest"}}
        return [strip(item) for item in value] if isinstance(value, list) else value

    return strip(diagnosis)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
@pytest.mark.parametrize("size", [1000, 70_001])
def test_a_sample_gives_the_same_bytes_from_files_and_in_pieces(shipped: RuleSets, sample, size: int) -> None:
    with open_bundle(sample) as evidence:
        direct = diagnose(evidence, shipped).to_json()
        pieces = list(observations(evidence, size))
        random.Random(size).shuffle(pieces)
        joined, rejected = assemble(evidence.context, pieces + pieces[: len(pieces) // 3])
        assert not rejected
        assert diagnose(joined, shipped, workers=2).to_json() == direct
        backwards = Evidence(evidence.context, tuple(reversed(evidence.streams)))
        assert diagnose(backwards, shipped).to_json() == direct
