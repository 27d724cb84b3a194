"""Observations go to the Service in batches, and of each it is known what became of it."""

from collections.abc import Sequence

from attribution.blueprint.ledger import Item, Ledger
from attribution.client.client import AttributionClient, BatchLimits
from attribution.client.errors import ServiceError, ServiceProblem, ServiceUnreachable
from attribution.client.retry import NO_RETRIES, Retries
from attribution.contracts.exchange import ObservationAnswer

_FATAL = frozenset({401, 403, 404})
"""Answers after which nothing more of the attempt can be submitted: not allowed, or no such session."""
_LOST_IN_A_ROW = 3
"""Batches after whose loss no more are tried."""


class Patience:
    """How long the Service is waited for. When it did not answer a call at all, later ones are tried once only."""

    def __init__(self, retries: Retries) -> None:
        self._retries = retries
        self._is_gone = False

    def retries(self, secs: float | None) -> Retries:
        """For the next call, which has so much time, where that is limited."""
        return (NO_RETRIES if self._is_gone else self._retries).within(secs)

    def note(self, error: ServiceError | None) -> None:
        """How the last call went."""
        self._is_gone = isinstance(error, ServiceUnreachable)


class Submission:
    """Gathers what connectors deliver and submits it; what is rejected or lost stands in the ledger."""

    def __init__(
        self, client: AttributionClient, attributor_id: str, ledger: Ledger, limits: BatchLimits, patience: Patience
    ) -> None:
        self._client = client
        self._id = attributor_id
        self._ledger = ledger
        self._limits = limits
        self._patience = patience
        self._waiting: list[Item] = []
        self._bytes = 0
        self._lost = 0

    def add(self, item: Item, retries: Retries) -> None:
        """Take one observation; submit what was gathered if it is enough for a request."""
        self._ledger.delivered(item)
        size = len(item.observation.body)
        if self._waiting and self._bytes + size > self._limits.bytes:
            self.flush(retries)
        self._waiting.append(item)
        self._bytes += size
        if len(self._waiting) >= self._limits.observations or self._bytes >= self._limits.bytes:
            self.flush(retries)

    def flush(self, retries: Retries) -> None:
        """Submit what was gathered. Raises ServiceProblem if nothing more can be submitted at all."""
        batch, self._waiting, self._bytes = self._waiting, [], 0
        if not batch:
            return
        if self._lost >= _LOST_IN_A_ROW:
            self._lose(batch, (), "not sent, the Service having lost all before")
            return
        self._ledger.submitted(batch)
        try:
            answer = self._client.submit(self._id, [item.observation for item in batch], retries)
        except ServiceError as error:
            self._patience.note(error)
            self._lost += 1
            self._lose(batch, error.answered, str(error))
            if isinstance(error, ServiceProblem) and error.status in _FATAL:
                raise
            return
        self._patience.note(None)
        self._lost = 0
        for item, told in zip(batch, answer.observations, strict=True):
            self._ledger.answered(item, told)

    def mark_damage(self, retries: Retries) -> None:
        """Tell the Service of each stream that it does not hold whole, so that the diagnosis says so too."""
        damage = self._ledger.damage()
        if not damage:
            return
        try:
            self._client.submit(self._id, damage, retries)
        except ServiceError as error:  # the reports say it all the same
            self._patience.note(error)

    def _lose(self, batch: Sequence[Item], answered: Sequence[ObservationAnswer], reason: str) -> None:
        known = {answer.index: answer for answer in answered}
        for index, item in enumerate(batch):
            if index in known:
                self._ledger.answered(item, known[index])
            else:
                self._ledger.lost(item, reason)
