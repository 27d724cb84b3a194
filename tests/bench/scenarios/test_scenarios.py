"""The generator of scenarios: deterministic, fair to its own files, and independent of the product."""

import ast
import gzip
import json
import random
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
import zstandard
from jsonschema.validators import validator_for

from bench.scenarios import fleet as fleets
from bench.scenarios import generate, noise, shapes
from bench.scenarios import job as jobs
from bench.scenarios import shown as seen
from bench.scenarios.__main__ import main
from bench.scenarios.scene import End, Scene
from bench.scenarios.truth import ANSWERS, KINDS, SUB_DOMAINS, TERMINAL_STATES
from bench.scenarios.writers import scheduler
from bench.scenarios.writers.files import Files

PACKAGE = Path(generate.__file__).parent
ROOTS = sorted(name for name, shape in shapes.SHAPES.items() if not shape.negative)
NEGATIVES = sorted(name for name, shape in shapes.SHAPES.items() if shape.negative)


def read(path: Path) -> str:
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    elif path.suffix == ".zst":
        data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return data.decode()


def texts(folder: Path) -> str:
    files = sorted(path for path in (folder / "bundle").rglob("*") if path.is_file())
    return "\n".join(read(path) for path in files if not path.name.startswith("context"))


def shown(line: str, text: str) -> bool:
    """Whether a line stands in the files, plainly or within JSON."""
    escaped = line.replace("\\", "\\\\").replace('"', '\\"')
    return line in text or escaped in text


def check(document: dict[str, Any], folder: Path) -> None:
    assert set(document) <= {
        "id", "kind", "shape", "nodes_total", "sub_domain", "accept", "terminal_state", "terminal_state_accept",
        "nodes", "exclude", "device", "rank", "root_lines", "first_failure", "metrics",
    }  # fmt: skip
    assert document["id"] == folder.name
    assert document["kind"] in KINDS
    assert document["accept"] and set(document["accept"]) <= set(ANSWERS)
    assert document["sub_domain"] == document["accept"][0]
    assert set(document["terminal_state_accept"]) <= set(TERMINAL_STATES)
    assert document["terminal_state"] == document["terminal_state_accept"][0]
    assert document["metrics"] == (folder / "bundle" / "metrics").exists()
    if document["kind"] == "withheld":
        assert not document["nodes"] and not document["exclude"]
        assert "insufficient_evidence" in document["accept"]


def generated(out: Path, **options: Any) -> tuple[Path, dict[str, Any]]:
    settings = {"seed": 1, "number": 0, "most": 64, **options}
    truth = generate.scenario(out=out, **settings)
    folder = out / truth.id
    return folder, yaml.load((folder / "truth.yaml").read_text(), yaml.CSafeLoader)


