"""A call is tried again while trying again may help, with growing waits, within one budget of time."""

import random
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx
import tenacity

_SHORTEST_TRY_SECS = 0.05
BUSY = frozenset({429, 502, 503, 504})
"""Answers that say: not now."""


@dataclass(frozen=True, slots=True)
class Retries:
    """How long a call is tried: at most `times` more after the first, and no new try after `total_secs`.

    No single try takes longer than `try_secs`, if that is given and shorter than the client's own time-out.
    Waits grow from `first_wait_secs` to `longest_wait_secs`, each shortened at random by up to a half, so that many
    clients do not come back at once. What the Service asks for in `Retry-After` is waited for in full.
    """

    times: int = 8
    total_secs: float = 60.0
    first_wait_secs: float = 0.25
    longest_wait_secs: float = 15.0
    try_secs: float | None = None

    def within(self, secs: float | None) -> "Retries":
        """The same in at most so much time, where it is limited."""
        if secs is None:
            return self
        return replace(self, total_secs=min(self.total_secs, secs), try_secs=max(secs, _SHORTEST_TRY_SECS))


NO_RETRIES = Retries(times=0, total_secs=0.0)


class Busy(Exception):
    """An answer that asks to come again. `wait_secs` is what its `Retry-After` says."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.wait_secs = retry_after_secs(response.headers.get("retry-after", ""))
        super().__init__(f"status {response.status_code}")


@dataclass(slots=True)
class Tried:
    """How a call went: its last error is Busy or an httpx.TransportError."""

    response: httpx.Response | None
    error: Exception | None
    tries: int


def send(
    call: Callable[[], httpx.Response],
    retries: Retries,
    sleep: Callable[[float], None] = time.sleep,
    busy: Collection[int] = BUSY,
) -> Tried:
    """Make the call until it is answered with something other than `not now`, or until the budget is used up.

    What `call` or `sleep` raise besides httpx.TransportError ends the tries and is raised on.
    """

    def once() -> httpx.Response:
        response = call()
        if response.status_code in busy:
            raise Busy(response)
        return response

    def wait(state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.wait_secs if isinstance(error, Busy) else None
        grown = min(retries.first_wait_secs * 2.0 ** (state.attempt_number - 1), retries.longest_wait_secs)
        return asked if asked is not None else grown * random.uniform(0.5, 1.0)  # noqa: S311  spreads load, no secret

    policy = tenacity.Retrying(
        retry=tenacity.retry_if_exception(_may_pass),
        stop=tenacity.stop_any(
            tenacity.stop_after_attempt(retries.times + 1), tenacity.stop_before_delay(retries.total_secs)
        ),
        wait=wait,
        sleep=sleep,
        reraise=True,
    )
    try:
        response = policy(once)
    except (Busy, httpx.TransportError) as error:
        return Tried(None, error, policy.statistics["attempt_number"])
    return Tried(response, None, policy.statistics["attempt_number"])


def _may_pass(error: BaseException) -> bool:
    if isinstance(error, (httpx.UnsupportedProtocol, httpx.LocalProtocolError)):
        return False
    return isinstance(error, (Busy, httpx.TransportError))


def retry_after_secs(text: str) -> float | None:
    """Seconds that a `Retry-After` asks for, which is a number or a date; None where it says neither."""
    try:
        return max(0.0, float(int(text)))
    except ValueError:
        pass
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())
