"""A Service over the shipped catalog and an empty store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from attribution.extraction.ruleset import RuleSets

from tests.service.helpers import Desk, serving


@pytest.fixture
def desk(shipped: RuleSets, tmp_path: Path) -> Iterator[Desk]:
    """A Service without tokens."""
    with serving(shipped, tmp_path) as found:
        yield found
