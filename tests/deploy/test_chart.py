"""The Helm chart renders to objects that Kubernetes accepts, and refuses values that it cannot serve.

Rendering runs Go's own templates with sprig (`render/main.go`), as Helm does, since Debian ships no helm. Where a helm
is on the PATH, its linter runs too.
"""

import json
import os
import shutil
import subprocess
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from attribution.blueprint.watching.settings import WatchSettings

CHART = Path(__file__).parents[2] / "deploy" / "helm" / "attribution"
RENDERER = Path(__file__).parent / "render" / "main.go"
GO_PACKAGES = Path("/usr/share/gocode")
KUBERNETES = "1.33"
VALUES = sorted((CHART / "ci").glob("*-values.yaml"))


@pytest.fixture(scope="session")
def renderer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled renderer."""
    go = shutil.which("go")
    if not go or not (GO_PACKAGES / "src/github.com/Masterminds/sprig").is_dir():
        if os.environ.get("CI"):
            pytest.fail("golang-go and golang-github-masterminds-sprig-dev are not installed")
        pytest.skip("needs golang-go and golang-github-masterminds-sprig-dev")
    program = tmp_path_factory.mktemp("render") / "render"
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(program.parent),
        "GO111MODULE": "off",
        "GOPATH": str(GO_PACKAGES),
        "GOCACHE": str(program.parent / "cache"),
    }
    subprocess.run([go, "build", "-o", program, RENDERER], check=True, env=environment)
    return program


def defaults() -> dict[str, Any]:
    return dict(yaml.safe_load((CHART / "values.yaml").read_text()))


def merged(over: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    """Values laid over the chart's own, as Helm lays them: mappings key by key, anything else whole."""
    result = deepcopy(base)
    for key, value in over.items():
        inner = result.get(key)
        result[key] = merged(value, inner) if isinstance(value, dict) and isinstance(inner, dict) else value
    return result


def render(renderer: Path, over: dict[str, Any], folder: Path) -> subprocess.CompletedProcess[str]:
    file = folder / "values.json"
    file.write_text(json.dumps(merged(over, defaults())))
    return subprocess.run([renderer, CHART, file], capture_output=True, text=True, check=False)


def objects(renderer: Path, over: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    done = render(renderer, over, folder)
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]


@pytest.mark.parametrize("file", VALUES, ids=lambda path: path.stem)
def test_every_object_is_one_that_kubernetes_knows(renderer: Path, file: Path, tmp_path: Path) -> None:
    found = objects(renderer, yaml.safe_load(file.read_text()), tmp_path)
    assert len(found) >= 5
    for item in found:
        kubernetes_validate.validate(item, KUBERNETES, strict=True)


@pytest.mark.parametrize("file", VALUES, ids=lambda path: path.stem)
def test_the_schema_accepts_the_shipped_values(file: Path) -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    jsonschema.validate(defaults(), schema)
    jsonschema.validate(merged(yaml.safe_load(file.read_text()), defaults()), schema)


@pytest.mark.parametrize(
    "over",
    [
        {"servise": {}},
        {"service": {"replicas": 0}},
        {"service": {"env": {"PATH": "/bin"}}},
        {"store": {"volume": {"size": "much"}}},
        {"web": {"port": "8080"}},
    ],
    ids=str,
)
def test_the_schema_refuses_wrong_values(over: dict[str, Any]) -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(merged(over, defaults()), schema)


def test_every_value_is_in_the_schema() -> None:
    def keys(value: Any, path: str = "") -> set[str]:
        if not isinstance(value, dict):
            return set()
        return {f"{path}.{key}" for key in value} | {k for key in value for k in keys(value[key], f"{path}.{key}")}

    def known(node: dict[str, Any], path: str = "") -> set[str]:
        inner = node.get("properties", {})
        return {f"{path}.{key}" for key in inner} | {k for key in inner for k in known(inner[key], f"{path}.{key}")}

    free = (".service.resources.", ".web.resources.", ".blueprint.resources.")
    schema = json.loads((CHART / "values.schema.json").read_text())
    assert {key for key in keys(defaults()) if not key.startswith(free)} == known(schema) - {".global"}


def test_pods_cannot_be_reached_without_tokens(renderer: Path, tmp_path: Path) -> None:
    done = render(renderer, {}, tmp_path)
    assert done.returncode != 0
    assert "tokens.secretName is empty" in done.stderr


def test_several_replicas_need_a_shared_store(renderer: Path, tmp_path: Path) -> None:
    done = render(renderer, {"tokens": {"secretName": "t"}, "service": {"replicas": 2}}, tmp_path)
    assert done.returncode != 0
    assert "needs PostgreSQL" in done.stderr


def test_several_blueprints_share_the_work_over_a_shared_store_only(renderer: Path, tmp_path: Path) -> None:
    blueprint = {"enabled": True, "replicas": 2, "tokenSecretName": "t"}
    done = render(renderer, {"tokens": {"secretName": "t"}, "blueprint": blueprint}, tmp_path)
    assert done.returncode != 0
    assert "blueprint.replicas above 1 needs PostgreSQL" in done.stderr
    found = objects(renderer, yaml.safe_load((CHART / "ci/postgres-values.yaml").read_text()), tmp_path)
    (pods,) = (i["spec"] for i in found if i["kind"] == "Deployment" and i["metadata"]["name"].endswith("blueprint"))
    (container,) = pods["template"]["spec"]["containers"]
    assert pods["replicas"] == 2 and "--watch" in container["args"]
    assert pods["template"]["spec"]["terminationGracePeriodSeconds"] > WatchSettings().shutdown_secs


def test_the_smallest_installation_is_closed_to_the_outside(renderer: Path, tmp_path: Path) -> None:
    found = objects(renderer, {"tokens": {"secretName": "t"}}, tmp_path)
    kinds = sorted(item["kind"] for item in found)
    assert kinds == ["Deployment", "Deployment", "NetworkPolicy", "PersistentVolumeClaim", "Service", "Service"]
    assert {item["spec"]["type"] for item in found if item["kind"] == "Service"} == {"ClusterIP"}
    for pod in (item["spec"]["template"]["spec"] for item in found if item["kind"] == "Deployment"):
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        assert pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True
    (web,) = (item for item in found if item["kind"] == "Deployment" and item["metadata"]["name"].endswith("web"))
    assert "podAffinity" in web["spec"]["template"]["spec"]["affinity"]
    (container,) = web["spec"]["template"]["spec"]["containers"]
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert {"name": "ATTRIBUTION_WEB_STORE", "value": "/var/lib/attribution/attribution.db"} in container["env"]


def test_passwords_stay_in_secrets(renderer: Path, tmp_path: Path) -> None:
    found = objects(renderer, yaml.safe_load((CHART / "ci/postgres-values.yaml").read_text()), tmp_path)
    assert not any(item["kind"] in {"Secret", "PersistentVolumeClaim"} for item in found)
    (service,) = (i for i in found if i["kind"] == "Deployment" and i["metadata"]["name"].endswith("service"))
    environment = {e["name"]: e for e in service["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert environment["ATTRIBUTION_STORE"]["valueFrom"]["secretKeyRef"] == {"name": "attribution-store", "key": "url"}
    assert environment["ATTRIBUTION_IDLE_SECS"]["value"] == "3600"


@pytest.mark.parametrize("file", VALUES, ids=lambda path: path.stem)
def test_helm_itself_has_nothing_to_say(file: Path) -> None:
    helm = shutil.which("helm")
    if not helm:
        pytest.skip("no helm here")
    done = subprocess.run([helm, "lint", "--strict", CHART, "-f", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