@pytest.mark.parametrize("size", [2, pytest.param(64, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [*ROOTS, *NEGATIVES])
def test_every_shape_is_generated_and_shows_its_root(name: str, size: int, tmp_path: Path) -> None:
    folder, document = generated(tmp_path, size=size, only=name)
    check(document, folder)
    assert document["nodes_total"] == size
    text = texts(folder)
    lines = document.get("root_lines", [])
    assert not lines or any(shown(line, text) for line in lines)
    assert document["kind"] == ("negative" if name in NEGATIVES else "single")


def test_there_are_enough_shapes() -> None:
    assert len(ROOTS) >= 40
    assert len(NEGATIVES) >= 10
    assert {shapes.SHAPES[name].sub_domain for name in ROOTS} >= set(SUB_DOMAINS)


@pytest.mark.slow
def test_a_thousand_nodes_stay_sensible(tmp_path: Path) -> None:
    folder, document = generated(tmp_path, size=1024, only="nfs-server-hangs")
    assert document["nodes_total"] == 1024
    assert 1e6 < sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 60e6


@pytest.mark.slow
def test_contexts_keep_to_the_published_schema(tmp_path: Path) -> None:
    schema = json.loads(Path("schemas/execution-context.schema.json").read_text())
    forms = set()
    valid = validator_for(schema)(schema)
    for number in range(30):
        folder, _ = generated(tmp_path, seed=21, number=number, most=4)
        path = folder / "bundle" / "context.yaml"
        if path.exists():
            context = yaml.load(path.read_text(), yaml.CSafeLoader)
            valid.validate(context)
            forms.add(tuple(context))
    assert len(forms) >= 3


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        main(["--count", "4", "--seed", "11", "--max-nodes", "4", "--out", str(tmp_path / folder)])
    one, two = (
        {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
        }
        for name in ("one", "two")
    )
    assert one == two
    assert len(one) > 10


def test_another_seed_gives_other_scenarios(tmp_path: Path) -> None:
    _, one = generated(tmp_path / "a", seed=1, number=5)
    _, two = generated(tmp_path / "b", seed=2, number=5)
    assert one != {**two, "id": one["id"]}


def test_a_drawn_seed_is_printed_and_makes_the_same_scenarios(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--count", "1", "--max-nodes", "2", "--out", str(tmp_path / "a")])
    seed = capsys.readouterr().out.split()[1]
    main(["--count", "1", "--max-nodes", "2", "--seed", seed, "--out", str(tmp_path / "b")])
    names = [{path.relative_to(tmp_path / name) for path in (tmp_path / name).rglob("*")} for name in ("a", "b")]
    assert names[0] == names[1]


def test_shares_of_kinds_and_groups() -> None:
    plans = [plan for number in range(20) for plan in generate.block(3, number)]
    kinds = Counter(plan.kind for plan in plans)
    assert kinds == {kind: count * 20 for kind, count in generate.frequencies()["kinds"].items()}
    singles = [plan.shape for plan in plans if plan.kind == "single"]
    share = Counter(shape.group for shape in singles)
    weights = {name: told["weight"] for name, told in generate.frequencies()["groups"].items()}
    total = sum(weights.values())
    for group, weight in weights.items():
        # Every sub_domain is made to occur, so rare groups are a little more frequent than their weight.
        assert abs(share[group] / len(singles) - weight / total) < 0.05, group


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_sub_domain_occurs_in_a_hundred(seed: int) -> None:
    plans = generate.block(seed, 0)
    assert {plan.shape.sub_domain for plan in plans if plan.kind == "single"} >= set(SUB_DOMAINS)


@pytest.mark.slow
def test_withheld_bundles_do_not_show_the_root(tmp_path: Path) -> None:
    withheld = [index for index, plan in enumerate(generate.block(5, 0)) if plan.kind == "withheld"]
    for number in withheld:
        plan = generate.block(5, 0)[number]
        folder, document = generated(tmp_path, seed=5, number=number, most=8)
        check(document, folder)
        text = texts(folder)
        assert "Xid" not in "".join(line for line in text.splitlines(True) if "45, " not in line), plan.shape.name
        assert "uncorrectable ECC" not in text


@pytest.mark.slow
def test_drawn_scenarios_show_what_their_truth_says(tmp_path: Path) -> None:
    for number in range(100):
        folder, document = generated(tmp_path, seed=31, number=number, most=8)
        check(document, folder)
        text = texts(folder)
        lines = document.get("root_lines", [])
        assert not lines or any(shown(line, text) for line in lines), folder.name
        names = [path.name for path in (folder / "bundle").rglob("*")]
        for node in document["nodes"]:
            assert node in text or any(name.startswith(node) for name in names), folder.name


@pytest.mark.slow
def test_two_roots_stand_on_two_nodes(tmp_path: Path) -> None:
    plans = generate.block(6, 0)
    for number in [index for index, plan in enumerate(plans) if plan.kind == "two_roots"]:
        folder, document = generated(tmp_path, seed=6, number=number, most=16)
        check(document, folder)
        assert len(document["nodes"]) == 2
        assert "ambiguous" in document["accept"] and len(document["accept"]) >= 3


@pytest.mark.slow
def test_a_fifth_has_metrics_and_sizes_are_log_distributed(tmp_path: Path) -> None:
    documents = [generated(tmp_path, seed=9, number=number, most=32)[1] for number in range(60)]
    assert sum(document["metrics"] for document in documents) >= 12
    sizes = [document["nodes_total"] for document in documents]
    assert min(sizes) == 2 and max(sizes) > 16
    assert sum(size <= 8 for size in sizes) > 20


@pytest.mark.slow
def test_torn_output_keeps_the_order_of_each_writer(tmp_path: Path) -> None:
    """Lines of ranks that fail at once stand between each other, but each rank's own lines keep their order."""
    torn = 0
    for seed in range(30):
        folder, _ = generated(tmp_path / str(seed), seed=seed, size=4, only="config-file-missing")
        for path in (folder / "bundle" / "applog").glob("slurm-*.out*"):
            lines = [line.strip() for line in read(path).splitlines()]
            if "torchrun" in "".join(lines):
                continue  # there a label is a node, not a rank
            for index, line in enumerate(lines):
                label = re.match(r"\d+: (?=Traceback \(most)", line)
                if label and "FileNotFoundError" in "".join(lines[index:]):
                    mine = [(n, text) for n, text in enumerate(lines[index:]) if text.startswith(label.group())]
                    assert mine[1][1].startswith(f'{label.group()}  File "/data/job/')
                    torn += mine[1][0] > 1
    assert torn


@pytest.mark.slow
def test_names_of_files_say_nothing_of_the_cause(tmp_path: Path) -> None:
    words = {word for name in shapes.SHAPES for word in name.split("-") if len(word) > 4}
    words -= {"object"}  # of the Kubernetes API
    for number in range(20):
        folder, _ = generated(tmp_path, seed=12, number=number, most=4)
        for path in (folder / "bundle").rglob("*"):
            if path.is_file():
                assert not [word for word in words if word in path.name], path


def stage(launcher: str) -> Scene:
    """A scene of two nodes under a launcher, with nothing said yet."""
    rng = random.Random(3)
    fleet, job = fleets.build(rng, 2, 0.0), jobs.draw(rng, "slurm", launcher)
    return Scene(rng, fleet, job, 0.0, 60.0, End(120.0))


@pytest.mark.parametrize(
    ("launcher", "path", "text"),
    [
        ("torchrun", "applog/node-01.log", "  rank      : 3 (local_rank: 3)\n"),
        ("torchrun", "applog/node-01.log", "[default3]:[rank3]: Traceback (most recent call last):\n"),
        ("srun", "applog/slurm-7.out", " 3: Traceback (most recent call last):\n"),
        ("srun", "applog/slurm-7.err", "srun: error: node-01: task 3: Exited with exit code 1\n"),
        ("mpirun", "applog/slurm-7.out", "[1,3]<stderr>:Traceback (most recent call last):\n"),
        ("deepspeed", "applog/node-01.rank3.out", "Traceback (most recent call last):\n"),
    ],
)
def test_a_failing_rank_is_asked_for_where_a_line_or_a_file_names_it(launcher: str, path: str, text: str) -> None:
    assert seen.rank(Files({path: text}), stage(launcher), 3)
    assert not seen.rank(Files({path: text}), stage(launcher), 4)


@pytest.mark.parametrize(
    ("launcher", "text"),
    [
        ("deepspeed", "initialized process group, rank 3 of 8, device cuda:3\nTraceback (most recent call last):\n"),
        ("torchrun", " 3: Traceback (most recent call last):\n"),  # there a label is a node
        ("deepspeed", "['python3', '-u', 'train.py', '--local_rank=3'] exits with return code = 1\n"),
    ],
)
def test_a_failing_rank_that_nothing_names_is_not_asked_for(launcher: str, text: str) -> None:
    assert not seen.rank(Files({"applog/node-01.log": text}), stage(launcher), 3)


def test_metrics_that_a_root_moves_are_decisive_lines_where_the_bundle_holds_them() -> None:
    scene = stage("srun")
    scene.root_nodes.add(1)
    scene.shift("node_load1", 0, 0, 30, 5)
    scene.shift("DCGM_FI_DEV_GPU_TEMP", 1, 0, 30, 93)
    scene.shift("DCGM_FI_DEV_SM_CLOCK", 1, 0, 30, 345)
    files = Files({"metrics/gpu.prom": 'DCGM_FI_DEV_GPU_TEMP{gpu="0"} 93\nnode_load1 5\n'})
    assert seen.series(files, scene) == ["DCGM_FI_DEV_GPU_TEMP"]


@pytest.mark.parametrize(
    ("trainer", "told"),
    [
        ("megatron", "[after training is done] datetime: "),
        ("hf", "Training completed. Do not forget to share your model"),
        ("lightning", "`Trainer.fit` stopped: `max_steps="),
        ("plain", "INFO - train - "),
    ],
)
def test_a_run_that_completes_ends_in_the_words_of_its_trainer(trainer: str, told: str) -> None:
    scene = stage("srun")
    scene.job = replace(scene.job, trainer=trainer)
    noise.finish(scene, 100.0)
    assert told in scene.apps[0].text
    assert all(line.at >= 100.0 for line in scene.apps)


def test_a_kubelet_names_its_machine_in_an_event() -> None:
    scene = stage("torchrun")
    pod = f"{scene.job.name}-worker-1"
    assert scheduler._source(scene, {"name": pod}) == {"component": "kubelet", "host": scene.fleet.nodes[1].name}
    assert scheduler._source(scene, {"name": pod, "by": "default-scheduler"}) == {"component": "default-scheduler"}


def test_nothing_imports_the_product() -> None:
    for path in PACKAGE.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert not [name for name in names if name.split(".")[0] == "attribution"], path
            assert "attribution" not in path.name


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--count", "1"], "--out is needed"),
        (["--shape", "nothing", "--out", "x"], "no shape is called 'nothing'"),
        (["--nodes", "1", "--out", "x"], "--nodes is 1"),
        (["--max-nodes", "5000", "--out", "x"], "--max-nodes is 5000"),
    ],
)
def test_wrong_arguments_are_told(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        main(arguments)
    assert error.value.code == 2
    assert told in capsys.readouterr().err
