"""A result stays in the outbox until every sink took it, or will never do so."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import func, select, update

from attribution.contracts.context import ExecutionContext
from attribution.contracts.result import AttributionBlueprintResult
from attribution.store.backlog import Backlog, Sighting
from attribution.store.codec import to_json
from attribution.store.database import Store
from attribution.store.faults import StoreDamaged
from attribution.store.identity import attempt_key
from attribution.store.keepsakes import MAX_VALUE_BYTES, Keepsakes, Marks, expire
from attribution.store.outbox import Delivery, DeliveryState, Outbox
from attribution.store.schema import watch_results

from tests.blueprint.results import result

NOW = datetime(2026, 5, 4, 3, tzinfo=UTC)
LEASE = 60.0


def at(secs: float) -> datetime:
    return NOW + timedelta(seconds=secs)


def completed(store: Store, *sinks: str, workload: str = "job-7") -> AttributionBlueprintResult:
    backlog, of = Backlog(store), ExecutionContext(workload_id=workload)
    backlog.note([Sighting(attempt_key(None, of), of, "here", b"x", NOW)], NOW)
    claim = backlog.claim(NOW, LEASE)
    assert claim is not None
    told = result(workload, name="half \ud800 of a pair")
    assert backlog.complete(claim, to_json(told).encode(), sinks, [], NOW)
    return told


def taken(outbox: Outbox, sink: str, secs: float = 0.0) -> Delivery:
    delivery = outbox.claim([sink], at(secs), LEASE)
    assert delivery is not None
    return delivery


def kept(store: Store) -> int:
    with store.read() as connection:
        return connection.execute(select(func.count()).select_from(watch_results)).scalar_one()


def test_each_sink_has_its_own_and_the_last_clears_the_result(store: Store) -> None:
    told, outbox = completed(store, "one", "two"), Outbox(store)
    first, second = taken(outbox, "one"), taken(outbox, "two")
    assert (first.result, first.workload_id, first.attempt, first.made_at) == (told, "job-7", 1, NOW)
    assert outbox.claim(["one", "two"], NOW, LEASE) is None
    assert outbox.claim(["three"], NOW, LEASE) is None
    assert outbox.done(first, NOW)
    assert not outbox.done(first, NOW), "it is delivered once"
    assert kept(store) == 1
    assert outbox.done(second, NOW)
    assert kept(store) == 0
    assert outbox.counts() == {("one", DeliveryState.DONE): 1, ("two", DeliveryState.DONE): 1}


def test_a_sink_that_fails_is_offered_it_again_and_in_the_end_the_result_is_still_there(store: Store) -> None:
    completed(store, "one", "two")
    outbox = Outbox(store)
    assert outbox.retry(taken(outbox, "one"), at(30), "away", at(1))
    assert outbox.claim(["one"], at(29), LEASE) is None
    again = taken(outbox, "one", 30)
    assert again.tries == 1
    assert outbox.fail(again, "refused \x1b", at(31))
    assert outbox.claim(["one"], at(1000), LEASE) is None
    (failed,) = outbox.failed(5)
    assert (failed.label, failed.sink, failed.reason) == ("job-7, attempt 1", "one", "refused \x1b")
    assert outbox.done(taken(outbox, "two", 32), at(32))
    assert kept(store) == 1


def test_a_delivery_whose_worker_vanished_is_taken_over(store: Store) -> None:
    completed(store, "one")
    outbox = Outbox(store)
    gone = taken(outbox, "one")
    assert outbox.renew([gone.lease], at(30), LEASE) == {gone.lease}
    assert outbox.claim(["one"], at(89), LEASE) is None
    heir = taken(outbox, "one", 91)
    assert not outbox.done(gone, at(92)) and not outbox.release(gone) and not outbox.fail(gone, "why", at(92))
    assert outbox.release(heir)
    assert outbox.done(taken(outbox, "one", 93), at(93))


def test_a_result_that_cannot_be_read_has_failed(store: Store) -> None:
    completed(store, "one")
    with store.write() as connection:
        connection.execute(update(watch_results).values(document=b"no frame"))
    outbox = Outbox(store)
    with pytest.raises(StoreDamaged):
        outbox.claim(["one"], NOW, LEASE)
    assert outbox.claim(["one"], at(1000), LEASE) is None
    assert outbox.counts() == {("one", DeliveryState.FAILED): 1}


def test_a_mark_never_goes_back(store: Store) -> None:
    marks = Marks(store)
    assert marks.get("a") is None and marks.earliest(at(0)) is None
    marks.advance("a", at(10))
    marks.advance("a", at(5))
    marks.advance("b", at(3))
    assert (marks.get("a"), marks.earliest(at(0)), marks.earliest(at(4))) == (at(10), at(3), at(10))


def test_texts_are_kept_by_owner_and_for_a_time(store: Store) -> None:
    mine, other = Keepsakes(store, "a" * 32), Keepsakes(store, "b" * 32)
    mine.put("pod/b%", "node-02", 3600)
    mine.put("pod/a\ud800", "node-01", 3600)
    mine.put("pod/a\ud800", "node-03", 3600)
    mine.put("POD/x", "node-04", 3600)
    other.put("pod/c", "node-09", 3600)
    mine.put("pod/over", "node-05", -1)
    assert list(mine.items("pod/")) == [("pod/a\ud800", "node-03"), ("pod/b%", "node-02")]
    assert (mine.get("pod/b%"), mine.get("pod/c"), mine.get("pod/over")) == ("node-02", None, None)
    assert expire(store, datetime.now(UTC)) == 1
    mine.forget("pod/b%")
    assert mine.get("pod/b%") is None and other.get("pod/c") == "node-09"
    too_long, too_large = "k" * 161, "x" * (MAX_VALUE_BYTES + 1)
    for wrong in (lambda: mine.put("", "x", 1), lambda: mine.get(too_long), lambda: mine.put("k", too_large, 1)):
        with pytest.raises(ValueError, match=r"characters|bytes"):
            wrong()
