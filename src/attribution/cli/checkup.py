"""What `attribution doctor` looks at: each check says what it found and, where that is not right, what to do."""

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import Any

from sqlalchemy import delete, false

from attribution.blueprint.connectors.base import Connector, ConnectorError
from attribution.blueprint.connectors.context.ad_hoc import AdHoc
from attribution.blueprint.connectors.foreign import one_line
from attribution.blueprint.connectors.registry import Registry
from attribution.blueprint.orchestrator import Parts
from attribution.blueprint.settings import BlueprintSettings, Endpoint
from attribution.client.client import AttributionClient
from attribution.client.errors import ServiceError, ServiceProblem
from attribution.client.retry import NO_RETRIES
from attribution.configuration.secrets import without_secrets
from attribution.contracts.errors import AttributionError, ConfigurationError
from attribution.store.address import SqliteAddress, address
from attribution.store.backlog import Backlog
from attribution.store.database import Store, open_store
from attribution.store.outbox import DeliveryState, Outbox, Undone
from attribution.store.schema import watch_memory

_SETTINGS = "see the settings of `{}`: attribution run --show-config"
_CLOCK_WARNING_SECS, _CLOCK_BROKEN_SECS = 3.0, 300.0


class Health(StrEnum):
    """How a thing is."""

    OK = "ok"
    WARNING = "warning"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of one thing. `remedy` says what to do where it is not well."""

    what: str
    health: Health
    text: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look at, once the check of the thing `after` has ended. `look` may take long and may raise."""

    what: str
    look: Callable[[], Sequence[Finding]]
    remedy: str
    after: str | None = None


def run_checks(checks: Sequence[Check], timeout_secs: float) -> Iterator[Finding]:
    """What the checks find, in their order. They run side by side, and one that does not end in time is broken."""
    found: dict[str, Sequence[Finding]] = {}
    threads: dict[str, threading.Thread] = {}

    def work(check: Check, before: threading.Thread | None) -> None:
        if before is not None:
            before.join()
        found[check.what] = _looked(check)

    for check in checks:
        before = threads.get(check.after or "")
        threads[check.what] = threading.Thread(target=work, args=(check, before), daemon=True)
        threads[check.what].start()
    until = time.monotonic() + timeout_secs
    for check in checks:
        threads[check.what].join(max(0.0, until - time.monotonic()))
        yield from found[check.what] if check.what in found else [_late(check, threads, timeout_secs)]


def _late(check: Check, threads: Mapping[str, threading.Thread], timeout_secs: float) -> Finding:
    before = threads.get(check.after or "")
    if before is not None and before.is_alive():
        text = f"was not looked at: `{check.after}`, which comes before it, did not answer within {timeout_secs:g} s"
        return Finding(check.what, Health.BROKEN, text, f"see `{check.after}`")
    return Finding(check.what, Health.BROKEN, f"did not answer within {timeout_secs:g} s", check.remedy)


def _looked(check: Check) -> Sequence[Finding]:
    try:
        return check.look()
    except AttributionError as error:
        return [
            Finding(check.what, Health.BROKEN, f"{problem.place}: {problem.message}", problem.remedy or check.remedy)
            for problem in error.problems
        ]
    except Exception as error:  # whatever a connector of somebody else raises
        return [Finding(check.what, Health.BROKEN, one_line(error), check.remedy)]


# --- connectors -------------------------------------------------------------------------------------------------------


def connector_checks(parts: Parts, registry: Registry) -> Iterator[Check]:
    """One check for each connector in use and for the programs it starts; one for those that cannot be loaded."""
    if all(isinstance(connector, AdHoc) for connector in parts.contexts.values()):
        text = "no connector finds attempts: only nodes and a span of time can be asked for"
        none = Finding("context", Health.WARNING, text, "configure one in the section `context`")
        yield Check("context", lambda: [none], "")
    programs: set[str] = set()
    for place, connector in parts.all():
        if isinstance(connector, AdHoc):
            continue
        remedy = _SETTINGS.format(place)
        yield Check(place, lambda place=place, its=connector: [_connector(place, its)], remedy)  # type: ignore[misc]
        for program in sorted({*connector.programs()} - programs):
            programs.add(program)
            what = f"program {program}"
            yield Check(what, lambda what=what, its=program: [_program(what, its)], "")  # type: ignore[misc]
    if registry.broken:
        yield Check("packages", lambda: list(_packages(registry)), "")


