"""`attribution doctor`: looks at everything that a run of the Blueprint needs, and says what to put right."""

import argparse
import json
import os
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from attribution.blueprint.connectors.registry import Registry, find_connectors
from attribution.blueprint.orchestrator import Parts
from attribution.blueprint.settings import BlueprintSettings, load_settings, settings_model
from attribution.cli.checkup import Check, Finding, Health, connector_checks, run_checks, service_checks, store_check
from attribution.cli.run import parts_of
from attribution.cli.watch import store_url
from attribution.configuration.flags import add_flags, given_flags
from attribution.presentation.columns import visible

EXIT_BROKEN = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command: those of `attribution run` that set something."""
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings as YAML; variables and flags go over it")
    parser.add_argument("--format", choices=["text", "json"], default="text", help="how to say it (default: text)")
    parser.add_argument(
        "--timeout-secs", type=float, default=30.0, metavar="SECS", help="how long the checks may take (default: 30)"
    )
    registry = find_connectors()
    add_flags(parser, settings_model(registry))
    parser.set_defaults(registry=registry)


def run(options: argparse.Namespace) -> int:
    """Look at everything at once. 0 if nothing is broken, else 1."""
    registry: Registry = options.registry
    settings, _ = load_settings(registry, options.config, os.environ, given_flags(options))
    with closing(parts_of(settings, registry)) as parts:
        findings = list(run_checks(_checks(settings, parts, registry), options.timeout_secs))
    broken = any(finding.health is Health.BROKEN for finding in findings)
    if options.format == "json":
        print(json.dumps({"ok": not broken, "findings": [asdict(finding) for finding in findings]}, indent=2))
    else:
        _print(findings)
    return EXIT_BROKEN if broken else 0


def _checks(settings: BlueprintSettings, parts: Parts, registry: Registry) -> list[Check]:
    connectors = connector_checks(parts, registry)
    return [*service_checks(settings), *connectors, store_check(store_url(settings))]


def _print(findings: list[Finding]) -> None:
    """One line each, and what to do below it."""
    room = max(len(finding.what) for finding in findings)
    for finding in findings:
        print(f"{finding.health.value:<8} {visible(finding.what):<{room}}  {visible(finding.text)}")
        if finding.remedy and finding.health is not Health.OK:
            print(f"{'':<8} {'':<{room}}  -> {visible(finding.remedy)}")
