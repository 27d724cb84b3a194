"""The settings hold a section for each connector that is installed, and the connectors in use are made of them."""

from collections.abc import Mapping
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from pydantic import Field

from attribution.blueprint.connectors.base import Kind
from attribution.blueprint.connectors.registry import GROUP, Registry, find_connectors
from attribution.blueprint.connectors.sinks.stdout import Stdout
from attribution.blueprint.settings import Endpoint, configured, load_settings
from attribution.contracts.base import Strict
from attribution.contracts.errors import ConfigurationError


class OtherSettings(Strict):
    topic: str = Field(default="results", description="where to")


class Other(Stdout):
    """A sink of another package."""

    Settings = OtherSettings
    by_default = False


def in_use(registry: Registry, text: str, tmp_path: Path, environ: Mapping[str, str] | None = None) -> list[str]:
    file = tmp_path / "blueprint.yaml"
    file.write_text(text)
    settings, _ = load_settings(registry, file, environ or {}, {})
    return [f"{kind.value}.{name}" for kind in Kind for name in configured(settings, registry, kind)]


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("", ["logs.local_files", "sinks.stdout"]),
        ("context: {static: }", ["context.static", "logs.local_files", "sinks.stdout"]),
        ("sinks: {database: {url: a.db}}", ["logs.local_files", "sinks.database"]),
        ("sinks:\n  database: {url: a.db}\n  stdout:\n", ["logs.local_files", "sinks.database", "sinks.stdout"]),
    ],
)
def test_which_connectors_are_used(tmp_path: Path, text: str, used: list[str]) -> None:
    assert in_use(find_connectors(), text, tmp_path) == used


def test_a_connector_of_another_package_is_configured_as_the_others_are(tmp_path: Path) -> None:
    shipped = find_connectors().known
    registry = Registry({**shipped, Kind.SINKS: {**shipped[Kind.SINKS], "other": Other}}, {})
    assert in_use(registry, "sinks: {other: }", tmp_path) == ["logs.local_files", "sinks.other"]
    environ = {"ATTRIBUTION_SINKS_OTHER_TOPIC": "failures"}
    settings, origins = load_settings(registry, None, environ, {})
    assert configured(settings, registry, Kind.SINKS)["other"].settings == OtherSettings(topic="failures")
    assert origins == {"sinks.other.topic": "environment ATTRIBUTION_SINKS_OTHER_TOPIC"}


def test_a_connector_that_cannot_be_loaded_is_told_where_it_is_configured(tmp_path: Path) -> None:
    registry = find_connectors([EntryPoint("kafka", "no_such_package:Sink", GROUP)])
    with pytest.raises(ConfigurationError) as caught:
        in_use(registry, "sinks: {kafka: }", tmp_path)
    problem = "P001 has the connector `kafka`, which cannot be loaded: No module named 'no_such_package'"
    assert str(caught.value) == f"{tmp_path}/blueprint.yaml:1:9: {problem}"


def test_a_database_needs_its_address(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"1:9: D012 lacks the key `sinks\.database\.url`"):
        in_use(find_connectors(), "sinks: {database: }", tmp_path)
    url = {"ATTRIBUTION_SINKS_DATABASE_URL": "postgresql://me:pass@host/db"}
    assert "sinks.database" in in_use(find_connectors(), "", tmp_path, url)


def test_only_time_limits_how_often_a_call_is_tried() -> None:
    retries = Endpoint(retry_secs=86_400).retries
    assert retries.total_secs == 86_400 and retries.times * retries.longest_wait_secs / 2 > 86_400


def problem_of(text: str, tmp_path: Path) -> str:
    with pytest.raises(ConfigurationError) as caught:
        in_use(find_connectors(), text, tmp_path)
    (problem,) = caught.value.problems
    return str(problem).removeprefix(f"{tmp_path}/")


def test_a_secret_that_is_missing_is_asked_for_where_it_may_stand(tmp_path: Path) -> None:
    """Who is told to add it would be told next that it may not stand there."""
    assert problem_of("sinks:\n  slack: {}\n", tmp_path) == (
        "blueprint.yaml:2:3: D012 lacks the key `sinks.slack.url` (it is a secret: set ATTRIBUTION_SINKS_SLACK_URL, or "
        "name a file with `sinks.slack.url_file`)"
    )


def test_a_section_that_is_a_text_is_told_once(tmp_path: Path) -> None:
    told = problem_of("sinks:\n  slack: http://10.0.0.1/hook\n", tmp_path)
    assert told == "blueprint.yaml:2:3: K004 should have a mapping behind `sinks.slack` (write its keys below it)"


def test_a_time_without_end_is_refused(tmp_path: Path) -> None:
    """A time-out of 1e400 s is more than any clock can tell."""
    for text in ("deadline_secs: 1e400", "context: {kueue: {timeout_secs: 1e400}}", "watch: {interval_secs: 1e400}"):
        with pytest.raises(ConfigurationError, match="input should be a finite number"):
            in_use(find_connectors(), text, tmp_path)
