"""Sessions keep what they acknowledged, once, apart by tenant, and tell what contradicts it."""

import multiprocessing
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event, func, select, update

from attribution.bundle.evidence import assemble
from attribution.contracts.context import ExecutionContext
from attribution.contracts.observation import Clock, Observation, Window
from attribution.contracts.vocabulary import Format, Source, Status
from attribution.store.database import Store, open_store
from attribution.store.faults import StoreDamaged
from attribution.store.schema import observations as table
from attribution.store.schema import sessions as schema_sessions
from attribution.store.sessions import Session, SessionGone, SessionLimits, Sessions, is_id

from tests.examples import examples

NOW = datetime(2026, 5, 4, 3, 6, 58, 112345, tzinfo=UTC)
DAY = 86_400.0
LIMITS = SessionLimits(observations=200_000, bytes=8 << 30, observation_bytes=256 << 20)
JOBS = count()
ON_ONE_STORE = settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def sessions(store: Store) -> Sessions:
    return Sessions(store)


def context(workload_id: str = "job-1", **more: Any) -> ExecutionContext:
    return ExecutionContext(workload_id=workload_id, **more)


def opened(sessions: Sessions, workload_id: str | None = None, tenant: str | None = None) -> Session:
    session = sessions.open(context(workload_id or f"job-{next(JOBS)}"), tenant, NOW, DAY)
    assert session is not None
    return session


def line(body: str, offset: int = 0, **more: Any) -> Observation:
    more = {"source": Source.APPLOG, "node": "node-01", "stream": "stderr", **more}
    return Observation(body=body, offset=offset, **more)


def add(sessions: Sessions, session: Session, *items: Observation, limits: SessionLimits = LIMITS) -> list[str]:
    """The outcomes of a batch, with the reason behind them if there is one."""
    answers = sessions.add(session, list(enumerate(items)), NOW, limits)
    assert [answer.index for answer in answers] == list(range(len(items)))
    assert [answer.digest for answer in answers] == [item.digest for item in items]
    return [f"{a.outcome} {a.reason}" if a.reason else a.outcome for a in answers]


def held(sessions: Sessions, session: Session) -> list[Observation]:
    return list(sessions.observations(session.id))


# --- opening --------------------------------------------------------------------------------------------------------


def test_one_attempt_has_one_session(sessions: Sessions) -> None:
    first = sessions.open(context(scheduler_state="RUNNING"), None, NOW, DAY)
    later = NOW + timedelta(hours=1)
    again = sessions.open(context(scheduler_state="FAILED"), None, later, DAY)
    assert again
    assert again.id == first.id
    assert (first.created_at, first.expires_at) == (NOW, NOW + timedelta(days=1))
    assert (again.created_at, again.expires_at) == (NOW, later + timedelta(days=1))
    assert sessions.context(again.id) == context(scheduler_state="FAILED")
    assert sessions.get(first.id, None, later) == again


def test_other_attempts_clusters_and_tenants_are_other_sessions(sessions: Sessions) -> None:
    ids = [
        sessions.open(context(**more), tenant, NOW, DAY)
        for more in ({}, {"attempt": 2}, {"cluster": "a"}, {"cluster": "b"}, {"workload_id": "job-2"})
        for tenant in (None, "x", "y")
    ]
    assert len({session.id for session in ids if session}) == 15


def test_a_session_is_seen_by_its_tenant_only(sessions: Sessions) -> None:
    mine, nobodys = opened(sessions, tenant="x"), opened(sessions)
    assert sessions.get(mine.id, "x", NOW) == mine
    assert mine.tenant == "x"
    assert nobodys.tenant is None
    for tenant in (None, "y", "X", ""):
        assert sessions.get(mine.id, tenant, NOW) is None
        assert sessions.renew(mine.id, tenant, NOW, DAY) is None
    assert sessions.get(nobodys.id, "x", NOW) is None
    assert sessions.count(NOW, "x") == sessions.count(NOW, None) == 1
    assert sessions.count(NOW, "y") == 0


def test_ids_are_long_and_unlike(sessions: Sessions) -> None:
    ids = {opened(sessions).id for _ in range(20)}
    assert len(ids) == 20
    assert all(is_id(session_id) for session_id in ids)
    for other in ("", "a" * 31, "a" * 33, "é" * 32, "a" * 31 + "\0", "a" * 32 + "\n"):
        assert not is_id(other)
        assert sessions.get(other, None, NOW) is None


