"""Generated attempts are the samples' diagnoses under other names and times, plainly marked and always the same."""

import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from attribution.bundle.reader import open_bundle
from attribution.cli.demo_month import CLUSTER, DAYS, month
from attribution.contracts.result import AttributionBlueprintResult
from attribution.contracts.vocabulary import SubDomain
from attribution.diagnosis.engine import diagnose
from attribution.extraction.ruleset import RuleSets

from tests.conftest import ROOT

NAMES = ("nvlink-signal-integrity", "cgroup-oom", "completed-with-noise")
NOW = datetime(2027, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture(scope="module")
def samples(shipped: RuleSets) -> list[AttributionBlueprintResult]:
    return [_result(ROOT / "samples" / name, shipped) for name in NAMES]


def _result(path: Path, shipped: RuleSets) -> AttributionBlueprintResult:
    with open_bundle(path) as evidence:
        diagnosis = diagnose(evidence, shipped)
        return AttributionBlueprintResult(
            terminal_state=diagnosis.terminal_state,
            sub_domain=diagnosis.sub_domain,
            context=evidence.context,
            diagnosis=diagnosis,
        )


def test_the_same_seed_gives_the_same_month(samples: list[AttributionBlueprintResult]) -> None:
    assert list(month(samples, NOW, 20)) == list(month(samples, NOW, 20))
    assert list(month(samples, NOW, 20)) != list(month(samples, NOW, 20, seed=1))
    assert list(month([], NOW, 20)) == []


def test_each_attempt_is_marked_and_of_the_last_month(samples: list[AttributionBlueprintResult]) -> None:
    made = list(month(samples, NOW, 60))
    assert len({item.context.workload_id for item in made}) == 60
    for item in made:
        assert item.context.cluster == CLUSTER and item.context.name and item.context.name.endswith("(generated)")
        assert item.context.workload_id == item.diagnosis.workload_id
        ended = item.context.ended_at
        assert ended and NOW - timedelta(days=DAYS, minutes=1) <= ended <= NOW
        old = {
            name for sample in samples for name in (*(n.name for n in sample.context.nodes), sample.context.workload_id)
        }
        left = set(re.findall(r"[\w-]+", item.model_dump_json())) & old
        assert not left, "no name of a sample is left"


def test_lines_and_times_moved_together(samples: list[AttributionBlueprintResult]) -> None:
    for item in month(samples, NOW, 60):
        assert set(item.diagnosis.affected_nodes) <= {node.name for node in item.context.nodes}
        for evidence in item.diagnosis.evidence:
            clock = re.search(r"(\d\d:\d\d:\d\d)", evidence.text)
            if evidence.at and clock and not evidence.at_uncertainty_secs:
                assert f"{evidence.at:%H:%M}" in evidence.text, evidence.text


def test_some_nodes_are_blamed_more_than_their_share(samples: list[AttributionBlueprintResult]) -> None:
    blamed = Counter(
        item.diagnosis.causes[0].node for item in month(samples, NOW, 200) if item.sub_domain is SubDomain.NVLINK_FABRIC
    )
    (first, most), (_, second) = blamed.most_common(2)
    assert first == "node-017" and most > 5 * second


def test_a_stamp_that_is_none_stays(samples: list[AttributionBlueprintResult]) -> None:
    document = json.loads(samples[0].model_dump_json())
    document["diagnosis"]["notes"] = ["at 9999-99-99 99:99:99, Feb 31 01:02:03 and E9999 01:02:03"]
    made = next(month([AttributionBlueprintResult.model_validate(document)], NOW, 1))
    assert made.diagnosis.notes == tuple(document["diagnosis"]["notes"])
