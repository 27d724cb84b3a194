"""The run: discover attempts, collect and submit their evidence, have it attributed, write the results."""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from attribution.blueprint.attempt import Attempt, Found, Query, Unusable, asked_window
from attribution.blueprint.collection import Collectors, Ended, collect
from attribution.blueprint.connectors.base import DEADLINE, Connector, ConnectorError, ContextConnector, Sink
from attribution.blueprint.connectors.foreign import one_line
from attribution.blueprint.deadline import Deadline
from attribution.blueprint.delivery import Deliverer
from attribution.blueprint.finding import LateError, found_in_time
from attribution.blueprint.ledger import Item, Ledger
from attribution.blueprint.progress import Progress
from attribution.blueprint.submission import Patience, Submission
from attribution.blueprint.workers import Workers
from attribution.client.client import AttributionClient, BatchLimits
from attribution.client.errors import ServiceError, ServiceProblem
from attribution.client.retry import NO_RETRIES, Retries
from attribution.contracts.context import ExecutionContext, Node
from attribution.contracts.errors import AttributionError, ConfigurationError, Place, Problem
from attribution.contracts.exchange import CatalogSnapshot
from attribution.contracts.observation import Observation
from attribution.contracts.plan import CollectionPlan
from attribution.contracts.result import AttributionBlueprintResult
from attribution.contracts.vocabulary import Status

_NO_SESSION = 404
_POLL_SECS = 0.5
_PROGRESS_SECS = 30.0
_MORE_TIME = "give more time with --deadline-secs, or ask for fewer attempts"


class Failed(Enum):
    """What kept an attempt from being diagnosed, or its result from being written."""

    EVIDENCE = "evidence"
    UNAVAILABLE = "unavailable"
    INTERNAL = "internal"


class AttemptError(Exception):
    """An attempt cannot be diagnosed. The message is one sentence."""

    def __init__(self, kind: Failed, message: str) -> None:
        self.kind = kind
        super().__init__(message)


@dataclass(slots=True)
class Summary:
    """How a run went."""

    found: int = 0
    diagnosed: int = 0
    failures: list[Failed] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Parts:
    """The connectors of a run, each by its name."""

    contexts: Mapping[str, ContextConnector[Any]]
    collectors: Collectors
    sinks: Mapping[str, Sink[Any]]

    def all(self) -> Iterator[tuple[str, Connector[Any]]]:
        """Each connector with its place in the configuration: `sinks.database`."""
        for group in (self.contexts, self.collectors, self.sinks):
            for name, connector in group.items():
                yield f"{connector.kind.value}.{name}", connector

    def open(self) -> None:
        """Open all of them. Raises ConfigurationError (P007, or the connector's own) with all that cannot be opened."""
        problems: list[Problem] = []
        for place, connector in self.all():
            try:
                connector.open()
            except ConnectorError as error:
                problems.append(Problem(Place(place), "P007", f"cannot be used: {error}", "see its settings"))
            except AttributionError as error:
                problems += error.problems
        if problems:
            raise ConfigurationError(problems)

    def close(self) -> None:
        """Close all of them."""
        for _, connector in self.all():
            connector.close()


