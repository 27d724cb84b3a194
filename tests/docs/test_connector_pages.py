"""Each connector's page has a least and a full configuration that load, and the full one has every setting."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from attribution.blueprint.connectors.base import DEADLINE, never
from attribution.blueprint.connectors.registry import find_connectors
from attribution.blueprint.settings import load_settings
from attribution.configuration.keys import keys
from attribution.contracts.observation import Observation
from attribution.contracts.vocabulary import Source, Status
from attribution.testing import CommandAnswer, FakeCommand

from tests.conftest import ROOT

PAGES = {("logs", "loki"): "loki", ("logs", "local_files"): "local-files", ("metrics", "promql"): "promql"}
EXAMPLES = sorted((ROOT / "examples").glob("*/blueprint.yaml"))
REGISTRY = find_connectors()


def blocks(page: str) -> list[str]:
    """The blocks of YAML of a page that are configurations."""
    text = (ROOT / "docs" / "connectors" / f"{page}.md").read_text()
    return list(re.findall(r"```yaml\n(.*?)```", text, re.DOTALL))


def loaded(tmp_path: Path, text: str) -> Any:
    """The settings of a configuration; files of secrets are made up."""
    secret = tmp_path / "secret"
    secret.write_text("s3cret\n")
    file = tmp_path / "blueprint.yaml"
    file.write_text(re.sub(r"(?m)_file: /etc/attribution/\S+", f"_file: {secret}", text))
    settings, _ = load_settings(REGISTRY, file, {}, {})
    return settings


@pytest.mark.parametrize(("section", "name"), PAGES)
def test_the_configurations_of_a_page_load(tmp_path: Path, section: str, name: str) -> None:
    least, full = blocks(PAGES[section, name])[:2]
    for text in (least, full):
        assert getattr(getattr(loaded(tmp_path, text), section), name) is not None
    assert len(least.splitlines()) < len(full.splitlines())


@pytest.mark.parametrize(("section", "name"), PAGES)
def test_the_full_configuration_has_every_setting(section: str, name: str) -> None:
    _, full, *_ = blocks(PAGES[section, name])
    (connector,) = (found[name] for kind, found in REGISTRY.known.items() if kind.value == section)
    given = set(yaml.safe_load(full)[section][name]) | set(re.findall(r"^ *# (\w+):", full, re.MULTILINE))
    wanted = {key.path[0] for key in keys(connector.Settings) if key.file_of is None}
    assert {name if name in wanted else name.removesuffix("_file") for name in given} == wanted


@pytest.mark.parametrize("page", PAGES.values())
def test_a_page_says_what_must_be_known(page: str) -> None:
    text = (ROOT / "docs" / "connectors" / f"{page}.md").read_text()
    for heading in ("Least configuration", "Full configuration", "Rights", "What its report means"):
        assert f"## {heading}\n" in text, heading


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.parent.name)
def test_examples_load(tmp_path: Path, example: Path) -> None:
    assert loaded(tmp_path, example.read_text()) is not None


def test_the_example_in_the_guide_is_that_of_the_package() -> None:
    guide = (ROOT / "docs" / "writing-connectors.md").read_text()
    package = ROOT / "examples" / "third_party_connector"
    toml = (package / "pyproject.toml").read_text()
    (entry,) = re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)
    assert entry in toml
    tests = (package / "tests" / "test_line_service.py").read_text()
    for line in (
        'return Reply(body=\'{"lines": [], "next": null}\')',
        "class TestLineService(HttpCollectorCompliance):",
    ):
        assert line in guide and line in tests


@pytest.mark.slow
def test_the_command_of_the_guide_runs_as_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = (ROOT / "docs" / "writing-connectors.md").read_text()
    (text,) = [block for block in re.findall(r"```python\n(.*?)```", guide, re.DOTALL) if "commands import" in block]
    answers = [CommandAnswer("node-01", "a line\n"), CommandAnswer(exit_code=3, stderr="no")]
    fake = FakeCommand(tmp_path, "lines", answers)
    monkeypatch.setenv("PATH", str(fake.path.parent))
    shared = {"Observation": Observation, "Source": Source, "Status": Status, "DEADLINE": DEADLINE, "halted": never}
    for node, program, expected in (
        ("node-01", "lines", "a line\n"),
        ("node-02", "lines", "`lines` ended with exit code 3: no"),
        ("node-01", "rows", "there is no program `rows`"),
    ):
        names: dict[str, Any] = {**shared, "node": node}
        exec(text.replace('"lines"', f'"{program}"'), names)
        told = names.get("told")
        assert (told.reason if isinstance(told, Observation) else names["text"]) == expected
