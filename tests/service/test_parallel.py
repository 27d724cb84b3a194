"""Several clients, several threads and several replicas share one store, and none of them disturbs another."""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from attribution.bundle.cut import observations
from attribution.bundle.reader import open_bundle
from attribution.client.client import AttributionClient
from attribution.contracts.exchange import BatchAnswer
from attribution.diagnosis.engine import diagnose
from attribution.extraction.ruleset import RuleSets

from tests.conftest import SAMPLES
from tests.service.helpers import Desk, serving


@pytest.fixture
def replicas(shipped: RuleSets, tmp_path: Path, store_url: str) -> Iterator[list[Desk]]:
    """Two Services over one store, in SQLite and in PostgreSQL."""
    with ExitStack() as stack:
        yield [stack.enter_context(serving(shipped, tmp_path, store=store_url)) for _ in range(2)]


def client_of(desk: Desk) -> AttributionClient:
    return AttributionClient("http://localhost", transport=desk.http._transport)


@pytest.mark.slow
def test_two_clients_at_once_get_what_each_would_get_alone(shipped: RuleSets, replicas: list[Desk]) -> None:
    """Two Blueprints diagnose the same attempts at the same time, each through a replica of its own."""

    def work(number: int, sample: Path) -> tuple[bytes, BatchAnswer]:
        client, chance = client_of(replicas[number]), random.Random(f"{number} {sample.name}")
        with open_bundle(sample) as evidence:
            session = client.open(evidence.context).attributor_id
            pieces = list(observations(evidence, 5000))
            chance.shuffle(pieces)
            half = len(pieces) // 2
            first = client.submit(session, pieces[:half])
            client.attribution(session)
            second = client.submit(session, pieces[half:])
        assert first.rejected == second.rejected == 0
        whole = first.model_copy(update={name: getattr(first, name) + getattr(second, name) for name in _COUNTS})
        return client.attribution(session).diagnosis.to_json(), whole

    with ThreadPoolExecutor(len(SAMPLES) * 2) as pool:
        tasks = {(sample, n): pool.submit(work, n, sample) for sample in SAMPLES for n in range(2)}
    for sample in SAMPLES:
        with open_bundle(sample) as evidence:
            direct = diagnose(evidence, shipped).to_json()
            count = len(list(observations(evidence, 5000)))
        answers = [tasks[sample, n].result() for n in range(2)]
        assert [answer[0] for answer in answers] == [direct, direct], sample.name
        assert sum(answer[1].accepted for answer in answers) == count
        assert sum(answer[1].duplicate for answer in answers) == count


_COUNTS = ("accepted", "duplicate", "rejected")


def test_replicas_agree_on_session_revision_and_answer(replicas: list[Desk]) -> None:
    sample = SAMPLES[0]
    first, second = replicas
    with open_bundle(sample) as evidence:
        context, pieces = evidence.context, list(observations(evidence, 20_000))
    session = client_of(first).open(context).attributor_id
    assert client_of(second).open(context).attributor_id == session
    path = f"/v2/attributors/{session}/attribution"
    for piece in pieces:
        client_of(second).submit(session, [piece])
        answers = [desk.http.get(path) for desk in (first, second, first)]
        assert len({answer.content for answer in answers}) == 1
        assert len({answer.headers["etag"] for answer in answers}) == 1
    client_of(first).end(session)
    assert second.http.get(path).status_code == 404


def test_many_askers_of_one_session_share_one_answer(desk: Desk) -> None:
    with open_bundle(SAMPLES[0]) as evidence:
        client = client_of(desk)
        session = client.open(evidence.context).attributor_id
        client.submit(session, list(observations(evidence)))
    path = f"/v2/attributors/{session}/attribution"
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda _: desk.http.get(path), range(24)))
    assert len({answer.content for answer in answers}) == 1
    assert desk.metric("attribution_attribution_seconds_count") == 1


def test_the_client_reads_what_the_service_tells(desk: Desk) -> None:
    client = client_of(desk)
    assert client.catalog() == desk.service.rulebook.rules.snapshot
    assert client.plan() == desk.service.rulebook.rules.plan
