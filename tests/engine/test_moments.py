"""A time beyond the calendar is the nearest that the calendar has."""

from datetime import UTC, datetime

import pytest

from attribution.bundle.evidence import assemble
from attribution.contracts.context import ExecutionContext
from attribution.contracts.observation import Observation
from attribution.diagnosis.engine import diagnose
from attribution.events.moment import SECOND, at_us
from attribution.extraction.ruleset import RuleSets


@pytest.mark.parametrize(("us", "year"), [(-(10**17), 1), (10**18, 9999), (0, 1970), (1777864018 * SECOND, 2026)])
def test_every_count_is_some_point_in_time(us: int, year: int) -> None:
    assert at_us(us).year == year
    assert at_us(us).tzinfo is UTC


@pytest.mark.parametrize("start", [datetime.min, datetime.max])
def test_an_attempt_at_the_edge_of_the_calendar_is_diagnosed(shipped: RuleSets, start: datetime) -> None:
    context = ExecutionContext(workload_id="job-7", ended_at=start.replace(tzinfo=UTC))
    evidence, _ = assemble(context, [Observation.model_validate({"source": "applog", "body": "hello\n"})])
    assert diagnose(evidence, shipped).workload_id == "job-7"