def test_an_idle_session_expires_and_its_name_is_free_again(sessions: Sessions) -> None:
    session = opened(sessions, "job-x")
    add(sessions, session, line("a\n"))
    end = session.expires_at
    assert sessions.get(session.id, None, end - timedelta(microseconds=1))
    assert sessions.get(session.id, None, end) is None
    with pytest.raises(SessionGone):
        sessions.add(session, [(0, line("b\n", 2))], end, LIMITS)
    fresh = sessions.open(context("job-x"), None, end, DAY)
    assert fresh and fresh.id != session.id
    assert held(sessions, fresh) == []


def test_a_call_renews_and_small_steps_are_not_written(sessions: Sessions, store: Store) -> None:
    session = opened(sessions)
    later = NOW + timedelta(hours=2)
    renewed = sessions.renew(session.id, None, later, DAY)
    assert renewed and renewed.expires_at == later + timedelta(days=1)
    assert sessions.get(session.id, None, later) == renewed
    writes: list[str] = []
    event.listen(store.engine, "before_cursor_execute", lambda *a: writes.append(a[2]))
    assert sessions.renew(session.id, None, later + timedelta(minutes=1), DAY) == renewed
    assert not any("UPDATE" in statement for statement in writes)


def test_a_tenant_may_be_limited_in_sessions(sessions: Sessions) -> None:
    for name in ("a", "b"):
        assert sessions.open(context(name), "x", NOW, DAY, 2)
    assert sessions.open(context("c"), "x", NOW, DAY, 2) is None
    assert sessions.open(context("b"), "x", NOW, DAY, 2)
    assert sessions.open(context("c"), "y", NOW, DAY, 2)
    assert sessions.open(context("c"), "x", NOW + timedelta(days=2), DAY, 2)


def test_threads_that_open_one_attempt_get_one_session(sessions: Sessions) -> None:
    ids = together(8, lambda _: opened(sessions, "job-shared").id)
    assert len(set(ids)) == 1


def test_ending_deletes_the_evidence(sessions: Sessions, store: Store) -> None:
    gone, stays = opened(sessions), opened(sessions)
    for session in (gone, stays):
        add(sessions, session, line("a\n"))
    assert sessions.end(gone.id)
    assert not sessions.end(gone.id)
    assert sessions.get(gone.id, None, NOW) is None
    for use in (
        lambda: sessions.add(gone, [(0, line("b\n", 2))], NOW, LIMITS),
        lambda: sessions.content(gone.id),
        lambda: sessions.note_diagnosis(gone.id, "d"),
    ):
        with pytest.raises(SessionGone):
            use()
    assert bodies(store) == 1
    assert held(sessions, stays) == [line("a\n")]


def test_expiring_deletes_what_is_over_and_nothing_else(sessions: Sessions, store: Store) -> None:
    over = [opened(sessions) for _ in range(3)]
    for session in over:
        add(sessions, session, line("a\n"), line("b\n", 2))
    stays = sessions.open(context("job-stays"), None, NOW + timedelta(hours=1), DAY)
    assert stays
    add(sessions, stays, line("a\n"))
    assert sessions.expire(NOW + timedelta(hours=23)) == 0
    assert sessions.expire(NOW + timedelta(days=1)) == 3
    assert bodies(store) == 1
    assert sessions.get(stays.id, None, NOW)


def test_hostile_names_survive(sessions: Sessions) -> None:
    name = "job \0\x1a\x1a0000 字 ' \" % \\ 😀" + "x" * 5000
    torn = name + "\ud800 \udfff"
    first = sessions.open(context(name, user=torn, cluster=torn), torn, NOW, DAY)
    assert first and sessions.context(first.id) == context(name, user=torn, cluster=torn)
    again = sessions.open(context(name, cluster=torn), torn, NOW, DAY)
    assert first and again
    assert first.id == again.id
    assert sessions.context(first.id) == context(name, cluster=torn)
    assert sessions.open(context(name, cluster=torn), torn + "x", NOW, DAY) != again
    assert sessions.get(first.id, torn, NOW) == again


# --- ingest ---------------------------------------------------------------------------------------------------------


def test_what_is_new_is_accepted_once(sessions: Sessions) -> None:
    session = opened(sessions)
    one, two, other = line("one\n"), line("two\n", 4), line("one\n", node="node-02")
    assert add(sessions, session, one, one, two) == ["accepted", "duplicate", "accepted"]
    assert add(sessions, session, two, other, one) == ["duplicate", "accepted", "duplicate"]
    assert held(sessions, session) == [one, two, other]
    assert add(sessions, session) == []


