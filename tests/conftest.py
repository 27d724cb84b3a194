"""What several tests share: the shipped catalog, loaded once, and small evidence made by hand."""

from pathlib import Path

import pytest

from attribution.cli.catalog import load_rules
from attribution.extraction.ruleset import RuleSets

from tests.postgres import postgres_server, store_url

__all__ = ["postgres_server", "store_url"]

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = sorted(p for p in (ROOT / "samples").iterdir() if p.is_dir())


@pytest.fixture(scope="session")
def shipped() -> RuleSets:
    """The shipped catalog."""
    return load_rules()


@pytest.fixture
def root() -> Path:
    """The root of the repository."""
    return ROOT
