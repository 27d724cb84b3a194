"""`attribution bench accuracy`: how good the answers are."""

import argparse

from attribution.cli import bench_accuracy
from attribution.cli.actions import add_actions, run_action

_ACTIONS = {"accuracy": bench_accuracy}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of the command."""
    add_actions(parser, _ACTIONS)


def run(options: argparse.Namespace) -> int:
    """Run the action that was asked for."""
    return run_action(options, _ACTIONS)
