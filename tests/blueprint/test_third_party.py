"""A package of somebody else adds a connector by being installed, and its tests run the rules of all connectors."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from attribution.testing import Reply, Request, Server

from tests.conftest import ROOT

EXAMPLE = ROOT / "examples" / "third_party_connector"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the package is installed."""
    folder = tmp_path_factory.mktemp("site")
    source = tmp_path_factory.mktemp("source") / "package"
    source.mkdir()
    for file in sorted(EXAMPLE.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            target = source / file.relative_to(EXAMPLE)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    run(folder, sys.executable, "-m", "pip", "install", *options, "--target", str(folder), str(source))
    return folder


def run(site: Path, *command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": str(site), "NO_COLOR": "1"}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_its_own_tests_pass(site: Path) -> None:
    done = run(
        site, sys.executable, "-m", "pytest", "-o", "addopts=", "-q", "-p", "no:cacheprovider", "tests", cwd=EXAMPLE
    )
    assert re.search(r"\b\d\d passed", done.stdout), done.stdout


def test_a_run_uses_it(site: Path, tmp_path: Path) -> None:
    def service(request: Request) -> Reply:
        line = f"2026-05-04T03:10:00Z {request.params['host']} kernel: usb 1-1: new device"
        return Reply(body=json.dumps({"lines": [line], "next": None}))

    with Server(service) as server:
        config = tmp_path / "blueprint.yaml"
        config.write_text(f"logs:\n  line_service:\n    url: {server.url}\nsinks:\n  stdout: {{format: json}}\n")
        span = ["--start", "2026-05-04T03:00:00Z", "--end", "2026-05-04T04:00:00Z"]
        command = [str(Path(sys.executable).with_name("attribution")), "run", "--config", str(config)]
        done = run(site, *command, "--nodes", "node-01", *span)
    (report,) = json.loads(done.stdout)["connector_reports"]
    assert (report["connector"], report["source"], report["node"]) == ("line_service", "syslog", "node-01")
    assert (report["status"], report["lines"], report["accepted"]) == ("ok", 1, 1)
    assert report["first_at"] == "2026-05-04T03:10:00Z"
