"""`attribution`: finds the command, runs it, and turns what goes wrong into a sentence and an exit code.

Exit codes: 0 what was asked for was done, 1 a check that was asked for found something, 2 usage or configuration,
3 evidence could not be read, 69 the Service or a sink was not to be had, 70 internal; docs/deploy.md tells of each.
"""

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from types import ModuleType

import attribution

COMMANDS = {
    "diagnose": "say why the attempt in an evidence bundle failed",
    "explain": "tell what a rule, a symptom or a code means",
    "why-not": "tell why a rule did not fire on a bundle",
    "rules": "list the rules, check them, write a new one, or compare two sets",
    "run": "find attempts, collect their evidence, have it diagnosed, write the results",
    "serve": "answer over HTTP: evidence in, a diagnosis out",
    "web": "show the results of a store as read-only pages",
    "bench": "measure how often the answers are right",
    "doctor": "look at everything that a run needs, and say what to put right",
    "demo": "run Service, Blueprint and pages over the bundled samples",
}
"""Name of each command and what it does; `attribution.cli.<name>` holds it, imported only when it is asked for."""

EXIT_POLICY, EXIT_USAGE, EXIT_EVIDENCE, EXIT_UNAVAILABLE, EXIT_INTERNAL = 1, 2, 3, 69, 70


def parser(command: str | None = None) -> argparse.ArgumentParser:
    """The parser of all commands; only the arguments of `command` are filled in."""
    top = argparse.ArgumentParser(
        prog="attribution",
        description="Tells why a distributed AI workload failed, from its logs, kernel messages and metrics.",
        epilog="`attribution COMMAND --help` tells more of each.",
    )
    top.add_argument("--version", action="version", version=f"attribution {attribution.__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, text in COMMANDS.items():
        sub = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        if name == command:
            _module(name).add_arguments(sub)
    return top


def _module(command: str) -> ModuleType:
    return importlib.import_module("attribution.cli." + command.replace("-", "_"))


def main(arguments: Sequence[str]) -> int:
    """Run one command and answer its exit code."""
    command = next((word for word in arguments if word in COMMANDS), None)
    options = parser(command).parse_args(arguments)
    return int(_module(options.command).run(options))


def run() -> None:
    """The entry point of the `attribution` command."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever called
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that lacks a character shows a `?`
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except KeyboardInterrupt:
        code = 130
    except Exception as error:
        code = explained(error)
    sys.exit(code)


def explained(error: Exception) -> int:
    """Say on stderr what went wrong, one sentence a problem, and answer the exit code."""
    from attribution.cli.manual import shown
    from attribution.contracts.errors import AttributionError
    from attribution.presentation.columns import visible

    if isinstance(error, AttributionError):
        for problem in error.problems:
            print(f"attribution: {shown(problem)}", file=sys.stderr)
        return error.exit_code
    if os.environ.get("ATTRIBUTION_DEBUG"):
        raise error
    print(visible(f"attribution: internal error: {type(error).__name__}: {error}"), file=sys.stderr)
    print("attribution: run again with ATTRIBUTION_DEBUG=1 for the traceback, and please report it", file=sys.stderr)
    return EXIT_INTERNAL
