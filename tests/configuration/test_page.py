"""docs/configuration.md is what the models say, and the examples are what the programs accept."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel
from scripts.write_configuration import main

from attribution.blueprint.connectors.context.static import ListedAttempts
from attribution.blueprint.connectors.registry import find_connectors
from attribution.blueprint.settings import load_settings, settings_model
from attribution.cli.web import PREFIX as WEB_PREFIX
from attribution.configuration.keys import PREFIX, keys
from attribution.configuration.layers import load
from attribution.contracts import documents
from attribution.dashboard.settings import WebSettings
from attribution.service.settings import ServiceSettings

from tests.conftest import ROOT

EXAMPLES = sorted((ROOT / "deploy" / "examples").glob("*.yaml"))
PROGRAMS = {
    "run": (settings_model(find_connectors()), PREFIX),
    "serve": (ServiceSettings, PREFIX),
    "web": (WebSettings, WEB_PREFIX),
}


def test_the_page_is_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(check=True) == 0, capsys.readouterr().out


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_setting_is_described_and_has_names_of_its_own(program: str) -> None:
    model, prefix = PROGRAMS[program]
    found = list(keys(model))
    assert found and all(key.meaning for key in found)
    for names in ([key.variable(prefix) for key in found], [key.flag for key in found], [key.name for key in found]):
        assert len(set(names)) == len(names)
    page = (ROOT / "docs" / "configuration.md").read_text()
    for key in found:
        assert f"| `{key.name}` | `{key.variable(prefix)}` |" in page


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_program_takes_the_variables_of_another_for_slips(program: str) -> None:
    model, prefix = PROGRAMS[program]
    own = {key.variable(prefix) for key in keys(model)}
    others = {key.variable(theirs): "1" for other, theirs in PROGRAMS.values() for key in keys(other)}
    assert load(model, None, {name: text for name, text in others.items() if name not in own}, {}, prefix)[1] == {}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_accepted(path: Path, tmp_path: Path) -> None:
    text = path.read_text()
    if path.stem == "blueprint-attempts":
        assert documents.load(text, path.name, ListedAttempts).attempts
        return
    program = re.split(r"[-.]", path.name)[0]
    for form in (text, re.sub(r"^( *)# (\w+: \S+)$", r"\1\2", text, flags=re.MULTILINE)):  # with what is commented out
        copy = tmp_path / path.name
        copy.write_text(form.replace("/etc/attribution/token\n", f"{path}\n"))
        assert _loaded(program, copy)


def _loaded(program: str, file: Path) -> BaseModel:
    if program == "blueprint":
        return load_settings(find_connectors(), file, {}, {})[0]
    return load({"service": ServiceSettings, "web": WebSettings}[program], file, {}, {})[0]
