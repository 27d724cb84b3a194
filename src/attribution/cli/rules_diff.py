"""`attribution rules diff OLD NEW CORPUS`: which diagnoses of a corpus move when the rules change."""

import argparse

HELP = "tell which diagnoses of a corpus move when the rules change"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """x"""


def run(options: argparse.Namespace) -> int:
    """x"""
    return 0
