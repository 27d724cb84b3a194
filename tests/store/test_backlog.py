"""Each attempt is with one worker at a time, and ends once, whoever vanishes meanwhile."""

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update

from attribution.contracts.context import ExecutionContext
from attribution.store.backlog import Backlog, Claim, Sighting
from attribution.store.database import Store, open_store
from attribution.store.faults import StoreDamaged
from attribution.store.identity import attempt_key
from attribution.store.outbox import DeliveryState, Outbox
from attribution.store.schema import watch_attempts

from tests.blueprint.results import result

NOW = datetime(2026, 5, 4, 3, tzinfo=UTC)
LEASE = 60.0


def at(secs: float) -> datetime:
    return NOW + timedelta(seconds=secs)


def sighting(workload: str, ready: float = 0.0, document: bytes | None = None, **context: Any) -> Sighting:
    of = ExecutionContext.model_validate({"workload_id": workload, **context})
    return Sighting(attempt_key(of.tenant, of), of, f"where {workload} is", document or workload.encode(), at(ready))


def taken(backlog: Backlog, secs: float = 0.0) -> Claim:
    claim = backlog.claim(at(secs), LEASE)
    assert claim is not None
    return claim


def test_what_is_seen_is_remembered_once(store: Store) -> None:
    backlog = Backlog(store)
    first = [sighting("b", 5), sighting("a"), sighting("b", tenant="other")]
    assert backlog.note(first, NOW) == ["new", "new", "new"]
    assert backlog.note([sighting("a"), sighting("c"), sighting("b", 5)], at(1)) == ["known", "new", "known"]
    assert backlog.counts(at(1)) == {"waiting": 4, "working": 0, "diagnosed": 0, "given_up": 0}


def test_what_has_waited_longest_is_taken_first_and_nothing_before_it_is_ready(store: Store) -> None:
    backlog = Backlog(store)
    backlog.note([sighting("late", 30), sighting("soon", 10)], NOW)
    assert backlog.claim(at(9), LEASE) is None
    assert backlog.oldest_ready(at(9)) is None
    claim = taken(backlog, 40)
    assert (claim.workload_id, claim.origin, claim.document) == ("soon", "where soon is", b"soon")
    assert taken(backlog, 40).workload_id == "late"
    assert backlog.claim(at(40), LEASE) is None
    assert backlog.oldest_ready(at(41)) == at(10)
    assert backlog.counts(at(41))["working"] == 2


def test_what_changes_while_it_waits_waits_anew(store: Store) -> None:
    backlog = Backlog(store)
    backlog.note([sighting("a")], NOW)
    assert backlog.note([sighting("a", 20, b"later")], at(1)) == ["changed"]
    assert backlog.claim(at(19), LEASE) is None
    claim = taken(backlog, 20)
    assert claim.document == b"later"
    assert backlog.note([sighting("a", 0, b"even later")], at(21)) == ["known"], "it is being worked on"
    assert backlog.complete(claim, b"{}", [], [], at(22))
    assert backlog.note([sighting("a", 0, b"too late")], at(23)) == ["known"], "it is done"
    assert backlog.claim(at(100), LEASE) is None


def test_what_keeps_changing_is_ready_in_the_end(store: Store) -> None:
    backlog = Backlog(store)
    for secs in range(0, 200, 10):
        backlog.note([sighting("a", secs + 15, str(secs).encode())], at(secs))
        claim = backlog.claim(at(secs), LEASE)
        if claim is not None:
            break
    assert secs == 150, "ten times its wait after it was found"


def test_what_cannot_be_read_is_given_up(store: Store) -> None:
    backlog = Backlog(store)
    backlog.note([sighting("a"), sighting("b", 1)], NOW)
    with store.write() as connection:
        connection.execute(
            update(watch_attempts).where(watch_attempts.c.workload_id == "a").values(document=b"no frame")
        )
    with pytest.raises(StoreDamaged):
        backlog.claim(at(1), LEASE)
    assert taken(backlog, 1).workload_id == "b"
    assert [one.label for one in backlog.given_up(5)] == ["a, attempt 1"]


