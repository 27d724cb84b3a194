"""`attribution run`: the Blueprint, over the attempts that are found or asked for, once or for good."""

import argparse
import logging
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import NoReturn

from attribution.blueprint.attempt import Query
from attribution.blueprint.connectors.base import Kind
from attribution.blueprint.connectors.context.ad_hoc import AdHoc, AdHocSettings, describes_attempt
from attribution.blueprint.connectors.registry import Registry, find_connectors
from attribution.blueprint.connectors.sinks.stdout import Form, Stdout, StdoutSettings
from attribution.blueprint.deadline import Deadline
from attribution.blueprint.hostlist import HostlistError, expand
from attribution.blueprint.orchestrator import Failed, Orchestrator, Parts, Summary
from attribution.blueprint.settings import BlueprintSettings, Endpoint, configured, load_settings, settings_model
from attribution.cli import watch
from attribution.cli.examination import examined, is_well, tell
from attribution.cli.main import EXIT_EVIDENCE, EXIT_INTERNAL, EXIT_POLICY, EXIT_UNAVAILABLE
from attribution.client.client import AttributionClient
from attribution.client.in_process import InProcess
from attribution.configuration.flags import add_flags, given_flags
from attribution.configuration.show import show
from attribution.contracts.errors import ConfigurationError, Place, Problem
from attribution.presentation.columns import visible