class Orchestrator:
    """One run over all attempts that a query wants, several at once, written in the order in which they are found.

    `tell` is called with one sentence about each thing that went wrong; nothing of that stops the other attempts.
    `spare` prints the results that no sink of `parts` took. A sink that fails is tried again as `deliveries` say.
    With `ends_sessions` the Service may forget the evidence of an attempt once it is diagnosed.
    """

    def __init__(
        self,
        client: AttributionClient,
        parts: Parts,
        tell: Callable[[str], None],
        workers: int = 1,
        cluster: str | None = None,
        tenant: str | None = None,
        retries: Retries = Retries(),  # noqa: B008  frozen
        limits: BatchLimits = BatchLimits(),  # noqa: B008  frozen
        spare: Sink[Any] | None = None,
        deliveries: Retries = NO_RETRIES,
        progress: Progress | None = None,
        ends_sessions: bool = False,
    ) -> None:
        self._client = client
        self._parts = parts
        self._tell = tell
        self._workers = workers
        self._added = {"cluster": cluster, "tenant": tenant}
        self._limits = limits
        self._spare = spare
        self._deliverer = Deliverer(deliveries)
        self._progress = progress or Progress(_PROGRESS_SECS)
        self._ends_sessions = ends_sessions
        self._patience = Patience(retries)
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._plan: CollectionPlan | None = None
        self._catalogs: dict[str, CatalogSnapshot] = {}

    def run(self, query: Query, deadline: Deadline) -> Summary:
        """Diagnose every attempt that is wanted."""
        summary = Summary()
        workers: Workers[AttributionBlueprintResult] = Workers(self._workers)
        pending: deque[tuple[Attempt, Future[AttributionBlueprintResult]]] = deque()
        try:
            for attempt in self._attempts(query, summary, deadline):
                task = _Task(self, attempt, deadline)
                pending.append((attempt, workers.submit(task)))
                if len(pending) > 2 * self._workers:
                    self._finish(*pending.popleft(), summary)
            while pending:
                self._finish(*pending.popleft(), summary)
        finally:
            self._stopped.set()
            for _, future in pending:
                future.cancel()
            workers.close()
        return summary

    # --- discover -----------------------------------------------------------------------------------------------------

    def _attempts(self, query: Query, summary: Summary, deadline: Deadline) -> Iterator[Attempt]:
        """The attempts, each once; what is found and is none is told."""
        origins: dict[object, str] = {}
        for found in self._discovered(query, summary, deadline):
            if isinstance(found, Unusable):
                self._tell(f"{found.origin}: {found.reason}")
                if found.is_failure:
                    summary.failures.append(Failed.EVIDENCE)
                continue
            attempt = self.enriched(found)
            before = origins.get(attempt.identity)
            if before is not None:
                self._tell(f"{attempt.origin}: is the same attempt as {before} ({attempt.label}); it is not looked at")
                summary.failures.append(Failed.EVIDENCE)
                continue
            origins[attempt.identity] = attempt.origin
            summary.found += 1
            yield attempt

    def _discovered(self, query: Query, summary: Summary, deadline: Deadline) -> Iterator[Found]:
        for name, connector in self._parts.contexts.items():
            try:
                for found in found_in_time(connector, query, deadline):
                    yield replace(found, found_by=name) if isinstance(found, Attempt) else found
            except LateError:
                self._tell(f"{name}: did not find all attempts before the deadline ({_MORE_TIME})")
                summary.failures.append(Failed.UNAVAILABLE)
            except ConnectorError as error:
                yield Unusable(name, str(error))
            except Exception as error:  # a connector that fails never stops the run
                yield Unusable(name, f"failed: {one_line(error)}")

    def enriched(self, attempt: Attempt) -> Attempt:
        """The attempt with the cluster and tenant of the settings, where its context does not say them."""
        context = attempt.context
        added = {name: value for name, value in self._added.items() if value and getattr(context, name) is None}
        return replace(attempt, context=context.model_copy(update=added)) if added else attempt

    # --- one attempt --------------------------------------------------------------------------------------------------

    def diagnosed(self, attempt: Attempt, deadline: Deadline) -> AttributionBlueprintResult:
        """The result of one attempt. Raises AttemptError, ServiceError.

        A session that somebody else ended meanwhile is opened once more, and everything submitted again.
        """
        if deadline.halted():
            raise AttemptError(Failed.UNAVAILABLE, f"was not begun before the deadline ({_MORE_TIME})")
        self._progress.begin(attempt)
        try:
            return self._diagnosed(attempt, deadline)
        except ServiceProblem as problem:
            if problem.status != _NO_SESSION:
                raise
            return self._diagnosed(attempt, deadline)
        finally:
            self._progress.end(attempt)

    def stop(self) -> None:
        """End what is being collected now. What comes of it is not whole, and not to be used."""
        self._stopped.set()

    def _diagnosed(self, attempt: Attempt, deadline: Deadline) -> AttributionBlueprintResult:
        plan = self._collection_plan(deadline)
        context = attempt.context
        ledger = Ledger(asked_window(context, plan.margin_secs))
        opened = self._called(lambda retries: self._client.open(context, retries), deadline)
        session = opened.attributor_id
        submission = Submission(self._client, session, ledger, self._limits, self._patience)
        seen = _Seen()
        for observation in attempt.evidence:
            seen.note(observation)
            submission.add(Item(attempt.found_by, observation), self._patience.retries(_sending_secs(deadline)))
        with closing(collect(self._parts.collectors, attempt, plan, deadline, self._stopped)) as events:
            for event in events:
                items = [event] if isinstance(event, Item) else self._undelivered(event, context, ledger)
                for item in items:
                    seen.note(item.observation)
                    self._progress.saw(attempt, item.observation)
                    submission.add(item, self._patience.retries(_sending_secs(deadline)))
        submission.flush(self._patience.retries(_sending_secs(deadline)))
        submission.mark_damage(self._patience.retries(_sending_secs(deadline)))
        if not context.nodes and (nodes := seen.nodes()):
            context = context.model_copy(update={"nodes": nodes, "inferred": (*context.inferred, "nodes")})
            self._called(lambda retries: self._client.open(context, retries), deadline)
        diagnosis = self._called(lambda retries: self._client.attribution(session, retries), deadline).diagnosis
        if self._ends_sessions:
            self._end(session)
        if diagnosis.catalog.digest != plan.catalog_digest:  # the rules were loaded anew: the next attempt asks again
            self._plan = None
        return AttributionBlueprintResult(
            terminal_state=diagnosis.terminal_state,
            sub_domain=diagnosis.sub_domain,
            context=_owned(context, opened.tenant),
            diagnosis=diagnosis,
            connector_reports=ledger.reports(diagnosis.coverage),
        )

    def _end(self, session: str) -> None:
        """Let the Service forget a session. One that it does not forget now ends by itself when it is idle."""
        with suppress(ServiceError):
            self._client.end(session)

    def _called(self, call: Callable[[Retries], Any], deadline: Deadline) -> Any:
        """A call that the attempt cannot do without, within the time that is left."""
        try:
            answer = call(self._patience.retries(deadline.left_secs()))
        except ServiceError as error:
            self._patience.note(error)
            raise
        self._patience.note(None)
        return answer

    def _collection_plan(self, deadline: Deadline) -> CollectionPlan:
        with self._lock:
            plan = self._plan
        if plan is None:
            plan = self._called(self._client.plan, deadline)
            with self._lock:
                self._plan = plan
        return plan

    def _undelivered(self, ended: Ended, context: ExecutionContext, ledger: Ledger) -> list[Item]:
        """What a connector that failed, or is late, did not deliver: an observation for each source and node."""
        if ended.failure is None:
            return []
        name = ended.connector
        sources = self._parts.collectors[name].sources
        asked = {(source, node) for source in sources for node in _names(context)} | set(ledger.delivered_by(name))
        if not asked:
            if not ended.is_late:
                raise AttemptError(Failed.EVIDENCE, f"{name}: {ended.failure}")
            raise AttemptError(Failed.UNAVAILABLE, f"{name} delivered nothing before the deadline")
        items = []
        for source, node in sorted(asked, key=lambda pair: (pair[0].value, pair[1] or "")):
            status = Status.SKIPPED if ended.failure == DEADLINE else Status.ERROR
            status = Status.PARTIAL if ledger.knows(name, source, node) else status
            told = Observation(source=source, node=node, stream=f"({name})", status=status, reason=ended.failure)
            items.append(Item(name, told))
        return items

    # --- write --------------------------------------------------------------------------------------------------------

    def _finish(self, attempt: Attempt, future: "Future[AttributionBlueprintResult]", summary: Summary) -> None:
        """Wait for one attempt and give its result to every sink."""
        while not wait([future], _POLL_SECS).done:  # a signal just before a wait without end would be seen after it
            for sentence in self._progress.due():
                self._tell(sentence)
        try:
            result = future.result()
        except AttemptError as error:
            self._failed(attempt, error.kind, str(error), summary)
        except ServiceError as error:
            self._failed(attempt, Failed.UNAVAILABLE, str(error), summary)
        except Exception as error:  # one attempt that breaks something does not stop the others
            self._failed(attempt, Failed.INTERNAL, f"internal error: {one_line(error)}", summary)
        else:
            summary.diagnosed += 1
            taken = [self._write(name, sink, attempt, result, summary) for name, sink in self._parts.sinks.items()]
            if self._spare is not None and not any(taken):
                self._tell(f"{attempt.label}: no sink took the result, so it is printed as JSON")
                self._write("standard output", self._spare, attempt, result, summary)

    def _failed(self, attempt: Attempt, kind: Failed, message: str, summary: Summary) -> None:
        summary.failures.append(kind)
        self._tell(f"{attempt.label} ({attempt.origin}): no diagnosis: {message}")

    def _write(
        self, name: str, sink: Sink[Any], attempt: Attempt, result: AttributionBlueprintResult, summary: Summary
    ) -> bool:
        """Whether a sink took the result."""
        try:
            self._deliverer.deliver(name, sink, result, lambda: self.catalog(result.diagnosis.catalog.digest))
        except BrokenPipeError:  # the reader of stdout has seen enough
            raise
        except Exception as error:  # a sink that fails keeps nothing from the others
            summary.failures.append(Failed.UNAVAILABLE)
            self._tell(f"{attempt.label}: {name} did not take the result: {one_line(error)}")
            return False
        return True

    def catalog(self, digest: str) -> CatalogSnapshot:
        """What the Service says of its rules, asked for once for each catalog."""
        if digest not in self._catalogs:
            self._catalogs.clear()  # a run that stays sees many
            self._catalogs[digest] = self._client.catalog(self._patience.retries(None))
        return self._catalogs[digest]


