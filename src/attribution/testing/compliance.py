"""What every connector must do, whoever wrote it. One function for each kind, which raises AssertionError.

They ask a connector only through `attribution.blueprint.connectors.base`, so that any package may run them over its
own connectors. `attribution.testing.http_compliance` has what those that ask a server must do besides.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from attribution.blueprint.attempt import Attempt, Query, Unusable
from attribution.blueprint.connectors.base import Collected, Collector, Connector, ContextConnector, Halted, Kind, Sink
from attribution.configuration.keys import keys
from attribution.contracts.base import Strict
from attribution.contracts.exchange import CatalogSnapshot
from attribution.contracts.observation import Observation
from attribution.contracts.plan import CollectionPlan
from attribution.contracts.result import AttributionBlueprintResult
from attribution.contracts.vocabulary import Status

MAX_BODY_BYTES = 8 << 20
"""An observation is bounded: a body larger than this is no piece of evidence but all of it."""


def comply(connector: type[Connector[Any]]) -> None:
    """A connector class says what it is and what can be set."""
    assert isinstance(connector.kind, Kind), f"{connector} does not say its kind"
    assert connector.__doc__, f"{connector} does not say what it does"
    assert issubclass(connector.Settings, Strict), f"{connector.Settings} takes keys that it does not know"
    for key in keys(connector.Settings):
        assert key.meaning, f"the setting `{key.name}` of {connector} does not say what it means"
        assert not key.meaning.endswith("."), f"the meaning of `{key.name}` is a phrase, not a sentence"


_ASKED_BY_NAME = 8
"""Attempts, out of all that are found, that are also asked for by the name of their workload."""


def context_connector_complies(connector: ContextConnector[Any]) -> list[Attempt]:
    """It finds the same attempts in the same order each time, and only those that are asked for."""
    assert connector.check(), "check() does not say what it found"
    found = list(connector.discover(Query()))
    assert found == list(connector.discover(Query())), "discover() does not give the same twice"
    for item in found:
        assert isinstance(item, (Attempt, Unusable)) and item.origin, "what is found does not say where"
        assert not isinstance(item, Unusable) or item.reason, "what cannot be used does not say why"
    attempts = [item for item in found if isinstance(item, Attempt)]
    assert len({attempt.identity for attempt in attempts}) == len(attempts), "an attempt is found twice"
    nobody = connector.discover(Query(job="there is no such job", workload="nor such a workload"))
    assert not [item for item in nobody if isinstance(item, Attempt)], "what nobody asked for is found"
    for attempt in attempts[:: 1 + len(attempts) // _ASKED_BY_NAME]:
        asked = [a for a in connector.discover(Query(workload=attempt.context.workload_id)) if isinstance(a, Attempt)]
        assert attempt in asked, f"{attempt.label} is not found when it is asked for"
    connector.close()
    connector.close()
    return attempts


def collected(
    collector: Collector[Any], attempt: Attempt, plan: CollectionPlan, halted: Halted = lambda: False
) -> list[Observation]:
    """The observations that a collector delivers, however it hands them over."""
    return [item.observation for item in _delivered(collector, attempt, plan, halted)]


def _delivered(
    collector: Collector[Any], attempt: Attempt, plan: CollectionPlan, halted: Halted
) -> Iterator[Collected]:
    for item in collector.collect(attempt, plan, halted):
        yield item if isinstance(item, Collected) else Collected(item)


def retries_of(collector: Collector[Any], attempt: Attempt, plan: CollectionPlan) -> int:
    """How often a collector repeats calls to collect an attempt."""
    return sum(item.retries for item in _delivered(collector, attempt, plan, lambda: False))


def collector_complies(collector: Collector[Any], attempt: Attempt, plan: CollectionPlan) -> list[Observation]:
    """It delivers bounded observations, leaves no source and node unsaid, and stops when it is told to."""
    assert collector.check(), "check() does not say what it found"
    whole = collected(collector, attempt, plan)
    assert whole == collected(collector, attempt, plan), "collect() does not give the same twice"
    says_all(collector, attempt, whole)
    halted = collected(collector, attempt, plan, lambda: True)
    says_all(collector, attempt, halted)
    assert not any(item.body for item in halted), "collect() reads although it is halted"
    _stops(collector, attempt, plan, whole)
    collector.close()
    collector.close()
    return whole


def says_all(collector: Collector[Any], attempt: Attempt, found: Sequence[Observation]) -> None:
    """Every source and node is told of; bodies are bounded; what is not well has a reason."""
    for item in found:
        assert len(item.body.encode()) <= MAX_BODY_BYTES, (
            f"an observation of {item.source} holds {len(item.body)} bytes"
        )
        assert item.body or item.status is not Status.OK, f"{item.source} of {item.node} is empty and said to be ok"
        assert item.status is Status.OK or item.body or item.status is Status.EMPTY or item.reason, (
            f"{item.source} of {item.node} is {item.status} for no reason"
        )
    said = {(item.source, item.node) for item in found}
    shared = {source for source, node in said if node is None}
    for source in collector.sources:
        assert source in {source for source, _ in said}, f"nothing is said of {source}"
        for node in attempt.context.nodes:
            assert (source, node.name) in said or source in shared, f"nothing is said of {source} of {node.name}"


def _stops(collector: Collector[Any], attempt: Attempt, plan: CollectionPlan, whole: Sequence[Observation]) -> None:
    """Halted after its first observation with a body, it says what it left out."""
    begun: list[Observation] = []
    for item in _delivered(collector, attempt, plan, lambda: bool(begun)):
        if item.observation.body:
            begun.append(item.observation)
    assert len(begun) <= 1, "collect() goes on reading although it is halted"
    bodies = [item for item in whole if item.body]
    if len(bodies) > 1:
        told = collected(collector, attempt, plan, lambda: True)
        assert any(item.reason == "deadline" for item in told), "what is not read in time is not told so"


def sink_complies(
    sink: Sink[Any],
    result: AttributionBlueprintResult,
    catalog: Callable[[], CatalogSnapshot],
    read: Callable[[], list[AttributionBlueprintResult]],
) -> None:
    """It takes a result whole, and takes it again. `read` gives back what the sink holds."""
    assert sink.check(), "check() does not say what it found"
    sink.write(result, catalog)
    assert read()[-1:] == [result], "the result does not come back as it was written"
    sink.write(result, catalog)
    assert read()[-1:] == [result], "the result does not come back as it was written the second time"
    sink.close()
    sink.close()
