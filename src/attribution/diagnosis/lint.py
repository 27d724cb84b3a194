"""Everything that `attribution rules check` holds against a catalog that could be loaded."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from attribution.contracts.errors import Problem
from attribution.diagnosis.exercise import unexercised
from attribution.diagnosis.verify import verify
from attribution.extraction.neutral import not_neutral
from attribution.extraction.price import dear_literals
from attribution.extraction.ruleset import RuleSets
from attribution.rules.checks import check_thrift
from attribution.rules.lock import stale


def lint(rules: RuleSets, folders: Sequence[Path]) -> Iterator[Problem]:
    """All problems of a freshly loaded catalog, cases included. Raises ConfigurationError for a bad lock file."""
    catalog = rules.catalog
    yield from chain(
        check_thrift(catalog), dear_literals(rules), not_neutral(catalog), unexercised(catalog), verify(rules)
    )
    for folder in folders:
        yield from stale(catalog, folder)