@dataclass(frozen=True, slots=True)
class _Task:
    """One attempt to be done by a worker."""

    orchestrator: Orchestrator
    attempt: Attempt
    deadline: Deadline

    def __call__(self) -> AttributionBlueprintResult:
        return self.orchestrator.diagnosed(self.attempt, self.deadline)


@dataclass(slots=True)
class _Seen:
    """The nodes that observations name, for a context that names none."""

    ranks: dict[str, set[int]] = field(default_factory=dict)

    def note(self, observation: Observation) -> None:
        if observation.node is not None:
            held = self.ranks.setdefault(observation.node, set())
            held |= set() if observation.rank is None else {observation.rank}

    def nodes(self) -> tuple[Node, ...]:
        return tuple(Node(name=name, ranks=tuple(sorted(self.ranks[name]))) for name in sorted(self.ranks))


def _owned(context: ExecutionContext, tenant: str | None) -> ExecutionContext:
    """The context of a result, which says whose it is. The Service is not told: it would be another input."""
    return context if tenant is None else context.model_copy(update={"tenant": tenant})


def _names(context: ExecutionContext) -> tuple[str | None, ...]:
    return tuple(node.name for node in context.nodes) or (None,)


def _sending_secs(deadline: Deadline) -> float | None:
    """How long a submission may take: half of what is left must stay for the diagnosis."""
    left = deadline.left_secs()
    return None if left is None else left / 2
