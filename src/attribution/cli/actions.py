"""A command that is a family of actions hands its flags and its work to one module for each of them."""

import argparse
from collections.abc import Mapping
from types import ModuleType


def add_actions(parser: argparse.ArgumentParser, actions: Mapping[str, ModuleType]) -> None:
    """The flags of each action, below its name."""
    found = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, module in actions.items():
        description = module.HELP[0].upper() + module.HELP[1:] + "."
        module.add_arguments(found.add_parser(name, help=module.HELP, description=description))


def run_action(options: argparse.Namespace, actions: Mapping[str, ModuleType]) -> int:
    """Run the action that was asked for."""
    return int(actions[options.action].run(options))
