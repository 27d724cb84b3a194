"""A result is offered to a sink again until it takes it, or until its time is over."""

import random
from collections.abc import Callable
from typing import Any

import tenacity

from attribution.blueprint.connectors.base import Sink, SinkBusy, SinkRefused
from attribution.client.retry import NO_RETRIES, Retries
from attribution.contracts.exchange import CatalogSnapshot
from attribution.contracts.result import AttributionBlueprintResult

FIRST_WAIT_SECS, LONGEST_WAIT_SECS = 0.5, 3600.0
Catalog = Callable[[], CatalogSnapshot]


def wait_secs(tries: int, error: BaseException | None, first_secs: float, longest_secs: float) -> float:
    """How long a sink is left alone after so many tries: what it asks for, or a wait that doubles up to the longest.

    Whoever calls bounds what a sink may ask for: a run by the time that it tries for, a watcher to an hour.
    """
    asked = error.wait_secs if isinstance(error, SinkBusy) else None
    return grown_secs(tries, first_secs, longest_secs) if asked is None else asked


def grown_secs(tries: int, first_secs: float, longest_secs: float) -> float:
    """A wait that doubles with each try after the first, up to the longest."""
    return min(first_secs * 2.0 ** min(tries - 1, 60), longest_secs)


class Deliverer:
    """Gives results to sinks within one run. A sink that was waited for in vain is tried once only from then on."""

    def __init__(self, retries: Retries) -> None:
        self._retries = retries
        self._gone: set[str] = set()

    def deliver(self, name: str, sink: Sink[Any], result: AttributionBlueprintResult, catalog: Catalog) -> None:
        """Return when the sink has it, or does not want it. Raises what the sink raised last."""
        if not sink.wants(result):
            return
        retries = NO_RETRIES if name in self._gone else self._retries
        policy = tenacity.Retrying(
            retry=tenacity.retry_if_exception(_may_pass),
            stop=tenacity.stop_any(
                tenacity.stop_after_attempt(retries.times + 1), tenacity.stop_before_delay(retries.total_secs)
            ),
            wait=lambda state: _wait_secs(state, retries),
            reraise=True,
        )
        try:
            policy(sink.write, result, catalog)
        except Exception as error:
            if _may_pass(error):
                self._gone.add(name)
            raise
        self._gone.discard(name)


def _wait_secs(state: tenacity.RetryCallState, retries: Retries) -> float:
    error = state.outcome.exception() if state.outcome else None
    waited = wait_secs(state.attempt_number, error, retries.first_wait_secs, retries.longest_wait_secs)
    return waited * random.uniform(0.5, 1.0) if not isinstance(error, SinkBusy) else waited  # noqa: S311  no secret


def _may_pass(error: BaseException) -> bool:
    return isinstance(error, Exception) and not isinstance(error, (SinkRefused, BrokenPipeError))
