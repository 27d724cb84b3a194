"""`attribution doctor`: looks at everything that a run of the Blueprint needs, and says what to put right."""

import argparse
import json
import os
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from attribution.blueprint.connectors.registry import Registry, find_connectors
from attribution.blueprint.settings import load_settings, settings_model
from attribution.cli.examination import TIMEOUT_SECS, examined, is_well, tell
from attribution.cli.main import EXIT_POLICY
from attribution.cli.run import parts_of
from attribution.configuration.flags import add_flags, given_flags


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command: those of `attribution run` that set something."""
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings as YAML; variables and flags go over it")
    parser.add_argument("--format", choices=["text", "json"], default="text", help="how to say it (default: text)")
    parser.add_argument(
        "--timeout-secs",
        type=float,
        default=TIMEOUT_SECS,
        metavar="SECS",
        help="how long the checks may take (default: 30)",
    )
    registry = find_connectors()
    add_flags(parser, settings_model(registry))
    parser.set_defaults(registry=registry)


def run(options: argparse.Namespace) -> int:
    """Look at everything at once. 0 if nothing is broken, else 1."""
    registry: Registry = options.registry
    settings, _ = load_settings(registry, options.config, os.environ, given_flags(options))
    with closing(parts_of(settings, registry)) as parts:
        findings = examined(settings, parts, registry, options.timeout_secs)
    if options.format == "json":
        print(json.dumps({"ok": is_well(findings), "findings": [asdict(finding) for finding in findings]}, indent=2))
    else:
        tell(findings)
    return 0 if is_well(findings) else EXIT_POLICY
