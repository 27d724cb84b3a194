"""Metric strips: the samples of a metric over the time of the timeline, drawn by the server."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from attribution.contracts.diagnosis import Evidence, Sample
from attribution.contracts.result import AttributionBlueprintResult
from attribution.dashboard.views.scale import Scale
from attribution.presentation import words
from attribution.presentation.columns import clip

SHOWN_STRIPS = 12
"""Strips of one page."""

SHOWN_SAMPLES = 600
"""Samples of one strip."""

HEIGHT = 100
"""Units from the lowest value to the highest."""


@dataclass(frozen=True, slots=True)
class Strip:
    """The samples of one metric. `lines` are the pieces between gaps, `dots` samples that stand alone.

    Places are percent of width and height; `times` in seconds since 1970 and `values` are the same for a script.
    """

    name: str
    labels: str
    node: str
    rule: str
    href: str
    low: str
    high: str
    lines: tuple[str, ...]
    dots: tuple[tuple[float, float], ...]
    times: str
    values: str
    rows: tuple[tuple[str, str], ...]
    note: str


def strips(
    result: AttributionBlueprintResult, scale: Scale, href: Callable[[str], str]
) -> tuple[tuple[Strip, ...], int]:
    """The strips of a result in the order of their time, and how many more there are."""
    sampled = [item for item in result.diagnosis.evidence if len(item.samples) > 1]
    return tuple(_strip(item, scale, href(item.id)) for item in sampled[:SHOWN_STRIPS]), max(
        0, len(sampled) - SHOWN_STRIPS
    )


def _strip(item: Evidence, scale: Scale, href: str) -> Strip:
    within = [sample for sample in item.samples if scale.holds(sample.at)]
    shown = _thinned(within, SHOWN_SAMPLES)
    values = [s.value for s in item.samples if s.value is not None]
    low, high = min(values, default=0.0), max(values, default=0.0)
    pieces = [[(scale.x(s.at), _y(s.value, low, high)) for s in piece] for piece in _pieces(shown)]
    name, _, labels = item.text.partition("{")
    outside = len(item.samples) - len(within)
    note = f"{words.counted(outside, 'sample')} outside of the drawing" if outside else ""
    return Strip(
        name=clip(name, 120),
        labels=clip(labels.rpartition("}")[0].replace('"', "").replace(",", ", "), 160),
        node=clip(item.node or "", 120),
        rule=item.rule,
        href=href,
        low=f"{low:g}",
        high=f"{high:g}",
        lines=tuple(" ".join(f"{x:.2f},{y:.2f}" for x, y in piece) for piece in pieces if len(piece) > 1),
        dots=tuple(piece[0] for piece in pieces if len(piece) == 1),
        times=",".join(f"{s.at.timestamp():.3f}" for s in shown),
        values=",".join("" if s.value is None else f"{s.value!r}" for s in shown),
        rows=tuple((words.time(s.at), "blank" if s.value is None else f"{s.value:g}") for s in shown[:60]),
        note=note,
    )


def _y(value: float | None, low: float, high: float) -> float:
    return HEIGHT / 2 if value is None or high == low else HEIGHT * (1 - (value - low) / (high - low))


def _pieces(samples: Sequence[Sample]) -> list[list[Sample]]:
    """Runs of samples that have a value."""
    pieces: list[list[Sample]] = [[]]
    for sample in samples:
        if sample.value is None:
            pieces.append([])
        else:
            pieces[-1].append(sample)
    return [piece for piece in pieces if piece]


def _thinned(samples: Sequence[Sample], most: int) -> list[Sample]:
    """At most so many samples, evenly chosen; the first and the last stay."""
    if len(samples) <= most:
        return list(samples)
    return [samples[round(n * (len(samples) - 1) / (most - 1))] for n in range(most)]
