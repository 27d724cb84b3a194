"""What several tests share: the shipped catalog, loaded once, and small evidence made by hand."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

from attribution.cli.catalog import load_rules
from attribution.extraction.ruleset import RuleSets

from tests.postgres import postgres_server, store_url

__all__ = ["postgres_server", "store_url"]

settings.register_profile("loaded", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("loaded")
"""A loaded machine is no error."""

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = sorted(p for p in (ROOT / "samples").iterdir() if p.is_dir())


@pytest.fixture(autouse=True)
def logs_as_by_default() -> Iterator[None]:
    """A command that a test runs within this process sends the logs to a stream that is closed after the test."""
    yield
    root = logging.getLogger()
    for handler in [found for found in root.handlers if type(found) is logging.StreamHandler]:
        root.removeHandler(handler)
        structlog.reset_defaults()


@pytest.fixture(scope="session")
def shipped() -> RuleSets:
    """The shipped catalog."""
    return load_rules()


@pytest.fixture
def root() -> Path:
    """The root of the repository."""
    return ROOT
