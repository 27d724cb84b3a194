"""The settings of `attribution run`; the sections of connectors are made of the connectors there are."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, create_model

from attribution.blueprint.connectors.base import Connector, Kind
from attribution.blueprint.connectors.registry import Registry
from attribution.blueprint.watching.settings import WatchSettings
from attribution.client.client import BatchLimits
from attribution.client.retry import Retries
from attribution.configuration.layers import Origins, load
from attribution.configuration.secrets import HttpAddress, Secret
from attribution.contracts.base import Strict
from attribution.contracts.errors import ConfigurationError, Problem


class Endpoint(Strict):
    """Which Service is asked, and how patiently."""

    url: HttpAddress | None = Field(
        default=None,
        description="address of the Attribution Service; without one, it runs within this process",
    )
    token: Secret | None = Field(default=None, description="bearer token that the Service asks for")
    timeout_secs: float = Field(default=30.0, gt=0, description="how long one answer may take")
    answer_timeout_secs: float = Field(default=300.0, gt=0, description="how long a diagnosis may take")
    retry_secs: float = Field(default=60.0, ge=0, description="how long a call is tried again before it is given up")
    batch_bytes: int = Field(default=4 << 20, ge=1, description="bytes of observations in one request, uncompressed")
    batch_observations: int = Field(default=500, ge=1, description="observations in one request")

    @property
    def retries(self) -> Retries:
        """The same as the client's retries, which only time limits."""
        return Retries(times=1_000_000, total_secs=self.retry_secs)

    @property
    def limits(self) -> BatchLimits:
        """The same as the client's limits."""
        return BatchLimits(bytes=self.batch_bytes, observations=self.batch_observations)


class BlueprintSettings(Strict):
    """What every Blueprint has; `settings_model` adds the sections of connectors."""

    cluster: str | None = Field(default=None, description="name of the cluster, for contexts that do not say it")
    tenant: str | None = Field(default=None, description="whose attempts these are, for contexts that do not say it")
    workers: int = Field(default=2, ge=1, le=256, description="attempts that are worked on at the same time")
    deadline_secs: float | None = Field(
        default=None, gt=0, description="give the best answer within this time, counted from when the Service is ready"
    )
    delivery_retry_secs: float = Field(
        default=10.0, ge=0, description="how long a single run offers a result again to a sink that fails"
    )
    service: Endpoint = Endpoint()
    watch: WatchSettings = WatchSettings()

    @property
    def deliveries(self) -> Retries:
        """How often a single run offers a result to a sink, which only time limits."""
        return Retries(times=1_000_000, total_secs=self.delivery_retry_secs)


def settings_model(registry: Registry) -> type[BlueprintSettings]:
    """The settings with one section for each kind of connector and in it one for each connector."""
    sections: dict[str, Any] = {}
    for kind in Kind:
        section = _section(kind, registry.known[kind])
        sections[kind.value] = (section, section())
    return create_model("BlueprintSettings", __base__=BlueprintSettings, **sections)


def _section(kind: Kind, connectors: Mapping[str, type[Connector[Any]]]) -> type[Strict]:
    fields: dict[str, Any] = {name: (found.Settings | None, None) for name, found in connectors.items()}
    return create_model(f"{kind.value.capitalize()}Connectors", __base__=Strict, **fields)


def load_settings(
    registry: Registry, file: Path | None, environ: Mapping[str, str], flags: Mapping[str, str]
) -> tuple[BlueprintSettings, Origins]:
    """The settings in force and where each came from. Raises ConfigurationError."""
    try:
        settings, origins = load(settings_model(registry), file, environ, flags)
    except ConfigurationError as error:
        raise ConfigurationError([_told(problem, registry) for problem in error.problems]) from None
    return settings.model_copy(update=dict(_defaults(settings, registry))), origins


def _defaults(settings: BlueprintSettings, registry: Registry) -> Iterator[tuple[str, Strict]]:
    """The sections in which no connector is named, with those that are used then."""
    for kind, known in registry.known.items():
        section: Strict = getattr(settings, kind.value)
        if all(getattr(section, name) is None for name in known):
            used = {name: found.Settings() for name, found in known.items() if found.by_default}
            yield kind.value, section.model_copy(update=used)


_UNKNOWN = re.compile(r"has the unknown key `(context|logs|metrics|sinks)\.([^.`]+)`")


def _told(problem: Problem, registry: Registry) -> Problem:
    """An unknown key where a connector belongs is a connector that is not there."""
    found = _UNKNOWN.fullmatch(problem.message)
    if found is None:
        return problem
    kind, name = Kind(found.group(1)), found.group(2)
    if name in registry.broken:
        return Problem(problem.place, "P001", f"has the connector `{name}`, which {registry.broken[name]}")
    known = ", ".join(registry.known[kind]) or "none"
    remedy = f"installed: {known}; others come with packages that declare them"
    return Problem(problem.place, "P001", f"has the connector `{name}` in `{kind}`, which is not installed", remedy)


def configured(settings: BlueprintSettings, registry: Registry, kind: Kind) -> dict[str, Any]:
    """The connectors of one kind that are in use, made and ready, by name."""
    section = getattr(settings, kind.value)
    own = {name: getattr(section, name) for name in sorted(registry.known[kind])}
    return {name: registry.known[kind][name](its) for name, its in own.items() if its is not None}