_EXIT = {Failed.EVIDENCE: EXIT_EVIDENCE, Failed.UNAVAILABLE: EXIT_UNAVAILABLE, Failed.INTERNAL: EXIT_INTERNAL}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command, among them one for each setting of each connector that is installed."""
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings as YAML; variables and flags go over it")
    parser.add_argument("--watch", action="store_true", help="stay, and diagnose each attempt once soon after it ended")
    parser.add_argument("--job", metavar="ID", help="only this job, by the scheduler's id or the workload's")
    parser.add_argument("--workload", metavar="NAME", help="only this workload, by its id or name")
    parser.add_argument("--nodes", metavar="LIST", help="only what ran on these nodes, such as node-[01-04],node-07")
    parser.add_argument("--start", metavar="TIME", help="only what ran after this time: 2026-05-04T03:00:00Z")
    parser.add_argument("--end", metavar="TIME", help="only what ran before this time, written likewise")
    parser.add_argument("--format", choices=[form.value for form in Form], help="the same as --sinks-stdout-format")
    parser.add_argument(
        "--rules",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="a folder of your own rules, if no Service is named",
    )
    parser.add_argument("--show-config", action="store_true", help="print the settings in force, and stop")
    parser.add_argument(
        "--check",
        action="store_true",
        help="look at everything that a run needs, as `attribution doctor` does, and stop",
    )
    registry = find_connectors()
    add_flags(parser, settings_model(registry))
    parser.set_defaults(registry=registry)


def run(options: argparse.Namespace) -> int:
    """Diagnose what is found, and answer how that went."""
    registry: Registry = options.registry
    for name, why in sorted(registry.broken.items()):
        _tell(f"connector `{name}` {why}")
    settings, origins = load_settings(registry, options.config, os.environ, _flags(options))
    query = _query(options)
    if options.show_config:
        for line in show(settings, origins):
            print(line)
        return 0
    signal.signal(signal.SIGTERM, _terminated)
    if options.watch and query.is_narrow:
        remedy = "leave out --watch, or --job, --workload, --nodes, --start and --end"
        raise ConfigurationError(
            [Problem(Place("--watch"), "P008", "takes all there is, not what is asked for", remedy)]
        )
    with closing(parts_of(settings, registry)) as parts:
        if options.check:
            return _checked(settings, parts, registry, options.rules)
        _require_attempts(parts, query)
        parts.open()  # a run begins nothing that it cannot finish
        with ExitStack() as stack:
            prepared = stack.enter_context(watch.prepared(settings, origins)) if options.watch else None
            client = stack.enter_context(_client(settings, options.rules))
            if prepared is not None:
                return watch.run(prepared, client, parts, settings)
            return _run(client, parts, settings, query)


def _checked(settings: BlueprintSettings, parts: Parts, registry: Registry, rules: list[Path]) -> int:
    """Look at everything as `attribution doctor` does, and at the rules that were named."""
    if rules:
        with _client(settings, rules):
            print(f"ok       the rules of {', '.join(visible(str(folder)) for folder in rules)} can be used")
    findings = examined(settings, parts, registry)
    tell(findings)
    return 0 if is_well(findings) else EXIT_POLICY


def _run(client: AttributionClient, parts: Parts, settings: BlueprintSettings, query: Query) -> int:
    """Diagnose. The deadline counts from here, where the Service is there to be asked."""
    orchestrator = Orchestrator(
        client,
        parts,
        _tell,
        workers=settings.workers,
        cluster=settings.cluster,
        tenant=settings.tenant,
        retries=settings.service.retries,
        limits=settings.service.limits,
        spare=Stdout(StdoutSettings(format=Form.JSON)),
        deliveries=settings.deliveries,
    )
    return _ended(orchestrator.run(query, Deadline.after(settings.deadline_secs)), query)


def _terminated(number: int, frame: FrameType | None) -> NoReturn:
    """End as Ctrl-C does, so that nothing of the Service within this process is left."""
    sys.exit(128 + number)


def _tell(message: str) -> None:
    print(f"attribution: {visible(message)}", file=sys.stderr, flush=True)


def _flags(options: argparse.Namespace) -> Mapping[str, str]:
    flags = dict(given_flags(options))
    return flags if options.format is None else {"sinks.stdout.format": options.format, **flags}


def parts_of(settings: BlueprintSettings, registry: Registry) -> Parts:
    """The connectors that are configured; without one that finds attempts, the query says what to look at."""
    found = {kind: configured(settings, registry, kind) for kind in Kind}
    contexts = found[Kind.CONTEXT] or {"context": AdHoc(AdHocSettings())}
    return Parts(contexts, found[Kind.LOGS] | found[Kind.METRICS], found[Kind.SINKS])


def _require_attempts(parts: Parts, query: Query) -> None:
    """Raise ConfigurationError (P006) if nothing says where attempts are to be found."""
    if all(isinstance(connector, AdHoc) for connector in parts.contexts.values()) and not describes_attempt(query):
        remedy = "give --context-static-bundles, or --nodes, --start and --end, or a connector in the section `context`"
        raise ConfigurationError([Problem(Place("context"), "P006", "does not say where attempts are", remedy)])


def _ended(summary: Summary, query: Query) -> int:
    """Say how the run went, and answer its exit code: that of the worst thing that went wrong."""
    if not summary.found and not summary.failures:
        _tell(f"no attempt was found{f' for {query}' if query.is_narrow else ''}")
        return EXIT_EVIDENCE if query.is_narrow else 0
    if summary.found > 1:
        missing = summary.found - summary.diagnosed
        _tell(
            f"{summary.diagnosed} of {summary.found} attempts diagnosed"
            if missing
            else f"{summary.found} attempts diagnosed"
        )
    return max((_EXIT[kind] for kind in summary.failures), default=0)


# --- the question -----------------------------------------------------------------------------------------------------


def _query(options: argparse.Namespace) -> Query:
    """What the flags ask for. Raises ConfigurationError (P002 to P004)."""
    problems: list[Problem] = []
    nodes: tuple[str, ...] = ()
    if options.nodes is not None:
        try:
            nodes = expand(options.nodes)
        except HostlistError as error:
            problems.append(Problem(Place("--nodes"), "P002", str(error), "write node-[01-04],node-07"))
    start = _time("--start", options.start, problems)
    end = _time("--end", options.end, problems)
    if start and end and end < start:
        problems.append(Problem(Place("--end"), "P004", "is before --start", "give the later time last"))
    if problems:
        raise ConfigurationError(problems)
    return Query(options.job, options.workload, nodes, start, end)


def _time(flag: str, text: str | None, problems: list[Problem]) -> datetime | None:
    if text is None:
        return None
    remedy = "write a time with its offset, such as 2026-05-04T03:00:00Z"
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is None:
            problems.append(Problem(Place(flag), "P003", f"has `{text[:60]}`, which lacks its offset from UTC", remedy))
            return None
        return found.astimezone(UTC)
    except (ValueError, OverflowError):
        problems.append(Problem(Place(flag), "P003", f"has `{text[:60]}`, which is no time", remedy))
        return None


# --- the Service ------------------------------------------------------------------------------------------------------


@contextmanager
def _client(settings: BlueprintSettings, rules: list[Path]) -> Iterator[AttributionClient]:
    """A client of the Service that is configured, or of one that runs within this process and ends with it."""
    endpoint = settings.service
    if endpoint.url is None:
        with _in_process(rules) as transport, _connected(endpoint, "http://localhost", transport) as client:
            yield client
        return
    if rules:
        remedy = "give --rules to `attribution serve`"
        raise ConfigurationError([Problem(Place("--rules"), "P005", "has no effect on another Service", remedy)])
    with _connected(endpoint, endpoint.url) as client:
        yield client


def _connected(endpoint: Endpoint, url: str, transport: InProcess | None = None) -> AttributionClient:
    return AttributionClient(
        url,
        endpoint.token.get_secret_value() if endpoint.token else None,
        transport,
        timeout_secs=endpoint.timeout_secs,
        answer_timeout_secs=endpoint.answer_timeout_secs,
        retries=endpoint.retries,
        limits=endpoint.limits,
    )


@contextmanager
def _in_process(rules: list[Path]) -> Iterator[InProcess]:
    """The Service within this process. What it is told is kept in a folder that is deleted in the end."""
    from attribution.cli.serve import build
    from attribution.service import logs
    from attribution.service.settings import ServiceSettings
    from attribution.store.database import open_store

    _tell("no Service is configured (service.url), so one runs within this process; its sessions end with it")
    logs.configure("text")
    logging.getLogger("attribution").setLevel(logging.WARNING)
    with (
        tempfile.TemporaryDirectory(prefix="attribution-") as folder,
        closing(open_store(f"{folder}/sessions.db")) as store,
    ):
        app = build(ServiceSettings(rules=tuple(rules)), store)
        yield InProcess(app, app.router.lifespan_context(app))
