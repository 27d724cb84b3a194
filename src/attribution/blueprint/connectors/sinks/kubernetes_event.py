"""Results are told as an Event on the job in Kubernetes, where `kubectl describe` shows them."""

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from pydantic import Field

from attribution.blueprint.connectors.base import ConnectorError, Sink, SinkBusy, SinkRefused
from attribution.blueprint.connectors.kubernetes.access import (
    Connection,
    KubernetesAccess,
    explained,
    programs,
    require,
)
from attribution.blueprint.connectors.kubernetes.failures import PASSING, ClusterError, Why
from attribution.blueprint.connectors.kubernetes.resources import EVENT
from attribution.blueprint.connectors.sinks.posting import PostingSettings, page_of, wanted
from attribution.contracts.exchange import CatalogSnapshot
from attribution.contracts.result import AttributionBlueprintResult
from attribution.contracts.vocabulary import Scheduler, TerminalState
from attribution.presentation.answer import Answer
from attribution.presentation.columns import clip, visible
from attribution.presentation.facts import facts

REASON = "AttributionDiagnosis"
COMPONENT = "attribution"
LONGEST_MESSAGE = 1024
"""Characters that the API takes as an event's message."""
_LONGEST_NAME = 200
_SUMMARY, _FACT = 500, 160
_LABELS = ("next", "exclude", "would decide", "inferred", "partial")
_GOOD = frozenset({TerminalState.COMPLETED, TerminalState.RUNNING})
_IDS = ("namespace", "kind", "api_version", "name", "uid")


class KubernetesEventSettings(PostingSettings, KubernetesAccess):
    """Which cluster is told, and which results."""

    namespace: str | None = Field(
        default=None,
        min_length=1,
        description="where the right to write events is checked; all namespaces if not given",
    )


class KubernetesEvent(Sink[KubernetesEventSettings]):
    """Writes one Event for each result of an attempt that was found in a cluster; the same result again adds none."""

    Settings = KubernetesEventSettings

    def __init__(self, settings: KubernetesEventSettings) -> None:
        super().__init__(settings)
        # whoever calls tries again, so that the client does not
        self._connection = Connection(settings.model_copy(update={"retry_secs": 0.0}))

    def check(self) -> str:
        """Ask for the right to write events; none is written."""
        try:
            cluster = self._connection.cluster()
            require(cluster, self.settings.namespace, [("create", EVENT, "")])
        except ClusterError as error:
            raise ConnectorError(explained(error, self._connection.name)) from None
        return f"may write events through {cluster.name}"

    def programs(self) -> tuple[str, ...]:
        """`kubectl`, unless the API is asked."""
        return programs(self.settings)

    def wants(self, result: AttributionBlueprintResult) -> bool:
        """Whether it is one of those that are told, and of a job that an Event can be about."""
        return wanted(self.settings, result) and _is_of_a_cluster(result)

    def write(self, result: AttributionBlueprintResult, catalog: Callable[[], CatalogSnapshot]) -> None:
        """Write one Event. One that is there already, under the name that its content has, is left as it is."""
        if not _is_of_a_cluster(result):
            return
        found = event(result, page_of(self.settings, result), datetime.now(UTC))
        try:
            self._connection.cluster().create(EVENT, found["metadata"]["namespace"], found)
        except ClusterError as error:
            if error.why is Why.EXISTS:
                return
            if error.why in PASSING:
                raise SinkBusy(error.said, error.wait_secs) from None
            if error.why is Why.REFUSED:
                raise SinkRefused(error.said) from None
            raise ConnectorError(explained(error, self._connection.name)) from None

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()


def _is_of_a_cluster(result: AttributionBlueprintResult) -> bool:
    context = result.context
    known = context.scheduler in {Scheduler.KUEUE, Scheduler.KUBERNETES}
    return known and all(context.scheduler_ids.get(key) for key in _IDS)


def event(result: AttributionBlueprintResult, page: str | None, now: datetime) -> dict[str, Any]:
    """The Event. Its name comes from the job, the attempt and what is said, not from when it is said."""
    ids = result.context.scheduler_ids
    text = message(result, page)
    content = f"{ids['uid']}\n{result.context.attempt}\n{text}"
    digest = hashlib.blake2b(content.encode("utf-8", "replace"), digest_size=8).hexdigest()
    at = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{ids['name'][:_LONGEST_NAME].rstrip('.-')}.{digest}", "namespace": ids["namespace"]},
        "involvedObject": {
            "apiVersion": ids["api_version"],
            "kind": ids["kind"],
            "name": ids["name"],
            "namespace": ids["namespace"],
            "uid": ids["uid"],
        },
        "type": "Normal" if result.terminal_state in _GOOD else "Warning",
        "reason": REASON,
        "message": text,
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "reportingInstance": COMPONENT,
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
    }


def message(result: AttributionBlueprintResult, page: str | None) -> str:
    """How the attempt ended, what started it and where, and what to do: one line of at most 1,024 bytes."""
    answer = Answer(result.diagnosis)
    where = f" on {answer.where}" if answer.where else ""
    parts = [
        _inert(f"attempt {result.context.attempt} {answer.state}: {answer.verdict}{where}", _FACT),
        _inert(result.diagnosis.summary, _SUMMARY),
    ]
    told = {fact.label: fact.texts for fact in facts(answer)}
    parts += [_inert(f"{label}: {'; '.join(told[label])}", _FACT) for label in _LABELS if label in told]
    link = f" | {page}" if page is not None and len(page) <= _FACT else ""
    text = " | ".join(part for part in parts if part)
    return _bounded(text, LONGEST_MESSAGE - len(link.encode())) + link


def _inert(text: str, room: int) -> str:
    """Text on one line, without control or hidden characters, and not too long."""
    return clip(" ".join(visible(text).split()), room)


def _bounded(text: str, room: int) -> str:
    """Text of at most so many bytes."""
    data = text.encode("utf-8", "replace")
    return text if len(data) <= room else data[: room - 3].decode("utf-8", "ignore") + "…"
