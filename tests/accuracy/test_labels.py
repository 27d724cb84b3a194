"""Labels are read from case files and scenario folders; a faulty one is named with its place, the others count."""

from pathlib import Path

import pytest

from attribution.accuracy.cases import Case
from attribution.accuracy.collection import collect
from attribution.accuracy.truth import ABSTENTIONS, Kind, Shown
from attribution.contracts.errors import ConfigurationError
from attribution.contracts.vocabulary import SubDomain, TerminalState

from tests.accuracy.builders import OUT_OF_MEMORY, XID, write_case, write_scenario


def test_a_case_is_read_and_written_out_as_a_bundle(tmp_path: Path) -> None:
    source = {"kind": "syslog", "node": "node-02 (head)"}
    path = write_case(
        tmp_path / "gpu-lost.yaml", [XID], "gpu_hardware", source=source, nodes=["node-02"], root_key="Xid"
    )
    (case,) = collect([tmp_path]).subjects
    assert isinstance(case, Case)
    truth = case.truth
    assert (truth.name, truth.best, truth.kind, truth.shown) == (
        str(path),
        SubDomain.GPU_HARDWARE,
        Kind.SINGLE,
        Shown.YES,
    )
    assert (truth.nodes, truth.exclude, truth.root_texts) == ({"node-02"}, {"node-02"}, ("xid",))
    assert truth.terminal_states == frozenset()
    with case.bundle() as folder:
        assert "gpu" not in str(folder)
        (file,) = [inner for inner in folder.rglob("*") if inner.is_file()]
        assert file.relative_to(folder) == Path("syslog/node-02.s1.log")
        assert file.read_text() == XID + "\n"
    assert not folder.exists()


def test_one_way_to_abstain_is_as_good_as_the_other_in_a_case(tmp_path: Path) -> None:
    write_case(tmp_path / "a.yaml", ["x"], "ambiguous", determinable="no", terminal_state="failed")
    (case,) = collect([tmp_path]).subjects
    assert case.truth.accept == ABSTENTIONS
    assert (case.truth.kind, case.truth.terminal_states) == (Kind.WITHHELD, {TerminalState.FAILED})


def test_what_the_lines_do_not_show_is_not_judged(tmp_path: Path) -> None:
    write_case(tmp_path / "a.yaml", ["x"], "user_code", determinable="no", nodes=["node-01"], ranks=[1], root_key="x")
    write_case(tmp_path / "b.yaml", ["x"], "user_code", determinable="partial", nodes=["node-01"], root_key="x")
    hidden, partial = (subject.truth for subject in collect([tmp_path]).subjects)
    assert (hidden.nodes, hidden.rank, hidden.root_texts) == (frozenset(), None, ())
    assert (partial.nodes, partial.root_texts, partial.exclude) == (frozenset(), ("x",), {"node-01"})


def test_a_case_that_calls_itself_broken_is_left_out_and_counted(tmp_path: Path) -> None:
    write_case(tmp_path / "a.yaml", ["x"], "user_code", quality="broken")
    write_case(tmp_path / "b.yaml", ["x"], "user_code")
    found = collect([tmp_path])
    assert (len(found.subjects), found.broken) == (1, 1)


def test_a_faulty_label_is_named_with_its_place_and_the_others_count(tmp_path: Path) -> None:
    write_case(tmp_path / "a" / "good.yaml", [OUT_OF_MEMORY], "resource_limit")
    wrong = write_case(tmp_path / "a" / "wrong.yaml", ["x"], "user_cod")
    outside = write_case(tmp_path / "a" / "outside.yaml", ["x"], "user_code", source={"kind": "../../etc"})
    (tmp_path / "latin.yaml").write_bytes(b"id: caf\xe9\n")
    scenario = write_scenario(tmp_path / "s", {"applog/node-01.log": "x\n"}, kind="singel", extra=1)
    found = collect([tmp_path])
    assert [subject.truth.name for subject in found.subjects] == [str(tmp_path / "a" / "good.yaml")]
    told = [str(problem) for problem in found.problems]
    assert len(told) == 6  # `best` and its one entry of `accept`
    assert all(problem.place.line for problem in found.problems if problem.code != "A002")
    for path in (wrong, outside, tmp_path / "latin.yaml", scenario / "truth.yaml"):
        assert any(text.startswith(str(path)) for text in told)
    assert any("has the unknown key `extra`" in text for text in told)
    assert any("did you mean `single`?" in text for text in told)


def test_a_scenario_is_read(tmp_path: Path) -> None:
    write_scenario(
        tmp_path / "deep" / "scenario-7-1",
        {"applog/node-01.log": "x\n", "labels.yaml": "id: not a label\n"},
        shape="lost-gpu",
        nodes=["node-02"],
        exclude=["node-02"],
        device={"kind": "gpu", "pci": "0000:1b:00"},
        rank=9,
        root_lines=["Fallen off the bus"],
        first_failure={"node": "node-02", "at": "2026-05-04T03:06:58.112Z"},
        terminal_state_accept=["failed", "node_failed"],
    )
    (scenario,) = collect([tmp_path]).subjects
    truth = scenario.truth
    assert (truth.kind, truth.shape, truth.shown) == (Kind.SINGLE, "lost-gpu", Shown.YES)
    assert (truth.nodes, truth.exclude, truth.rank, truth.first_node) == ({"node-02"}, {"node-02"}, 9, "node-02")
    assert (truth.device, truth.root_texts) == ((("pci", "0000:1b:00"),), ("fallen off the bus",))
    assert truth.terminal_states == {TerminalState.FAILED, TerminalState.NODE_FAILED}
    with scenario.bundle() as folder:
        assert folder == tmp_path / "deep" / "scenario-7-1" / "bundle"


def test_ways_to_abstain_differ_in_a_scenario(tmp_path: Path) -> None:
    answers = {"kind": "withheld", "sub_domain": "insufficient_evidence", "accept": ["insufficient_evidence"]}
    write_scenario(tmp_path / "s", {"applog/node-01.log": "x\n"}, **answers, nodes=["node-02"], root_lines=["x"])
    (scenario,) = collect([tmp_path]).subjects
    assert scenario.truth.accept == {SubDomain.INSUFFICIENT_EVIDENCE}
    assert scenario.truth.shown is Shown.NO
    assert (scenario.truth.nodes, scenario.truth.root_texts, scenario.truth.exclude) == (frozenset(), (), frozenset())


def test_a_path_given_twice_counts_once(tmp_path: Path) -> None:
    path = write_case(tmp_path / "a.yaml", ["x"], "user_code")
    assert len(collect([tmp_path, path]).subjects) == 1


def test_paths_with_nothing_to_measure_are_refused_together(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / ".hidden.yaml").write_text("x")
    with pytest.raises(ConfigurationError) as caught:
        collect([tmp_path / "empty", tmp_path / "missing"])
    assert [(p.code, p.message) for p in caught.value.problems] == [
        ("A001", "holds no labelled case and no scenario"),
        ("A001", "does not exist"),
    ]


def test_a_label_that_accepts_nothing_is_refused(tmp_path: Path) -> None:
    write_case(tmp_path / "a.yaml", ["x"], "user_code", accept=[])
    (problem,) = collect([tmp_path]).problems
    assert problem.message == "has a wrong `expect.accept`: name at least one sub_domain that is right"
