"""`attribution rules list|check|new|diff|lock`: what is in the catalog, whether it holds, and how it grows."""

import argparse

from attribution.cli import rules_check, rules_diff, rules_list, rules_lock, rules_new

_ACTIONS = {"list": rules_list, "check": rules_check, "new": rules_new, "diff": rules_diff, "lock": rules_lock}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, module in _ACTIONS.items():
        description = module.HELP[0].upper() + module.HELP[1:] + "."
        module.add_arguments(actions.add_parser(name, help=module.HELP, description=description))


def run(options: argparse.Namespace) -> int:
    """Run the action that was asked for."""
    return int(_ACTIONS[options.action].run(options))
