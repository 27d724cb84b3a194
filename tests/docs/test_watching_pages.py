"""What the pages on watching and sinks say is what the code has."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from attribution.blueprint.connectors.registry import find_connectors
from attribution.blueprint.connectors.sinks.webhook import KEY, SIGNATURE, TIMESTAMP, WebhookSettings, signature
from attribution.blueprint.settings import load_settings
from attribution.blueprint.watching.meters import Meters
from attribution.blueprint.watching.settings import WatchSettings
from attribution.store.schema import metadata

from tests.conftest import ROOT

WATCHING = (ROOT / "docs" / "watching.md").read_text("utf-8")
SINKS = (ROOT / "docs" / "connectors" / "sinks.md").read_text("utf-8")


def test_every_metric_is_listed_with_its_labels_and_meaning() -> None:
    rows = re.findall(r"^\| `(attribution_watch_\w+)` \| (.*?) ?\| (.+) \|$", WATCHING, re.M)
    listed = {name: (tuple(re.findall(r"`(\w+)`", labels)), meaning) for name, labels, meaning in rows}
    meters = Meters(["a"], ["b"])
    known = {}
    for collector in vars(meters).values():
        if hasattr(collector, "_documentation"):
            (family,) = collector.describe()
            name = f"{family.name}_total" if family.type == "counter" else family.name
            known[name] = (tuple(collector._labelnames), family.documentation)
    assert listed == known


def test_every_table_and_setting_that_is_named_is_one() -> None:
    tables = set(re.findall(r"^\| `(watch_\w+)` \|", WATCHING, re.M))
    assert tables == {name for name in metadata.tables if name.startswith("watch_")}
    named = set(re.findall(r"`(\w+_(?:secs|port|host|token)|retries|losses|backlog)`", WATCHING))
    assert named and named <= set(WatchSettings.model_fields)


def blocks(text: str) -> list[Any]:
    return [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", text, re.S)]


@pytest.mark.parametrize("settings", blocks(WATCHING) + blocks(SINKS), ids=lambda found: "-".join(found))
def test_every_configuration_loads(settings: dict[str, Any], tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("https://hooks.example/s3cret\n")
    for section in settings.get("sinks", {}).values():
        section |= {name: str(secret) for name in section if name.endswith("_file")}
    (tmp_path / "blueprint.yaml").write_text(yaml.safe_dump(settings))
    load_settings(find_connectors(), tmp_path / "blueprint.yaml", {}, {})


def test_the_full_configurations_have_every_setting() -> None:
    for name in ("webhook", "slack"):
        full = [found["sinks"][name] for found in blocks(SINKS) if name in found["sinks"]][-1]
        known = find_connectors().known
        (model,) = (kind[name].Settings for kind in known.values() if name in kind)
        assert {key.removesuffix("_file") for key in full} == set(model.model_fields)


def test_the_receiver_of_the_page_knows_what_is_genuine() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", SINKS, re.S)
    receiver: dict[str, Any] = {}
    exec(code, receiver)
    stamp = str(int(receiver["time"].time()))
    headers = {TIMESTAMP: stamp, SIGNATURE: signature("s3cret", stamp, b"{}")}
    assert receiver["is_genuine"](b"s3cret", headers, b"{}")
    assert not receiver["is_genuine"](b"s3cret", headers, b"{ }")
    assert not receiver["is_genuine"](b"other", headers, b"{}")
    old = str(int(stamp) - 3600)
    assert not receiver["is_genuine"](b"s3cret", {TIMESTAMP: old, SIGNATURE: signature("s3cret", old, b"{}")}, b"{}")
    assert f"`{KEY}`" in SINKS and WebhookSettings.model_fields["secret"].default is None
