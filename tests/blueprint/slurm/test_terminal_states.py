"""What the records alone say of each ending, all the way through the Service, is how the attempt ended."""

import pytest

from attribution.blueprint.attempt import Query
from attribution.blueprint.connectors.context.slurm import SlurmContexts, SlurmSettings
from attribution.blueprint.deadline import Deadline
from attribution.blueprint.orchestrator import Orchestrator, Parts
from attribution.client.client import AttributionClient
from attribution.contracts.vocabulary import TerminalState

from tests.blueprint.fakes import FakeSink
from tests.blueprint.slurm.conftest import VERSIONS, Fake
from tests.blueprint.slurm.test_slurm import ENDINGS, NOW

EXPECTED = {
    "101": TerminalState.TIMED_OUT,
    "109": TerminalState.OUT_OF_MEMORY,
    "110": TerminalState.OUT_OF_MEMORY,
    "113": TerminalState.CANCELLED,
    "114": TerminalState.CANCELLED,
    "115": TerminalState.CANCELLED,
    "116": TerminalState.LAUNCH_FAILED,
    "117": TerminalState.LAUNCH_FAILED,
    "118": TerminalState.LAUNCH_FAILED,
    "120_[4-5]": TerminalState.CANCELLED,
    "140": TerminalState.PREEMPTED,
    "141": TerminalState.PREEMPTED,
    "142": TerminalState.NODE_FAILED,
    "143": TerminalState.NODE_FAILED,
    "144": TerminalState.LAUNCH_FAILED,
}
"""All others failed."""


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_every_ending_is_named(fake: Fake, service: AttributionClient, version: str) -> None:
    fake(version)
    sink, told = FakeSink(), []
    connector = SlurmContexts(SlurmSettings(), now=lambda: NOW)
    Orchestrator(service, Parts({"slurm": connector}, {}, {"sink": sink}), told.append).run(Query(), Deadline())
    assert told == []
    said = {result.context.workload_id: result.terminal_state for result in sink.results}
    known = {workload for workload, _ in ENDINGS if workload != "111" or version == "22.05"}
    assert said == {workload: EXPECTED.get(workload, TerminalState.FAILED) for workload in known}
    reports = {(report.connector, report.status) for result in sink.results for report in result.connector_reports}
    assert reports == {("slurm", "ok")}