def _connector(place: str, connector: Connector[Any]) -> Finding:
    try:
        return Finding(place, Health.OK, connector.check())
    except ConnectorError as error:
        remedy = _SETTINGS.format(place)
        return Finding(place, Health.BROKEN, one_line(error), remedy)


def _program(what: str, program: str) -> Finding:
    found = shutil.which(program)
    if found is not None:
        return Finding(what, Health.OK, f"is {found}")
    if os.sep in program and Path(program).exists():
        return Finding(what, Health.BROKEN, "may not be executed", "check its permissions")
    remedy = "install it on this machine, or set the connector's path to it"
    return Finding(what, Health.BROKEN, "does not exist" if os.sep in program else "is not on PATH", remedy)


def _packages(registry: Registry) -> Iterator[Finding]:
    for name, why in sorted(registry.broken.items()):
        yield Finding(f"connector {name}", Health.WARNING, why, "update the package that declares it, or remove it")


# --- the Service ------------------------------------------------------------------------------------------------------


def service_checks(settings: BlueprintSettings) -> Iterator[Check]:
    """Whether the Service answers us, and whether its clock is ours."""
    endpoint = settings.service
    if endpoint.url is None:
        text = "runs within the process of each run (service.url is not set)"
        yield Check("service", lambda: [Finding("service", Health.OK, text)], "")
        return
    remedy = "start `attribution serve` there, or set service.url to where it runs"
    yield Check("service", lambda: [_service(endpoint, remedy)], remedy)
    yield Check("clock", lambda: [_clock(endpoint)], remedy)


def _service(endpoint: Endpoint, remedy: str) -> Finding:
    assert endpoint.url is not None
    shown = without_secrets(endpoint.url)
    try:
        with _client(endpoint) as client:
            plan = client.plan(NO_RETRIES)
    except ServiceProblem as problem:
        if problem.status not in {401, 403}:
            return Finding("service", Health.BROKEN, one_line(problem), "look at the log of the Service")
        remedy = "set service.token_file to a file with a token of the Service's tokens file"
        text = "refuses the token" if endpoint.token else "asks for a token, and none is set"
        return Finding("service", Health.BROKEN, f"{shown} {text}", remedy)
    except ServiceError as error:
        return Finding("service", Health.BROKEN, one_line(error), remedy)
    text = f"answers at {shown}, with rules for {len(plan.sources)} sources (catalog {plan.catalog_digest[:12]})"
    return Finding("service", Health.OK, text)


def _client(endpoint: Endpoint) -> AttributionClient:
    assert endpoint.url is not None
    token = endpoint.token.get_secret_value() if endpoint.token else None
    return AttributionClient(endpoint.url, token, timeout_secs=endpoint.timeout_secs)


def _clock(endpoint: Endpoint) -> Finding:
    """How far the Service's clock is from ours; its Date has whole seconds."""
    try:
        with _client(endpoint) as client:
            before = datetime.now(UTC)
            told = client.told_time(NO_RETRIES)
            after = datetime.now(UTC)
        theirs = parsedate_to_datetime(told).astimezone(UTC)
    except ServiceError:
        return Finding("clock", Health.WARNING, "cannot be compared: the Service does not answer", "see `service`")
    except ValueError:
        remedy = "have whatever stands before the Service keep its Date header"
        return Finding("clock", Health.WARNING, "cannot be compared: the Service does not tell its time", remedy)
    early, late = (before - theirs).total_seconds() - 1.0, (after - theirs).total_seconds()
    off = max(0.0, early, -late)
    if off <= _CLOCK_WARNING_SECS:
        return Finding("clock", Health.OK, "agrees with the Service's")
    text = f"is {off:.0f} s {'ahead of' if early > 0 else 'behind'} the Service's"
    health = Health.BROKEN if off > _CLOCK_BROKEN_SECS else Health.WARNING
    return Finding("clock", health, text, "have both machines keep time with chrony or another NTP client")


# --- the store --------------------------------------------------------------------------------------------------------


