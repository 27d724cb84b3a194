"""The pages and examples hold configurations that work, every setting, and the rights that are asked for."""

import re
from pathlib import Path

import pytest
import yaml

from attribution.blueprint.connectors.context.kueue import KueueSettings
from attribution.blueprint.connectors.kubernetes.resources import EVENT, JOBS, NODE, POD, RAY_CLUSTER, WORKLOAD
from attribution.blueprint.connectors.logs.kubernetes_pods import KubernetesPodsSettings
from attribution.blueprint.connectors.registry import find_connectors
from attribution.blueprint.settings import load_settings

from tests.conftest import ROOT

PAGES = {"kueue": KueueSettings, "kubernetes-pods": KubernetesPodsSettings}
EXAMPLES = sorted((ROOT / "examples" / "kueue").glob("blueprint*.yaml"))


def blocks(page: str) -> list[str]:
    text = (ROOT / "docs" / "connectors" / f"{page}.md").read_text()
    return re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_the_configurations_of_a_page_are_taken(page: str, tmp_path: Path) -> None:
    found = blocks(page)
    assert len(found) >= 2
    for number, text in enumerate(found):
        file = tmp_path / f"{number}.yaml"
        file.write_text(text)
        load_settings(find_connectors(), file, {}, {})


@pytest.mark.parametrize("page", PAGES)
def test_the_full_configuration_has_every_setting(page: str) -> None:
    full = "\n".join(blocks(page)).replace("# ", "")
    missing = [name for name in PAGES[page].model_fields if not re.search(rf"\b{name}\b", full)]
    # the second page refers to the first for how the API is reached
    assert [name for name in missing if page == "kueue" or name not in {"token_file", "ca_file"}] == []


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_the_examples_are_taken(file: Path) -> None:
    settings, _ = load_settings(find_connectors(), file, {}, {})
    assert settings.context.kueue is not None  # type: ignore[attr-defined]


def test_the_roles_of_the_example_hold_every_right_that_is_used() -> None:
    granted = {
        (verb, group, resource)
        for thing in yaml.safe_load_all((ROOT / "examples" / "kueue" / "rbac.yaml").read_text())
        for rule in thing.get("rules", ())
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    used = {(verb, kind.group, kind.plural) for kind in (*JOBS, RAY_CLUSTER, WORKLOAD, POD) for verb in ("get", "list")}
    used |= {
        ("list", "", EVENT.plural),
        ("create", "", EVENT.plural),
        ("get", "", NODE.plural),
        ("get", "", "pods/log"),
    }
    assert used <= granted
