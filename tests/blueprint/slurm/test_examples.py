"""What the examples for Slurm say works: the configurations load, the epilog asks and never blocks."""

import os
import re
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from attribution.blueprint.connectors.context.slurm import SlurmSettings
from attribution.blueprint.connectors.registry import find_connectors
from attribution.blueprint.settings import load_settings
from attribution.contracts.documents import load

from tests.conftest import ROOT

EPILOG = ROOT / "examples" / "slurm" / "epilog.sh"
PAGE = ROOT / "docs" / "connectors" / "slurm.md"


@pytest.mark.parametrize("file", ["examples/slurm/blueprint.yaml", "deploy/examples/blueprint-slurm.yaml"])
def test_a_configuration_loads(file: str) -> None:
    settings, _ = load_settings(find_connectors(), ROOT / file, {}, {})
    assert settings.context.slurm is not None  # type: ignore[attr-defined]


def test_the_page_shows_every_setting_and_no_other() -> None:
    full = PAGE.read_text().split("## Full configuration")[1]
    block = re.search(r"```yaml\n(.*?)```", full, re.DOTALL)
    assert block is not None
    shown = re.sub(r"^  ", "", block[1].split("slurm:\n", 1)[1], flags=re.MULTILINE)
    settings = load("\n".join(line[2:] for line in shown.splitlines()), "page", SlurmSettings)
    assert set(settings.model_fields_set) == set(SlurmSettings.model_fields)


def run_epilog(tmp_path: Path, program: str, asks: bool = True, **environ: str) -> tuple[int, list[str]]:
    """How the epilog ended, and what `attribution` was called with, if it was."""
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    for name, text in (("attribution", program), ("scontrol", "#!/bin/sh\nprintf 'node-01\\nnode-02\\n'\n")):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    env = {
        "PATH": f"{folder}:/usr/bin:/bin",
        "CALLED": str(tmp_path / "called"),
        "ATTRIBUTION_LOG": str(tmp_path / "log"),
        "ATTRIBUTION_EPILOG_SETTLE_SECS": "0",
        **environ,
    }
    started = subprocess.Popen([EPILOG], env=env, stdin=subprocess.DEVNULL, start_new_session=True)
    code = started.wait(60)
    with suppress(ProcessLookupError):
        os.killpg(started.pid, 9)  # as Slurm does when an epilog has ended
    called = tmp_path / "called"
    for _ in range(200 if asks else 10):
        if called.exists() and called.read_text().endswith("\n"):
            return code, called.read_text().split()
        time.sleep(0.05)
    return code, []


CALL = '#!/bin/sh\nprintf "%s\\n" "$*" > "$CALLED"\n'


def test_the_epilog_asks_for_its_job_within_a_deadline(tmp_path: Path) -> None:
    code, called = run_epilog(tmp_path, CALL, SLURM_JOB_ID="81234", ATTRIBUTION_CONFIG="/etc/b.yaml")
    assert (code, called) == (
        0,
        ["run", "--config", "/etc/b.yaml", "--job", "81234", "--deadline-secs", "60"],
    )


def test_a_diagnosis_that_begins_slowly_outlives_the_epilog(tmp_path: Path) -> None:
    """Whatever is still in the process group of an epilog that ended is killed."""
    (tmp_path / "bin").mkdir()
    slow = tmp_path / "bin" / "setsid"
    slow.write_text('#!/bin/sh\nsleep 1\nexec /usr/bin/setsid "$@"\n')
    slow.chmod(0o755)
    assert run_epilog(tmp_path, CALL, SLURM_JOB_ID="81234")[1][4] == "81234"


def test_the_epilog_names_a_task_of_an_array_by_the_array(tmp_path: Path) -> None:
    _, called = run_epilog(tmp_path, CALL, SLURM_JOB_ID="11", SLURM_ARRAY_JOB_ID="11", SLURM_ARRAY_TASK_ID="3")
    assert "11_3" in called


@pytest.mark.parametrize(("node", "asks"), [("node-01", True), ("node-02", False)])
def test_of_several_nodes_the_first_asks(tmp_path: Path, node: str, asks: bool) -> None:
    nodes = {"SLURMD_NODENAME": node, "SLURM_JOB_NODELIST": "node-[01-02]"}
    code, called = run_epilog(tmp_path, CALL, asks, SLURM_JOB_ID="1", **nodes)
    assert (code, bool(called)) == (0, asks)


def test_the_epilog_ends_at_once_and_well_whatever_becomes_of_the_diagnosis(tmp_path: Path) -> None:
    """A program that hangs holds nothing up; it is run in a session of its own."""
    started = time.monotonic()
    hangs = '#!/bin/sh\nps -o sid= -p $$ | tr -d " \\n" > "$CALLED"; echo >> "$CALLED"; exec sleep 30\n'
    code, called = run_epilog(tmp_path, hangs, SLURM_JOB_ID="1", ATTRIBUTION_LOG="/no/such/folder/log")
    assert code == 0
    assert time.monotonic() - started < 25, "it waited for the diagnosis"
    assert called and int(called[0]) != os.getsid(0)
    os.killpg(int(called[0]), 9)
    for program, job in (("", "1"), (CALL, ""), (CALL, "1; rm -rf /")):
        (tmp_path / "called").unlink(missing_ok=True)
        assert run_epilog(tmp_path, program, asks=False, SLURM_JOB_ID=job) == (0, [])
