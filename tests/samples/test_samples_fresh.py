"""The committed samples and noise are what their generators write."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
for folder in ("scripts", "bench"):
    sys.path.insert(0, str(ROOT / folder))

import make_noise  # noqa: E402
import make_samples  # noqa: E402
import noise  # noqa: E402

BUNDLES = sorted(path for path in (ROOT / "samples").iterdir() if path.is_dir())


def test_samples_are_what_the_generator_writes():
    assert make_samples.stale() == []


def test_noise_is_what_the_generator_writes():
    assert make_noise.main(check=True) == 0


def test_noise_depends_on_the_seed_alone():
    assert noise.text(20_000, 5) == noise.text(20_000, 5)
    assert noise.text(20_000, 5) != noise.text(20_000, 6)


def test_noise_holds_no_fault():
    sample = make_noise.PATH.read_text(encoding="utf-8")
    assert not re.search(r"SXid|Xid \(|Traceback|NCCL WARN|Killed process|Watchdog caught|oom-kill", sample)


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: path.name)
def test_a_sample_is_small(bundle):
    assert sum(file.stat().st_size for file in bundle.rglob("*") if file.is_file()) < 400_000


def test_all_samples_are_small():
    assert sum(file.stat().st_size for file in (ROOT / "samples").rglob("*") if file.is_file()) < 1_500_000


def test_every_sample_is_explained():
    readme = (ROOT / "samples" / "README.md").read_text(encoding="utf-8")
    names = [make().name for make in make_samples.SAMPLES]
    assert re.findall(r"^\| \[([a-z-]+)\]", readme, re.MULTILINE) == names
    assert {path.name for path in BUNDLES} == set(names)
