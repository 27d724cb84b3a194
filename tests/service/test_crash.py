"""The Service may be killed at any moment: nothing that it acknowledged is lost, and nothing counts twice."""

import random
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

from attribution.bundle.cut import observations
from attribution.bundle.reader import open_bundle
from attribution.contracts.observation import Observation

from tests.service.process import ServeProcess

KILLS = 50
COMMAND = Path(sys.executable).parent / "attribution"


@dataclass
class Services:
    """One Service after the other, over one store."""

    folder: Path
    kills: int = 0
    now: ServeProcess | None = None
    http: httpx.Client = field(default_factory=httpx.Client)

    def start(self) -> None:
        self.now = ServeProcess(self.folder, ["--port", "0", "--store", str(self.folder / "sessions.db")])
        self.http.base_url = httpx.URL(self.now.listening())

    def kill(self) -> None:
        assert self.now is not None
        self.now.kill()
        self.kills += 1


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    found = Services(tmp_path)
    try:
        yield found
    finally:
        found.http.close()
        if found.now is not None:
            found.now.kill()


@dataclass
class Client:
    """A client that remembers every acknowledgement."""

    services: Services
    context: str
    session: str = ""
    acknowledged: dict[str, int] = field(default_factory=dict)
    revisions: list[tuple[int, str]] = field(default_factory=list)
    answers: int = 0

    def call(self, method: str, path: str, body: str | None = None) -> httpx.Response | None:
        """One try; None if the Service was killed meanwhile."""
        headers = {"content-type": "application/json"}
        try:
            answer = self.services.http.request(method, path, content=body, headers=headers, timeout=600)
        except httpx.TransportError:
            return None
        self.answers += 1
        return answer

    def open(self) -> bool:
        answer = self.call("POST", "/v2/attributors", self.context)
        if answer is None:
            return False
        session = answer.json()["attributor_id"]
        assert self.session in {"", session}, "the session was lost"
        self.session = session
        return True

    def submit(self, batch: Sequence[Observation]) -> bool:
        body = '{"observations": [' + ",".join(item.model_dump_json() for item in batch) + "]}"
        answer = self.call("POST", f"/v2/attributors/{self.session}/observations", body)
        if answer is None:
            return False
        told = answer.json()
        assert answer.status_code == 200 and told["rejected"] == 0, told
        for item in told["observations"]:
            if item["digest"] in self.acknowledged:
                assert item["outcome"] == "duplicate", "what was acknowledged is not there any more"
            self.acknowledged[item["digest"]] = self.services.kills
        return True

    def ask(self) -> bool:
        answer = self.call("GET", f"/v2/attributors/{self.session}/attribution")
        if answer is None:
            return False
        assert answer.status_code == 200, answer.text
        self.revisions.append((answer.json()["revision"], answer.text.partition('"diagnosis":')[2]))
        return True


@pytest.mark.slow
def test_killed_at_fifty_random_points_it_loses_and_doubles_nothing(root: Path, services: Services) -> None:
    sample = root / "samples" / "nvlink-signal-integrity"
    printed = subprocess.run([COMMAND, "diagnose", sample, "--format", "json"], capture_output=True, check=True).stdout
    chance = random.Random(418201)
    with open_bundle(sample) as evidence:
        pieces = list(observations(evidence, 2000))
        client = Client(services, evidence.context.model_dump_json())
    chance.shuffle(pieces)
    services.start()
    for _ in range(KILLS):
        # The kill falls after some answers, and then at a random moment: between two calls, or in the middle of one.
        until = client.answers + chance.randint(0, 8)
        killer = threading.Timer(chance.uniform(0, 0.04), services.kill)
        alive = True
        while alive:
            if client.answers >= until and killer.ident is None:
                killer.start()
            step = chance.random()
            if step < 0.2 or not client.session:
                alive = client.open()
            elif step < 0.8:
                alive = client.submit(chance.sample(pieces, k=chance.randint(1, 3)))
            else:
                alive = client.ask()
        killer.join()
        services.start()
    assert services.kills == KILLS

    assert client.open()
    before = dict(client.acknowledged)
    assert len(before) > 20 and len(set(before.values())) > 5, "the kills left nothing to check"
    assert client.ask()
    for start in range(0, len(pieces), 40):
        assert client.submit(pieces[start : start + 40])  # checks that what was acknowledged is a duplicate
    state = client.call("GET", f"/v2/attributors/{client.session}")
    assert state is not None and state.json()["observations"] == len(pieces)
    assert client.ask() and client.ask()
    assert client.revisions[-1] == client.revisions[-2]
    assert client.revisions[-1][1][:-1].encode() + b"\n" == printed
    consistent(client.revisions)


def consistent(revisions: Sequence[tuple[int, str]]) -> None:
    """Revisions never fall, and grow exactly when the diagnosis changes, as far as a client can see."""
    for (before, old), (after, new) in pairwise(revisions):
        assert after >= before
        assert (after == before) == (new == old)
