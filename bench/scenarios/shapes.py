"""The register of shapes: families of roots and of harmless attempts, each a function of a scene."""

from collections.abc import Callable
from dataclasses import dataclass

from bench.scenarios.fleet import MODELS
from bench.scenarios.scene import Scene
from bench.scenarios.truth import Finding

Build = Callable[[Scene], Finding]


@dataclass(frozen=True)
class Shape:
    """One family. `needs` and `forbid` name sources of a layout, `phase` is when it happens: launch, load or run."""

    name: str
    group: str
    sub_domain: str
    build: Build
    needs: frozenset[str]
    forbid: frozenset[str]
    scheduler: str | None
    launcher: str | None
    models: tuple[str, ...]
    phase: str
    weight: float
    withhold: bool
    pair: bool
    negative: bool


SHAPES: dict[str, Shape] = {}


def shape(
    name: str,
    group: str,
    sub_domain: str,
    *,
    needs: str = "applog",
    forbid: str = "",
    scheduler: str | None = None,
    launcher: str | None = None,
    models: str = "",
    phase: str = "run",
    weight: float = 1.0,
    withhold: bool = False,
    pair: bool = False,
    negative: bool = False,
) -> Callable[[Build], Build]:
    """Registers a function as a shape.

    `withhold` says that the cause can be taken out of the bundle by whole files; `pair` that a second, independent
    root may be put beside it.
    """

    def register(build: Build) -> Build:
        assert name not in SHAPES, name
        SHAPES[name] = Shape(
            name,
            group,
            sub_domain,
            build,
            frozenset(needs.split()),
            frozenset(forbid.split()),
            scheduler,
            launcher,
            tuple(models.split()) or tuple(MODELS),
            phase,
            weight,
            withhold,
            pair,
            negative,
        )
        return build

    return register