@pytest.mark.parametrize("refused_first", [False, True])
def test_two_outcomes_of_one_place_are_both_held_whichever_comes_first(sessions: Sessions, refused_first: bool) -> None:
    session = opened(sessions)
    both = [line("", status=Status.ERROR, reason="permission denied"), line("", status=Status.EMPTY)]
    assert add(sessions, session, *(both if refused_first else reversed(both))) == ["accepted", "accepted"]
    assert add(sessions, session, *both) == ["duplicate", "duplicate"]
    assert sorted(item.status for item in held(sessions, session)) == [Status.EMPTY, Status.ERROR]


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("first", [0, 1])
def test_a_contradiction_is_rejected_whichever_comes_first(sessions: Sessions, first: int, apart: bool) -> None:
    session = opened(sessions)
    pair = [line("0123456789"), line("456X89ab", 4)]
    ordered = [pair[first], pair[1 - first]]
    if apart:
        outcomes = add(sessions, session, ordered[0]) + add(sessions, session, ordered[1])
    else:
        outcomes = add(sessions, session, *ordered)
    assert outcomes == ["accepted", "rejected conflict: bytes 4 to 10 differ from those held"]
    assert held(sessions, session) == [ordered[0]]
    assert add(sessions, session, line("", 5), line("89", 8), line("zz", 8)) == [
        *("accepted", "accepted", "rejected conflict: bytes 8 to 10 differ from those held"),
    ]


def test_the_same_words_as_the_engine(sessions: Sessions) -> None:
    session = opened(sessions)
    pair = (line("0123456789"), line("456X89ab", 4))
    _, (refused,) = assemble(sessions.context(session.id), pair)
    assert add(sessions, session, *pair)[1] == f"rejected {refused.reason}"


def test_a_long_body_before_many_short_ones_is_found(sessions: Sessions) -> None:
    session = opened(sessions)
    add(sessions, session, line("x" * 1000))
    add(sessions, session, *[line("x", n) for n in range(900)])
    assert add(sessions, session, line("y", 950))[0].startswith("rejected conflict: bytes 950 to 951")


def test_documents_at_different_places_are_different_documents(sessions: Sessions) -> None:
    session = opened(sessions)
    metrics = {"format": Format.PROMETHEUS_METRICS, "source": Source.NODE_METRICS}
    assert add(sessions, session, line("[1]", 0, **metrics), line("[2]", 1, **metrics)) == ["accepted"] * 2
    assert add(sessions, session, line("[3]", 1, **metrics))[0].startswith("rejected conflict: bytes 1 to 4")


def test_streams_are_apart(sessions: Sessions) -> None:
    session = opened(sessions)
    places: list[dict[str, Any]] = [
        {"node": None, "stream": ""},
        {"node": "", "stream": ""},
        {"node": "", "stream": "\0"},
        {"node": "\0", "stream": ""},
        {"node": "a", "stream": "b"},
        {"node": "a", "stream": "b", "rank": 0},
        {"node": "a", "stream": "b", "rank": 255},
        {"node": "a", "stream": "b", "rank": 256},
        {"node": "a", "stream": "b", "rank": 10**30},
        {"node": "ab", "stream": ""},
        {"node": "a", "stream": "b", "source": Source.SYSLOG},
    ]
    items = [line(str(n), **place) for n, place in enumerate(places)]
    assert add(sessions, session, *items) == ["accepted"] * len(items)
    assert held(sessions, session) == items


def test_limits_are_told(sessions: Sessions) -> None:
    session = opened(sessions)
    few = SessionLimits(observations=2, bytes=10, observation_bytes=6)
    assert add(sessions, session, line("1234567"), line("123"), line("12345"[:5], 3), limits=few) == [
        "rejected limit: its body has 7 bytes, and 6 are allowed",
        "accepted",
        "accepted",
    ]
    assert add(sessions, session, line("x", 8), line("123"), limits=few) == [
        "rejected limit: the session holds 2 observations, and no more are allowed",
        "duplicate",
    ]
    more = SessionLimits(observations=9, bytes=10, observation_bytes=6)
    assert add(sessions, session, line("xyz", 8), line("xy", 8), limits=more) == [
        "rejected limit: the session would hold 11 bytes, and 10 are allowed",
        "accepted",
    ]
    assert add(sessions, session, line("x", 10**30)) == ["rejected limit: its offset is beyond 64 bits"]
    assert add(sessions, session, line("x", 2**63 - 1)) == ["rejected limit: its offset is beyond 64 bits"]
    assert add(sessions, session, line("x", 2**63 - 2)) == ["accepted"]
    assert sessions.content(session.id).count == 4