def store_check(url: str, sinks: Collection[str]) -> Check:
    """Whether the store of `--watch` can be used, and what it remembers that did not go well.

    The sink `database` may make the store, which would be half made if it were looked at meanwhile.
    """
    remedy = "see watch.store, or the database that it names"
    return Check("store", lambda: _store(url, sinks), remedy, after="sinks.database")


def _store(url: str, sinks: Collection[str]) -> list[Finding]:
    where = address(url)
    if isinstance(where, SqliteAddress) and not where.path.exists():
        return [_not_made(where)]
    try:
        open_store(url, read_only=True).close()
    except ConfigurationError as error:
        (problem,) = error.problems
        if problem.code not in {"T006", "T007"}:
            raise
        return [
            Finding("store", Health.WARNING, f"{where.shown} {problem.message}", "the next run of this version does it")
        ]
    with closing(open_store(url)) as store:
        with store.write() as connection:
            connection.execute(delete(watch_memory).where(false()))
        return [Finding("store", Health.OK, f"{store.place} can be read and written"), *_remembered(store, sinks)]


def _not_made(where: SqliteAddress) -> Finding:
    """Whether the store can be made: one of the same name is, beside it, and goes again.

    What a user may do is not asked: one who may do all cannot write to what is read-only, or no file system at all.
    """
    folder = next(parent for parent in where.path.parents if parent.exists())
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".attribution-") as probe:
            open_store(str(Path(probe) / where.path.relative_to(folder))).close()
    except (OSError, ConfigurationError) as error:
        why = error.problems[0].message if isinstance(error, ConfigurationError) else error.strerror or str(error)
        text = f"{where.shown} cannot be made in {folder}: {why}"
        return Finding("store", Health.BROKEN, text, "let this user write there, or set watch.store")
    return Finding("store", Health.OK, f"{where.shown} does not exist yet; the first run that needs it makes it")


def _remembered(store: Store, sinks: Collection[str]) -> Iterator[Finding]:
    """What was given up, what no sink took, and what still waits."""
    counts = Backlog(store).counts(datetime.now(UTC))
    waiting = counts["waiting"] + counts["working"]
    yield Finding("attempts", Health.OK, f"{counts['diagnosed']:,} diagnosed, {waiting:,} to be done")
    for one in Backlog(store).given_up(1):
        text = f"{counts['given_up']:,} given up, the last of them {one.label} ({one.origin}): {one.reason}"
        remedy = "once that is mended, diagnose it by hand: attribution run --job ID"
        yield Finding("attempts", Health.WARNING, text, remedy)
    for sink, group in groupby(Outbox(store).undone(), lambda undone: undone.sink):
        told = [_undone(undone, store, sink in sinks) for undone in group]
        health = Health.WARNING if any(one.health is Health.WARNING for one in told) else Health.OK
        remedy = "; ".join(one.remedy for one in told if one.remedy)
        yield Finding(f"sink {sink}", health, "; ".join(one.text for one in told), remedy)


def _undone(undone: Undone, store: Store, is_configured: bool) -> Finding:
    """Results that a sink has not taken, and what to do about it."""
    results = "1 result" if undone.count == 1 else f"{undone.count:,} results"
    since = f"{undone.since.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    if undone.state is DeliveryState.FAILED:
        last = "".join(f", the last of them {one.label}: {one.reason}" for one in Outbox(store).failed(1, undone.sink))
        remedy = "what failed is kept in the store; once the sink takes it: attribution run --job ID"
        return Finding(f"sink {undone.sink}", Health.WARNING, f"{results} failed for good since {since}{last}", remedy)
    if not is_configured:
        remedy = f"configure `sinks.{undone.sink}` again, and they are offered to it"
        return Finding(f"sink {undone.sink}", Health.WARNING, f"{results} wait for it since {since}", remedy)
    if undone.reason is None:
        return Finding(f"sink {undone.sink}", Health.OK, f"{results} wait to be offered, the oldest since {since}")
    text = f"{results} not taken yet, the oldest since {since}; the last answer: {undone.reason}"
    remedy = f"put right what it says; they are offered again by `attribution run --watch` (see `sinks.{undone.sink}`)"
    return Finding(f"sink {undone.sink}", Health.WARNING, text, remedy)
