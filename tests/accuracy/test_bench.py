"""`attribution bench accuracy` over tiny cases and a scenario: figures, misses, policies, what cannot be read."""

import json
import re
from pathlib import Path

import pytest

from tests.accuracy.builders import OUT_OF_MEMORY, XID, write_case, write_scenario
from tests.cli.commands import run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two cases, one of them labelled as the engine will not answer, and a scenario."""
    root = tmp_path_factory.mktemp("measure")
    write_case(root / "cases" / "memory.yaml", [OUT_OF_MEMORY], "resource_limit", root_key="CUDA out of memory")
    write_case(
        root / "cases" / "wrong.yaml",
        [OUT_OF_MEMORY],
        "network_fabric",
        never=["resource_limit"],
        terminal_state="completed",
        nodes=["node-09"],
    )
    write_scenario(
        root / "scenarios" / "scenario-1-1",
        {"syslog/node-02.log": XID + "\n", "context.yaml": "workload_id: w\nscheduler_state: FAILED\n"},
        shape="lost-gpu",
        nodes=["node-02"],
        exclude=["node-02"],
        device={"kind": "gpu", "pci": "0000:1B:00"},
        root_lines=["GPU has fallen off the bus"],
    )
    return root


def test_figures_are_told_and_misses_named(folder: Path) -> None:
    answer = run("bench", "accuracy", folder, "--misses", "--workers", "2")
    assert answer.returncode == 0
    rows = dict(re.findall(r"^  (\w+) +(\S+) +\S+   ", answer.stdout, re.MULTILINE))
    assert (rows["accepted"], rows["shown"], rows["harmful"]) == ("2/3", "2/3", "1/3")
    assert (rows["root_line"], rows["node"], rows["device"]) == ("2/2", "1/2", "1/1")
    assert (rows["terminal_state"], rows["wrong_nodes_excluded"], rows["crashed"]) == ("1/2", "0/3", "0/3")
    assert "  network_fabric         answered resource_limit            1" in answer.stdout
    misses = answer.stdout.partition("\nmisses\n")[2].splitlines()
    assert len(misses) == 1 and "wrong.yaml" in misses[0]
    assert "[accepted, node, terminal_state]" in misses[0] and "truth on node-09" in misses[0]
    assert answer.stderr.splitlines()[-1] == "attribution: diagnosed 3 of 3"


def test_json_holds_the_same_whatever_the_workers(folder: Path) -> None:
    one, two = (run("bench", "accuracy", folder, "--format", "json", "--workers", n) for n in (1, 2))
    assert one.stdout == two.stdout
    found = json.loads(one.stdout)
    assert found["attempts"] == 3
    assert found["figures"]["accepted"] == {"count": 2, "of": 3, "share": 0.666667}
    assert found["by_shape"]["lost-gpu"]["node"] == {"count": 1, "of": 1, "share": 1.0}
    assert found["by_kind"]["single"]["attempts"] == 3
    assert found["confusions"] == [{"best": "network_fabric", "answer": "resource_limit", "count": 1}]
    assert [Path(miss["name"]).name for miss in found["misses"]] == ["wrong.yaml"]


def test_a_policy_that_is_missed_ends_with_1(folder: Path) -> None:
    holds = run("bench", "accuracy", folder, "--require", "accepted>=0.6", "--require", "crashed<=0")
    missed = run("bench", "accuracy", folder, "--require", "accepted>=0.6", "--require", "harmful<=0")
    assert (holds.returncode, missed.returncode) == (0, 1)
    assert "attribution: harmful <= 0 is required, and it is 0.3333 (1 of 3)" in missed.stderr


def test_a_label_that_cannot_be_read_is_told_and_the_others_count(folder: Path, tmp_path: Path) -> None:
    write_case(tmp_path / "wrong.yaml", ["x"], "user_cod", accept=["user_code"])
    answer = run("bench", "accuracy", folder / "cases" / "memory.yaml", tmp_path, "--format", "json")
    assert answer.returncode == 3
    assert json.loads(answer.stdout)["attempts"] == 1 and json.loads(answer.stdout)["unreadable"] == 1
    assert re.search(r"wrong\.yaml:\d+:\d+: D013 .*did you mean `user_code`\?", answer.stderr)


def test_a_bundle_that_cannot_be_read_is_a_crash_that_is_named(tmp_path: Path) -> None:
    scenario = write_scenario(tmp_path / "s", {"context.yaml": "nodes: 7\n"})
    answer = run("bench", "accuracy", scenario, "--misses")
    assert answer.returncode == 0
    assert re.search(r"^  crashed +1/1 ", answer.stdout, re.MULTILINE)
    assert re.search(r"\[crashed, accepted\].*context\.yaml:1:1: D014", answer.stdout)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--workers", "0"), "--workers: A004 is 0"),
        (("--timeout-secs", "nan"), "--timeout-secs: A004 is nan"),
        (("--require", "accepted"), "--require: A003"),
        (("no/such/folder",), "no/such/folder: A001 does not exist"),
    ],
)
def test_what_makes_no_sense_is_refused(folder: Path, words: tuple[str, ...], told: str) -> None:
    answer = run("bench", "accuracy", folder, *words)
    assert answer.returncode == 2 and told in answer.stderr and answer.stdout == ""
