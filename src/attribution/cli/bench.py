"""`attribution bench accuracy`: how good the answers are."""

import argparse

from attribution.cli import bench_accuracy

_ACTIONS = {"accuracy": bench_accuracy}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, module in _ACTIONS.items():
        description = module.HELP[0].upper() + module.HELP[1:] + "."
        module.add_arguments(actions.add_parser(name, help=module.HELP, description=description))


def run(options: argparse.Namespace) -> int:
    """Run the action that was asked for."""
    return int(_ACTIONS[options.action].run(options))
