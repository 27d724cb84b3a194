"""The Blueprint and the Service give the bytes that `attribution diagnose` prints, whatever the evidence lies in."""

import json
import shutil
import tarfile
from pathlib import Path

import pytest

from attribution.blueprint.attempt import Query
from attribution.blueprint.connectors.context.static import StaticContexts, StaticSettings
from attribution.blueprint.connectors.logs.local_files import LocalFiles, LocalFilesSettings
from attribution.blueprint.deadline import Deadline
from attribution.blueprint.orchestrator import Orchestrator, Parts
from attribution.bundle.reader import open_bundle
from attribution.client.client import AttributionClient, BatchLimits
from attribution.contracts.result import AttributionBlueprintResult
from attribution.diagnosis.engine import diagnose
from attribution.extraction.ruleset import RuleSets

from tests.blueprint.conftest import FAST
from tests.blueprint.fakes import FakeSink
from tests.conftest import SAMPLES


def through_the_service(
    client: AttributionClient, settings: StaticSettings, piece_bytes: int, limits: BatchLimits
) -> list[AttributionBlueprintResult]:
    """The results of a run over bundles, without anything told."""
    told: list[str] = []
    sink = FakeSink()
    collector = LocalFiles(LocalFilesSettings(piece_bytes=piece_bytes))
    parts = Parts({"static": StaticContexts(settings)}, {"local_files": collector}, {"sink": sink})
    orchestrator = Orchestrator(client, parts, told.append, workers=3, retries=FAST, limits=limits)
    orchestrator.run(Query(), Deadline())
    assert told == []
    return sink.results


def directly(path: Path, rules: RuleSets, context: Path | None = None) -> bytes:
    """What `attribution diagnose` prints."""
    with open_bundle(path, context) as evidence:
        return diagnose(evidence, rules).to_json()


@pytest.mark.parametrize(
    ("piece_bytes", "limits"),
    [(1 << 20, BatchLimits()), pytest.param(1500, BatchLimits(20_000, 7), marks=pytest.mark.slow)],
)
def test_every_sample(service: AttributionClient, shipped: RuleSets, piece_bytes: int, limits: BatchLimits) -> None:
    settings = StaticSettings(bundles=tuple(map(str, SAMPLES)))
    results = through_the_service(service, settings, piece_bytes, limits)
    assert [result.diagnosis.to_json() for result in results] == [directly(path, shipped) for path in SAMPLES]
    for result in results:
        assert {report.status for report in result.connector_reports} <= {"ok", "empty"}
        for report in result.connector_reports:
            assert report.submitted == report.accepted == report.observations > 0


def test_a_second_run_changes_nothing(service: AttributionClient, shipped: RuleSets) -> None:
    settings = StaticSettings(bundles=(str(SAMPLES[0]),))
    for piece_bytes in (1 << 20, 1 << 20, 4096):
        (result,) = through_the_service(service, settings, piece_bytes, BatchLimits())
        assert result.diagnosis.to_json() == directly(SAMPLES[0], shipped)
    assert sum(report.rejected for report in result.connector_reports) == 0


@pytest.mark.parametrize(
    "sample",
    [
        pytest.param(path, id=path.name, marks=[pytest.mark.slow] * (number % 6 > 0))
        for number, path in enumerate(SAMPLES)
    ],
)
def test_bundles_of_every_shape(service: AttributionClient, shipped: RuleSets, tmp_path: Path, sample: Path) -> None:
    """Without a context, as an archive, as loose files, and with things in it that are no evidence."""
    bare = tmp_path / f"{sample.name}-bare"
    shutil.copytree(sample, bare)
    (bare / "context.yaml").unlink()
    (bare / "odd").mkdir()
    (bare / "odd" / "node-02.log.gz").write_bytes(b"\x1f\x8bdamaged")
    (bare / "odd" / "empty.log").touch()
    (bare / "odd" / "noise.bin").write_bytes(bytes(range(256)) * 20)
    (bare / "odd" / "bytes.log").write_bytes(b"2026-05-04T03:00:00Z step \xff\xfe 1\n\xe2\x82 end\n")
    loose = tmp_path / f"{sample.name}-loose"
    loose.mkdir()
    for number, file in enumerate(sorted(path for path in bare.rglob("*") if path.is_file())):
        shutil.copy(file, loose / f"{number}-{file.name}")
    archive = tmp_path / f"{sample.name}.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(sample, sample.name)
    one = max((path for path in sample.rglob("*.log*")), key=lambda path: path.stat().st_size)
    paths = [bare, loose, archive, one]
    settings = StaticSettings(bundles=tuple(map(str, paths)))
    results = through_the_service(service, settings, 3000, BatchLimits(observations=50))
    # The archive is the same attempt as nothing else here: its context names it.
    assert [result.diagnosis.to_json() for result in results] == [directly(path, shipped) for path in paths]
    assert results[0].diagnosis.inferred == ("workload_id", "nodes") == results[0].context.inferred


def test_a_context_that_is_given(service: AttributionClient, shipped: RuleSets, tmp_path: Path) -> None:
    context = {"workload_id": "other", "attempt": 2, "cluster": "example"}
    (tmp_path / "context.json").write_text(json.dumps(context))
    listed = {"attempts": [{**context, "evidence": str(SAMPLES[1])}]}
    (tmp_path / "list.json").write_text(json.dumps(listed))
    settings = StaticSettings(contexts=(tmp_path / "list.json",))
    (result,) = through_the_service(service, settings, 1 << 20, BatchLimits())
    assert result.diagnosis.to_json() == directly(SAMPLES[1], shipped, tmp_path / "context.json")
    assert (result.context.workload_id, result.context.attempt) == ("other", 2)
