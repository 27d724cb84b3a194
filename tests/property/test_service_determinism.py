"""The Service gives the bytes of the command line, however evidence is ordered, cut, repeated and asked in between."""

import json
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attribution.bundle import cut
from attribution.bundle.reader import open_bundle
from attribution.contracts.context import ExecutionContext
from attribution.contracts.observation import Observation
from attribution.diagnosis.engine import diagnose
from attribution.extraction.ruleset import RuleSets

from tests.conftest import SAMPLES
from tests.examples import ALL
from tests.property.test_determinism import Stream, answer, attempts, context
from tests.property.test_determinism import cut as cut_stream
from tests.service.helpers import Desk, serving

COMMAND = Path(sys.executable).parent / "attribution"


@pytest.fixture(scope="module")
def desk(shipped: RuleSets, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """One Service for all examples: sessions do not touch each other."""
    with serving(shipped, tmp_path_factory.mktemp("store")) as found:
        yield found


@cache
def printed(sample: Path, rules: RuleSets) -> bytes:
    """What the command line prints of a sample; before each commit the engine, which is faster, answers for it."""
    if not ALL:
        with open_bundle(sample) as evidence:
            return diagnose(evidence, rules).to_json()
    run = subprocess.run([COMMAND, "diagnose", sample, "--format", "json"], capture_output=True, check=True)
    return run.stdout


def batches(pieces: Sequence[Observation], chance: random.Random) -> Iterator[Sequence[Observation]]:
    """The pieces in runs of any size."""
    rest = list(pieces)
    while rest:
        size = chance.randint(1, max(1, len(rest) // 2))
        yield rest[:size]
        rest = rest[size:]


def through_http(desk: Desk, where: ExecutionContext, pieces: Sequence[Observation], chance: random.Random) -> bytes:
    """The diagnosis that the Service answers with at the end, asked in between too, as its bytes."""
    opened = desk.http.post(
        "/v2/attributors", content=where.model_dump_json(), headers={"content-type": "application/json"}
    )
    path = f"/v2/attributors/{opened.json()['attributor_id']}"
    revisions = []
    for batch in batches(pieces, chance):
        lines = b"\n".join(piece.model_dump_json(exclude_defaults=chance.random() < 0.5).encode() for piece in batch)
        packed = zstandard.compress(lines)
        headers = {"content-type": "application/x-ndjson", "content-encoding": "zstd"}
        taken = desk.http.post(f"{path}/observations", content=packed, headers=headers)
        assert taken.json()["rejected"] == 0, taken.text
        if chance.random() < 0.3:
            asked = desk.http.get(f"{path}/attribution").json()
            revisions.append(asked["revision"])
    whole = desk.http.get(f"{path}/attribution").content
    revision = json.loads(whole)["revision"]
    assert revisions == sorted(revisions) and revision >= max(revisions, default=1)
    head = b'{"revision":%d,"diagnosis":' % revision
    assert whole.startswith(head) and whole.endswith(b"}")
    desk.http.delete(path)
    return whole.removeprefix(head)[:-1] + b"\n"


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
@pytest.mark.parametrize(
    "size", [1 << 20, pytest.param(4001, marks=pytest.mark.slow), pytest.param(70_001, marks=pytest.mark.slow)]
)
def test_a_sample_gives_the_bytes_of_the_command_line(desk: Desk, shipped: RuleSets, sample: Path, size: int) -> None:
    chance = random.Random(f"{sample.name} {size}")
    with open_bundle(sample) as evidence:
        pieces = list(cut.observations(evidence, size))
        pieces += chance.sample(pieces, k=len(pieces) // 3)
        chance.shuffle(pieces)
        assert through_http(desk, evidence.context, pieces, chance) == printed(sample, shipped)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    attempt=attempts(),
    marks=st.lists(st.integers(0, 4000), max_size=12),
    overlap=st.integers(0, 30),
    seed=st.integers(0, 2**32),
)
def test_any_attempt_gives_the_bytes_of_the_engine(
    shipped: RuleSets, desk: Desk, attempt: list[tuple[Stream, str]], marks: list[int], overlap: int, seed: int
) -> None:
    whole = [piece for stream, text in attempt for piece in cut_stream(stream, text, [], 0)]
    pieces = [piece for stream, text in attempt for piece in cut_stream(stream, text, marks, overlap)]
    chance = random.Random(seed)
    pieces += chance.sample(pieces, k=len(pieces) // 2)
    chance.shuffle(pieces)
    assert through_http(desk, context(), pieces, chance) == answer(whole, shipped)


@pytest.mark.slow
def test_two_attempts_that_interleave_do_not_touch_each_other(shipped: RuleSets, desk: Desk) -> None:
    chance = random.Random(5)
    held = []
    for sample in SAMPLES:
        with open_bundle(sample) as evidence:
            pieces = list(cut.observations(evidence, 9000))
            held.append((evidence.context, pieces, diagnose(evidence, shipped).to_json()))
    opened = {}
    for number, (where, _, _) in enumerate(held):
        body = where.model_dump_json()
        session = desk.http.post("/v2/attributors", content=body, headers={"content-type": "application/json"}).json()
        opened[number] = f"/v2/attributors/{session['attributor_id']}"
    every = [(number, piece) for number, (_, pieces, _) in enumerate(held) for piece in pieces]
    chance.shuffle(every)
    for number, piece in every:
        body = '{"observations": [' + piece.model_dump_json() + "]}"
        desk.http.post(f"{opened[number]}/observations", content=body, headers={"content-type": "application/json"})
        if chance.random() < 0.05:
            desk.http.get(f"{opened[chance.randrange(len(held))]}/attribution")
    for number, (_, _, direct) in enumerate(held):
        found = desk.http.get(f"{opened[number]}/attribution").content
        assert found.partition(b'"diagnosis":')[2][:-1] + b"\n" == direct
