"""Lines of one output for a whole job are given the node and rank of their writers, as far as that is known."""

from pathlib import Path

from attribution.bundle.reader import open_bundle
from attribution.contracts.diagnosis import Cause
from attribution.diagnosis.engine import diagnose
from attribution.extraction.ruleset import RuleSets

NODES = "nodes: [{name: node-01, ranks: [0, 1]}, {name: node-02, ranks: [2, 3]}]\n"
MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"


def _first(folder: Path, shipped: RuleSets, text: str, context: str) -> Cause:
    (folder / "applog").mkdir()
    (folder / "applog" / "slurm-1.out").write_text(text)
    (folder / "context.yaml").write_text("workload_id: w\n" + context)
    with open_bundle(folder) as evidence:
        return diagnose(evidence, shipped).causes[0]


def test_a_label_of_srun_is_no_rank_where_torchrun_runs_under_it(tmp_path: Path, shipped: RuleSets) -> None:
    cause = _first(tmp_path, shipped, f"1: [default1]:{MEMORY}", NODES)
    assert (cause.node, cause.rank) == ("node-02", 3)


def test_nor_on_the_other_lines_of_that_output(tmp_path: Path, shipped: RuleSets) -> None:
    text = f"0: [rank1]: some other line, RuntimeError: CUDA error: unspecified launch failure\n1: {MEMORY}"
    cause = _first(tmp_path, shipped, text, NODES)
    assert (cause.symptom, cause.node, cause.rank) == ("CUDA_OUT_OF_MEMORY", "node-02", None)


def test_a_label_that_every_rank_shares_is_the_rank(tmp_path: Path, shipped: RuleSets) -> None:
    cause = _first(tmp_path, shipped, f"3: [rank3]: {MEMORY}2: {MEMORY}", NODES)
    assert (cause.node, cause.rank) == ("node-02", 3)


def test_without_a_list_of_nodes_a_task_has_no_place(tmp_path: Path, shipped: RuleSets) -> None:
    cause = _first(tmp_path, shipped, f"1: [default1]:{MEMORY}", "")
    assert (cause.node, cause.rank) == (None, None)
