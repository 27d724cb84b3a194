"""Hot spots: units that fail more often than the fleet, with how likely that is by chance, in plain words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import floor, log10

from attribution.dashboard.views import links
from attribution.dashboard.views.attempts import NAME_COLUMNS
from attribution.dashboard.views.histories import When, unit_words, when
from attribution.dashboard.views.spans import Choice, SpanQuery
from attribution.presentation import words
from attribution.presentation.columns import clip
from attribution.store.hot_spots import FEWEST, LOOKED_AT, NODES_LOOKED_AT, TIMES, Fleet, HotSpot, HotSpots
from attribution.store.units import UnitKind

NAMES: Mapping[UnitKind, tuple[str, str]] = {
    UnitKind.NODE: ("Nodes", "node"),
    UnitKind.GPU: ("GPUs", "GPU"),
    UnitKind.LINK: ("Links", "link"),
    UnitKind.NIC: ("Network adapters", "network adapter"),
    UnitKind.PORT: ("Ports of nodes", "port"),
    UnitKind.SWITCH: ("Switches", "switch"),
    UnitKind.SWITCH_PORT: ("Ports of switches", "port"),
    UnitKind.OTHER: ("Other parts", "part"),
}
"""What each kind is called, in the order of the page."""


SHOWN_OTHERS = 15
"""Units of a kind that are shown though they do not stand out; the JSON has all that were compared."""


@dataclass(frozen=True, slots=True)
class SpotRow:
    """One unit."""

    name: str
    cluster: str
    href: str
    node: str
    node_href: str
    failures: str
    attempts: str
    rate: str
    expected: str
    times: str
    surprise: str
    last: When | None


@dataclass(frozen=True, slots=True)
class KindView:
    """The units of one kind: those that stand out, and others that failed as often as a hot spot must."""

    id: str
    label: str
    fleet: str
    hot: tuple[SpotRow, ...]
    others: tuple[SpotRow, ...]
    others_word: str
    cut: str


@dataclass(frozen=True, slots=True)
class HotSpotsView:
    """The page."""

    headline: str
    told: str
    rule: str
    json: str
    spans: tuple[Choice, ...]
    clusters: tuple[Choice, ...]
    kinds: tuple[KindView, ...]
    empty: str


def href_of(row: HotSpot, query: SpanQuery) -> str:
    """The history of a unit, over the same days."""
    keys = query.kept(row.cluster)
    return links.unit(row.node, row.unit, **keys) if row.unit else links.node(row.node, **keys)


def hot_spots_view(query: SpanQuery, found: HotSpots, held: Sequence[str], now: datetime) -> HotSpotsView:
    """The page: what stands out by kind, then what was looked at and does not; `held` are the clusters there are."""
    show = _Show(query, len(held) > 1, now)
    hot = [row for row in found.rows if row.stands_out]
    fleet = found.fleet
    kinds = tuple(_kind(kind, found, show) for kind in NAMES if any(row.kind is kind for row in found.rows))
    return HotSpotsView(
        headline=words.sentence(words.counted(len(hot), "hot spot")) if hot else "No hot spot",
        told=(
            f"{words.counted(fleet.attempts, 'attempt')} on {words.counted(fleet.nodes, 'node')} "
            f"in the last {query.days} days, since {fleet.since:%Y-%m-%d} 00:00Z"
        ),
        rule=(
            "Counted are roots that are sure and lie in the hardware, driver or system of a node: findings that were "
            "set aside, one of several causes that fit, and faults of the job or of a service count against nothing. "
            f"A hot spot failed at least {FEWEST} times, at least {TIMES:g} times as often as the fleet, and so often "
            "that chance alone gives it to some unit in one of 100 such fleets at most."
        ),
        json=query.address(f"{links.HOT_SPOTS}.json"),
        spans=query.choices(links.HOT_SPOTS),
        clusters=query.clusters(links.HOT_SPOTS, held, query.get("cluster") or None, whole=True),
        kinds=kinds,
        empty=f"No unit failed {FEWEST} times or more in the last {query.days} days.",
    )


@dataclass(frozen=True, slots=True)
class _Show:
    """What rows need to know: the days they lead to, and whether there are several clusters."""

    query: SpanQuery
    clusters: bool
    now: datetime


def _kind(kind: UnitKind, found: HotSpots, show: _Show) -> KindView:
    label, noun = NAMES[kind]
    rows = [row for row in found.rows if row.kind is kind]
    hot = tuple(_spot(row, show) for row in rows if row.stands_out)
    rest = [row for row in rows if not row.stands_out]
    others = tuple(_spot(row, show) for row in rest[:SHOWN_OTHERS])
    shown = f"the {len(others)} least likely of {len(rest)}" if len(rest) > len(others) else f"{len(others)}"
    most = NODES_LOOKED_AT if kind is UnitKind.NODE else LOOKED_AT
    cut = f"Compared are the {most} with the most failures." if len(rows) >= most else ""
    return KindView(kind.value, label, _fleet_words(kind, noun, found.fleet), hot, others, shown, cut)


def _fleet_words(kind: UnitKind, noun: str, fleet: Fleet) -> str:
    """What the units of a kind are compared with."""
    failures, units = fleet.failures[kind], fleet.units[kind]
    told = words.counted(failures, "failure")
    if kind in {UnitKind.SWITCH, UnitKind.SWITCH_PORT}:
        return (
            f"{told} of {words.counted(units, noun)} that failed at all; which attempts used which is not known, "
            "so each is compared with these."
        )
    rate = per_thousand(failures, fleet.node_attempts)
    if kind is UnitKind.NODE:
        return f"The fleet: {told} in {fleet.node_attempts:,} attempts of a node, {rate}."
    return (
        f"The fleet: {told} in {fleet.node_attempts:,} attempts of a node, {rate}. Each {noun} is compared with all of "
        "its kind in an average node together, so that it is understated rather than overstated."
    )


def _spot(row: HotSpot, show: _Show) -> SpotRow:
    return SpotRow(
        name=unit_words(row.unit) if row.unit else clip(row.node, NAME_COLUMNS),
        cluster=(clip(row.cluster, NAME_COLUMNS) or "none") if show.clusters else "",
        href=href_of(row, show.query),
        node=clip(row.node, NAME_COLUMNS) if row.unit else "",
        node_href=links.node(row.node, **show.query.kept(row.cluster)) if row.unit and row.node else "",
        failures=f"{row.failures:,}",
        attempts="not known" if row.attempts is None else f"{row.attempts:,}",
        rate="" if row.attempts is None else per_thousand(row.failures, row.attempts),
        expected=_few(row.expected),
        times=f"{_few(row.failures / row.expected)} times" if row.expected > 0 else "",
        surprise=surprise(row.by_chance),
        last=when(row.last_at, show.now) if row.last_at else None,
    )


def surprise(chance: float) -> str:
    """How often chance alone gives as much to some unit of such a fleet, in words."""
    if chance > 0.2:
        return "no surprise: chance gives some unit as much"
    if chance < 1e-9:
        return "by chance in less than one of a billion such fleets"
    return f"by chance in one of {_round(1 / chance):,} such fleets"


def _round(value: float) -> int:
    """To two digits, downwards, so that it is never said to be rarer than it is."""
    size = 10 ** max(0, floor(log10(value)) - 1)
    return int(value // size * size)


def per_thousand(part: int, whole: int) -> str:
    """A rate that people can compare."""
    return f"{_few(1000 * part / whole)} of 1,000" if whole else ""


def _few(value: float) -> str:
    """A number with two digits that say something."""
    if value >= 10:
        return f"{value:,.0f}"
    return f"{value:.2g}" if value >= 0.01 else "< 0.01"