def test_many_small_observations_take_few_statements(sessions: Sessions, store: Store) -> None:
    session = opened(sessions)
    items = [line(f"{n:05}\n", n * 6) for n in range(5000)]
    statements: list[str] = []
    event.listen(store.engine, "before_cursor_execute", lambda *a: statements.append(a[2]))
    assert add(sessions, session, *items) == ["accepted"] * 5000
    assert len(statements) < 50
    assert held(sessions, session) == items


def test_many_streams_take_few_statements(sessions: Sessions, store: Store) -> None:
    session = opened(sessions)
    add(sessions, session, *[line("a\n", stream=f"rank{n}") for n in range(0, 2000, 2)])
    statements: list[str] = []
    event.listen(store.engine, "before_cursor_execute", lambda *a: statements.append(a[2]))
    told = add(sessions, session, *[line("b\n", 2 - 2 * (n == 500), stream=f"rank{n}") for n in range(2000)])
    assert told.count("accepted") == 1999
    assert told[500].startswith("rejected conflict")
    assert len(statements) < 50


def test_a_large_body(sessions: Sessions) -> None:
    session = opened(sessions)
    body = random.Random(7).randbytes(32 << 20).hex()
    assert len(body) == 64 << 20
    assert add(sessions, session, line(body), line("end", 64 << 20)) == ["accepted"] * 2
    assert add(sessions, session, line("?", 5))[0].startswith("rejected conflict")
    first, last = sessions.observations(session.id)
    assert first.body == body
    assert last.body == "end"
    assert sessions.content(session.id).bytes == (64 << 20) + 3


