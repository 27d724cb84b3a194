"""The unit, compose and container files say what they are meant to, and every command in them is one of ours."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from attribution.blueprint.connectors.registry import find_connectors
from attribution.blueprint.settings import load_settings
from attribution.blueprint.watching.settings import WatchSettings
from attribution.cli.main import parser

DEPLOY = Path(__file__).parents[2] / "deploy"
UNITS = sorted((DEPLOY / "systemd").iterdir())


def commands() -> list[tuple[str, list[str]]]:
    """(where it stands, the arguments of `attribution`) of everything that deploy/ starts."""
    found = []
    for unit in UNITS:
        for line in unit.read_text().splitlines():
            if line.startswith("ExecStart="):
                found.append((unit.name, shlex.split(line)[1:]))
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    found += [(f"compose {name}", s["command"]) for name, s in compose["services"].items() if "command" in s]
    for template in ("service", "web", "blueprint"):
        text = (DEPLOY / f"helm/attribution/templates/{template}.yaml").read_text()
        (block,) = re.findall(r"\n +args:\n((?: +(?:- |\{\{).*\n)+)", text)
        words = [line.strip()[2:] for line in block.splitlines() if line.strip().startswith("- ")]
        found.append((f"chart {template}", [re.sub(r"\{\{.*\}\}", "8000", word) for word in words]))
    return found


@pytest.mark.parametrize(("where", "arguments"), commands(), ids=lambda value: str(value)[:40])
def test_every_command_is_one_of_ours(where: str, arguments: list[str]) -> None:
    assert parser(arguments[0]).parse_args(arguments).command == arguments[0], where


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd here")
def test_systemd_has_nothing_to_say_of_the_units(tmp_path: Path) -> None:
    for unit in UNITS:
        text = unit.read_text().replace("/opt/attribution/bin/attribution", "/bin/true")
        (tmp_path / unit.name).write_text(text)
    units = [tmp_path / unit.name for unit in UNITS]
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True, check=False
    )
    ours = [line for line in done.stderr.splitlines() if "attribution" in line]
    assert (done.returncode, ours) == (0, [])


def test_every_variable_is_one_of_ours() -> None:
    known = set(re.findall(r"`(ATTRIBUTION_[A-Z0-9_]+)`", (DEPLOY.parent / "docs" / "configuration.md").read_text()))
    files = [DEPLOY / "compose.yaml", *UNITS, *sorted((DEPLOY / "helm").rglob("*.yaml")), DEPLOY / "Containerfile"]
    for file in files:
        text = file.read_text()
        named = set(re.findall(r"\bATTRIBUTION_[A-Z0-9_]+", text))
        named |= {f"ATTRIBUTION_{name}" for name in re.findall(r'"variable" "(\w+)"', text)}
        assert named - known <= {"ATTRIBUTION_"}, file


def test_a_watcher_has_the_time_to_end_what_it_began() -> None:
    unit = (DEPLOY / "systemd" / "attribution-blueprint.service").read_text()
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["blueprint"]
    given = [*re.findall(r"^TimeoutStopSec=(\d+)$", unit, re.M), compose["stop_grace_period"].removesuffix("s")]
    assert [int(secs) > WatchSettings().shutdown_secs for secs in given] == [True, True]
    assert " run --watch " in unit and "--watch" in compose["command"]


def test_the_configuration_of_the_chart_is_one(tmp_path: Path) -> None:
    values = yaml.safe_load((DEPLOY / "helm/attribution/ci/postgres-values.yaml").read_text())
    (tmp_path / "blueprint.yaml").write_text(yaml.safe_dump(values["blueprint"]["config"]))
    settings, _ = load_settings(find_connectors(), tmp_path / "blueprint.yaml", {}, {})
    assert settings.workers == 2


def stores(environment: dict[str, str]) -> dict[str, str]:
    """The files that programs are told to use, by the variable that says so."""
    return {name: value.removeprefix("sqlite:///") for name, value in environment.items() if name in _STORES}


_SESSIONS, _WRITTEN, _READ = "ATTRIBUTION_STORE", "ATTRIBUTION_SINKS_DATABASE_URL", "ATTRIBUTION_WEB_STORE"
_STORES = {_SESSIONS, _WRITTEN, _READ}
RESULTS, SESSIONS = "/var/lib/attribution/attribution.db", "/var/lib/attribution/sessions.db"


def test_the_pages_read_the_file_that_the_blueprint_writes() -> None:
    units = {}
    for unit in UNITS:
        units.update(re.findall(r"^Environment=(\w+)=(.*)$", unit.read_text(), re.M))
    assert stores(units) == {_SESSIONS: SESSIONS, _WRITTEN: RESULTS, _READ: RESULTS}
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["x-attribution"]["environment"]
    defaults = {name: re.sub(r"^\$\{\w+:-(.*)\}$", r"\1", value) for name, value in compose.items()}
    assert stores(defaults) == {_SESSIONS: SESSIONS, _READ: RESULTS}
    chart = {}
    for template in sorted((DEPLOY / "helm/attribution/templates").glob("*.yaml")):
        for name, file in re.findall(r'"variable" "(\w+)" "file" "([\w.]+)"', template.read_text()):
            chart[f"ATTRIBUTION_{name}"] = f"/var/lib/attribution/{file}"
    assert chart == {_SESSIONS: SESSIONS, _WRITTEN: RESULTS, _READ: RESULTS}
    examples = DEPLOY / "examples"
    settings = yaml.safe_load((examples / "blueprint.yaml").read_text())
    assert settings["sinks"]["database"]["url"] == f"sqlite:///{RESULTS}"
    assert yaml.safe_load((examples / "service.yaml").read_text())["store"] == f"sqlite:///{SESSIONS}"


def test_compose_publishes_on_loopback_only() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    ports = [port for service in compose["services"].values() for port in service.get("ports", ())]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)
    assert "tokens" in compose["services"]["service"]["secrets"]


def test_the_image_runs_as_nobody_special_and_installs_by_hash() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    assert re.search(r"^USER 65532", text, re.M)
    assert "--require-hashes" in text
    assert "--hash=sha256:" in (DEPLOY / "requirements.lock").read_text()