def test_a_worker_that_vanishes_loses_its_attempt_and_cannot_end_it(store: Store) -> None:
    backlog = Backlog(store)
    backlog.note([sighting("a")], NOW)
    gone = taken(backlog)
    assert backlog.claim(at(LEASE), LEASE) is None
    heir = taken(backlog, LEASE + 1)
    assert (gone.losses, heir.losses) == (0, 1)
    assert not backlog.complete(gone, b"{}", ["sink"], [], at(62))
    assert not backlog.retry(gone, at(0), "why", at(62))
    assert not backlog.give_up(gone, "why", at(62))
    assert not backlog.release(gone, at(0))
    assert Outbox(store).counts() == {}
    assert backlog.complete(heir, b"{}", ["sink"], ["other"], at(63))
    assert not backlog.complete(heir, b"{}", ["sink"], [], at(64)), "it is ended once"
    assert Outbox(store).counts() == {("sink", DeliveryState.PENDING): 1, ("other", DeliveryState.SKIPPED): 1}


def test_a_lease_that_is_renewed_is_kept(store: Store) -> None:
    backlog = Backlog(store)
    backlog.note([sighting("a"), sighting("b")], NOW)
    first, second = taken(backlog), taken(backlog)
    assert backlog.renew([first.lease, "nobody's"], at(50), LEASE) == {first.lease}
    assert taken(backlog, 100).workload_id == second.workload_id
    assert backlog.claim(at(109), LEASE) is None
    assert backlog.release(first, at(109))
    assert backlog.renew([first.lease], at(109), LEASE) == set()
    assert taken(backlog, 109).losses == 0, "what is given back is no loss"


def test_tries_are_counted_until_it_is_given_up(store: Store) -> None:
    backlog = Backlog(store)
    backlog.note([sighting("a")], NOW)
    assert backlog.retry(taken(backlog), at(10), "no \x00 answer", at(1))
    assert backlog.claim(at(9), LEASE) is None
    claim = taken(backlog, 10)
    assert claim.tries == 1
    assert backlog.give_up(claim, "no answer again", at(11))
    assert backlog.claim(at(1000), LEASE) is None
    (given_up,) = backlog.given_up(5)
    assert (given_up.label, given_up.origin) == ("a, attempt 1", "where a is")
    assert (given_up.reason, given_up.at) == ("no answer again", at(11))


def test_what_is_done_and_not_seen_any_more_is_forgotten(store: Store) -> None:
    backlog, outbox = Backlog(store), Outbox(store)
    backlog.note([sighting(name) for name in ("done", "open", "seen", "waits")], NOW)
    for claim in [taken(backlog) for _ in range(4)]:
        if claim.workload_id.startswith("waits"):
            backlog.release(claim, at(0))
            continue
        body = result(claim.workload_id).model_dump_json().encode()
        assert backlog.complete(claim, body, ["sink"] if claim.workload_id.startswith("open") else [], [], at(1))
    day = 86400.0
    assert backlog.note([sighting("seen")], at(day)) == ["known"]
    assert backlog.prune(at(day / 2)) == 1
    assert backlog.note([sighting(name) for name in ("done", "open", "seen", "waits")], at(day)) == [
        "new", "known", "known", "known",
    ]  # fmt: skip
    assert outbox.counts() == {("sink", DeliveryState.PENDING): 1}


@pytest.mark.slow
def test_many_workers_share_the_attempts(store: Store, store_url: str) -> None:
    """Threads with stores of their own, as processes have: each attempt is with one of them."""
    Backlog(store).note([sighting(f"job-{number}") for number in range(60)], NOW)
    ended: list[str] = []
    lock = threading.Lock()

    def work() -> None:
        own = open_store(store_url)
        backlog = Backlog(own)
        while (claim := backlog.claim(NOW, LEASE)) is not None:
            assert backlog.complete(claim, b"{}", [], [], NOW)
            with lock:
                ended.append(claim.workload_id)
        own.close()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    left = 60 - len(ended)
    if left:  # a worker that found only rows which others had just locked went home early
        work()
    assert sorted(ended) == sorted(f"job-{number}" for number in range(60))