def test_a_session_is_renewed_without_its_context(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(sessions)

    def read(*_: object) -> None:
        raise AssertionError("the context was read")

    monkeypatch.setattr("attribution.store.sessions.from_json", read)
    assert sessions.get(session.id, None, NOW) == session
    assert sessions.renew(session.id, None, NOW + timedelta(hours=1), DAY) is not None


def test_the_context_of_no_session_is_gone(sessions: Sessions) -> None:
    with pytest.raises(SessionGone):
        sessions.context("x" * 32)


@pytest.mark.parametrize("text", ["{", "{}"])
def test_a_damaged_context_is_told(sessions: Sessions, store: Store, text: str) -> None:
    session = opened(sessions)
    with store.write() as connection:
        connection.execute(update(schema_sessions).values(context=text))
    with pytest.raises(StoreDamaged, match="the context of a session is damaged"):
        sessions.context(session.id)


def test_a_damaged_body_is_told(sessions: Sessions, store: Store) -> None:
    session = opened(sessions)
    add(sessions, session, line("a" * 1000))
    for column, value in (("raw_size", 999), ("raw_size", 1001), ("body", b"garbage")):
        with store.write() as connection:
            connection.execute(update(table).values({column: value}))
        with pytest.raises(StoreDamaged, match="is damaged"):
            held(sessions, session)


TEXTS = st.text(alphabet=st.characters() | st.sampled_from("\0\x1a\ud800\udc00\n%_'\\"), max_size=12)
TIMES = st.datetimes(timezones=st.just(UTC))
OBSERVATIONS = st.builds(
    Observation,
    source=st.sampled_from(Source),
    format=st.sampled_from(Format),
    node=st.none() | TEXTS,
    node_is_guess=st.booleans(),
    rank=st.none() | st.integers(0, 2**80),
    stream=TEXTS,
    offset=st.integers(0, 2**62),
    first_line=st.integers(0, 2**80),
    window=st.none() | st.builds(Window, start=TIMES, end=TIMES),
    clock=st.none()
    | st.builds(Clock, zone=st.none() | TEXTS, year=st.none() | st.integers(1970, 9999), boot_time=TIMES),
    body=TEXTS,
    truncated=st.booleans(),
    status=st.sampled_from(Status),
    reason=st.none() | TEXTS,
)


@ON_ONE_STORE
@given(items=st.lists(OBSERVATIONS, max_size=6, unique_by=lambda o: o.offset))
def test_what_was_accepted_reads_back_as_it_was(sessions: Sessions, items: Sequence[Observation]) -> None:
    session = opened(sessions)
    accepted = [o for o, told in zip(items, add(sessions, session, *items), strict=True) if told == "accepted"]
    back = held(sessions, session)
    assert {o.digest: o for o in back} == {o.digest: o for o in accepted}
    assert [key(o) for o in back] == sorted(key(o) for o in accepted)


def key(o: Observation) -> tuple[Any, ...]:
    """The order of reading, in words of this test."""
    raw = [None if t is None else t.encode("utf-8", "surrogatepass") for t in (o.node, o.stream)]
    node = (raw[0] is not None, raw[0] or b"")
    return (o.source.value, node, -1 if o.rank is None else o.rank, raw[1], o.offset, o.digest)


PIECES = st.lists(
    st.builds(
        line,
        st.text("ab\ud800é", max_size=4),
        st.integers(0, 5),
        format=st.sampled_from([Format.TEXT, Format.PROMETHEUS_METRICS]),
    ),
    max_size=8,
)


@pytest.mark.slow
@settings(ON_ONE_STORE, max_examples=examples(80))
@given(items=PIECES, cut=st.integers(0, 8))
def test_the_engine_finds_no_contradiction_in_what_was_accepted(
    sessions: Sessions, items: Sequence[Observation], cut: int
) -> None:
    session = opened(sessions)
    add(sessions, session, *items[:cut])
    add(sessions, session, *items[cut:])
    _, rejected = assemble(sessions.context(session.id), held(sessions, session))
    assert rejected == ()


@pytest.mark.slow
@settings(ON_ONE_STORE, max_examples=examples(80))
@given(pair=st.tuples(*[PIECES.filter(bool).map(lambda items: items[0])] * 2))
def test_two_contradict_each_other_or_do_not(sessions: Sessions, pair: tuple[Observation, Observation]) -> None:
    one, other = opened(sessions), opened(sessions)
    forward, backward = add(sessions, one, *pair), add(sessions, other, *reversed(pair))
    assert forward[1] == backward[1]
    _, rejected = assemble(sessions.context(one.id), pair)
    assert ("conflict" in forward[1]) == bool(rejected)


# --- content and revision -------------------------------------------------------------------------------------------


def test_the_mark_changes_with_context_and_evidence_only(sessions: Sessions) -> None:
    session = opened(sessions, "job-m")
    marks = [sessions.content(session.id)]
    assert (marks[0].count, marks[0].bytes) == (0, 0)
    add(sessions, session, line("one\n"))
    marks.append(sessions.content(session.id))
    assert (marks[1].count, marks[1].bytes) == (1, 4)
    sessions.open(context("job-m", user="somebody"), None, NOW, DAY)
    marks.append(sessions.content(session.id))
    assert len({m.mark for m in marks}) == 3
    add(sessions, session, line("one\n"), line("two\n"))
    sessions.open(context("job-m", user="somebody"), None, NOW + timedelta(hours=9), DAY)
    sessions.renew(session.id, None, NOW, DAY * 3)
    sessions.note_diagnosis(session.id, "d")
    assert sessions.content(session.id) == marks[2]


def test_the_revision_grows_when_the_diagnosis_changes(sessions: Sessions) -> None:
    session = opened(sessions)
    assert session.revision == 0
    assert [sessions.note_diagnosis(session.id, d) for d in ("a", "a", "b", "b", "a")] == [1, 1, 2, 2, 3]
    found = sessions.get(session.id, None, NOW)
    assert found and found.revision == 3


def test_replicas_that_note_at_once_count_once(sessions: Sessions) -> None:
    session = opened(sessions)
    assert set(together(8, lambda _: sessions.note_diagnosis(session.id, "same"))) == {1}
    others = together(8, lambda n: sessions.note_diagnosis(session.id, f"other {n}"))
    assert sorted(others) == list(range(2, 10))


# --- at the same time -----------------------------------------------------------------------------------------------


def test_threads_that_add_the_same_keep_it_once(sessions: Sessions) -> None:
    session = opened(sessions)
    items = [line(f"{n:05}\n", n * 6) for n in range(300)]

    def adds(n: int) -> list[str]:
        mine = items[:]
        random.Random(n).shuffle(mine)
        return [told for at in range(0, 300, 30) for told in add(sessions, session, *mine[at : at + 30])]

    told = [outcome for outcomes in together(4, adds) for outcome in outcomes]
    assert (told.count("accepted"), told.count("duplicate")) == (300, 900)
    assert held(sessions, session) == items
    assert sessions.content(session.id).count == 300


def test_of_contradictions_at_once_one_is_kept(sessions: Sessions) -> None:
    session = opened(sessions)
    told = together(6, lambda n: add(sessions, session, line(f"{n} is right\n"))[0])
    assert sorted(outcome.split(":")[0] for outcome in told) == ["accepted"] + ["rejected conflict"] * 5
    assert len(held(sessions, session)) == 1


def test_limits_hold_when_many_add_at_once(sessions: Sessions) -> None:
    session = opened(sessions)
    few = SessionLimits(observations=10, bytes=LIMITS.bytes, observation_bytes=LIMITS.observation_bytes)
    items = [line("x", n) for n in range(60)]
    told = together(6, lambda n: [t for i in items[n::6] for t in add(sessions, session, i, limits=few)])
    assert sum(t == "accepted" for some in told for t in some) == 10
    assert len(held(sessions, session)) == 10


def _add_in_process(url: str, session_id: str, barrier: Any, answers: Any) -> None:
    store = open_store(url)
    sessions = Sessions(store)
    session = sessions.get(session_id, None, NOW)
    assert session
    barrier.wait(600)
    told = [
        t for n in range(0, 200, 20) for t in add(sessions, session, *[line("x\n", 2 * m) for m in range(n, n + 20)])
    ]
    answers.put((told.count("accepted"), told.count("duplicate")))
    store.close()


@pytest.mark.slow
def test_processes_that_add_the_same_keep_it_once(sessions: Sessions, store_url: str) -> None:
    session = opened(sessions)
    spawn = multiprocessing.get_context("spawn")
    barrier, answers = spawn.Barrier(2), spawn.Queue()
    children = [spawn.Process(target=_add_in_process, args=(store_url, session.id, barrier, answers)) for _ in range(2)]
    for child in children:
        child.start()
    counts = [answers.get(timeout=600) for _ in children]
    for child in children:
        child.join(600)
    assert [sum(c) for c in zip(*counts, strict=True)] == [200, 200]
    assert len(held(sessions, session)) == 200


CHILD = """
import sys
from tests.store.test_sessions import LIMITS, NOW, line
from attribution.store.database import open_store
from attribution.store.sessions import Sessions
sessions = Sessions(open_store(sys.argv[1]))
session = sessions.get(sys.argv[2], None, NOW)
for n in range(100000):
    answer, = sessions.add(session, [(0, line(f"{n:06}", n * 6))], NOW, LIMITS)
    print(answer.digest, flush=True)
"""


@pytest.mark.slow
def test_what_was_acknowledged_survives_a_kill(sessions: Sessions, store_url: str, root: Any) -> None:
    session = opened(sessions)
    for wanted in (1, 7, 30):
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, store_url, session.id], stdout=subprocess.PIPE, text=True, cwd=root
        )
        assert child.stdout
        acknowledged = [child.stdout.readline().strip() for _ in range(wanted)]
        child.kill()
        acknowledged += [digest for digest in child.stdout.read().split("\n") if len(digest) == 32]
        child.wait(600)
        child.stdout.close()
        store = open_store(store_url)
        kept = [o.digest for o in Sessions(store).observations(session.id)]
        store.close()
        assert set(acknowledged) <= set(kept)
        assert len(kept) == len(set(kept)) == sessions.content(session.id).count


def test_a_session_that_ends_while_it_is_read_says_so(sessions: Sessions) -> None:
    session = opened(sessions)
    add(sessions, session, *[line(f"{n:04}", n * 4) for n in range(1000)])
    reading = sessions.observations(session.id)
    next(reading)
    sessions.end(session.id)
    with pytest.raises(SessionGone):
        list(reading)


def together(number: int, work: Callable[[int], Any]) -> list[Any]:
    """The answers of `work` in threads that start at once."""
    barrier = threading.Barrier(number)
    answers: list[Any] = [None] * number

    def run(n: int) -> None:
        barrier.wait(600)
        try:
            answers[n] = work(n)
        except Exception as error:
            answers[n] = error

    threads = [threading.Thread(target=run, args=(n,)) for n in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    failed = [answer for answer in answers if isinstance(answer, Exception)]
    if failed:
        raise failed[0]
    return answers


def bodies(store: Store) -> int:
    with store.read() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()
