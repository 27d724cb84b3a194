"""`attribution rules list|check|new|diff|lock`: what is in the catalog, whether it holds, and how it grows."""

import argparse

from attribution.cli import rules_check, rules_diff, rules_list, rules_lock, rules_new
from attribution.cli.actions import add_actions, run_action

_ACTIONS = {"list": rules_list, "check": rules_check, "new": rules_new, "diff": rules_diff, "lock": rules_lock}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command."""
    add_actions(parser, _ACTIONS)


def run(options: argparse.Namespace) -> int:
    """Run the action that was asked for."""
    return run_action(options, _ACTIONS)
