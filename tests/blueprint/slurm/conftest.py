"""A Slurm that replays records, put on PATH."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
VERSIONS = ("22.05", "25.11")
Fake = Callable[..., Path]


def table(name: str) -> list[dict[str, str]]:
    """The rows of a file that is written as `--parsable2` prints."""
    head, *lines = (HERE / name).read_text().splitlines()
    fields = head.split("|")
    return [dict(zip(fields, line.split("|"), strict=True)) for line in lines]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Puts `sacct` and `sacctmgr` on PATH, which know what the test gives; answers the folder they are in."""

    def put(version: str = "22.05", programs: tuple[str, ...] = ("sacct", "sacctmgr"), **told: Any) -> Path:
        known = {
            "version": f"slurm {version}.1",
            "rows": table(f"slurm-{version}.txt"),
            "events": table("events.txt"),
            **told,
        }
        (tmp_path / "known.json").write_text(json.dumps(known))
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        for name in programs:
            script = folder / name
            script.write_text(f"#!{sys.executable} -S\n{(HERE / 'fake_slurm.py').read_text()}")
            script.chmod(0o755)
        monkeypatch.setenv("FAKE_SLURM", str(tmp_path / "known.json"))
        monkeypatch.setenv("PATH", str(folder))
        monkeypatch.setenv("TZ", "Asia/Tokyo")
        monkeypatch.setenv("SACCT_FORMAT", "JobName")
        return folder

    return put
