"""The timeline: a lane per node, the cause first; nodes that show the same share a lane.

A time that is not proven is never drawn as a point: it is a span as wide as its doubt, open where nothing bounds it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from attribution.contracts.context import ExecutionContext
from attribution.contracts.result import AttributionBlueprintResult
from attribution.dashboard.views.scale import Scale, Tick
from attribution.dashboard.views.sightings import BLAMED, DECISIVE, WEIGHT, Kind, Moment, Sighting, sightings
from attribution.dashboard.views.tables import Table, table
from attribution.presentation import words
from attribution.presentation.answer import Answer
from attribution.presentation.columns import clip
from attribution.presentation.groups import grouped

OWN_LANES = 12
"""Nodes up to which each has a lane of its own."""

SHOWN_LANES = 24
"""Lanes that are drawn; what the others show is told in words."""

ROW_UNITS, LANE_PADDING = 15, 5
"""Height of a row, and what is free above and below the rows of a lane."""

_APART = 3.0
"""Percent of the width that two marks of one row lie apart."""

_WIDE = 1.2
"""Percent of the width from which on a span is wider than the shape that stands for a point."""

_LONGEST_NAME, _LONGEST_TITLE = 120, 400
"""Columns of a node's name, and of what a mark says."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One finding, or one kind of finding on several nodes. Places are percent of the width.

    `low` and `high` bound where it may lie; `high` is None where nothing does. `spread` says that they bound several
    findings instead. `href` is the evidence, empty where no line was kept.
    """

    kind: Kind
    first: bool
    x: float
    low: float
    high: float | None
    exact: bool
    spread: bool
    beyond: str
    row: int
    title: str
    href: str


@dataclass(frozen=True, slots=True)
class Lane:
    """What one node shows, or several that show the same. `name` is the node of a lane that is one's own."""

    label: str
    note: str
    name: str
    marks: tuple[Mark, ...]
    rows: int
    hidden: int

    @property
    def height(self) -> int:
        """How tall the lane is."""
        return self.rows * ROW_UNITS + 2 * LANE_PADDING


@dataclass(frozen=True, slots=True)
class Bound:
    """Where the attempt began or ended."""

    x: float
    word: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A mark as a row of the table. `href` is its evidence."""

    time: str
    where: str
    what: str
    kind: str
    reason: str
    href: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """The drawing, its legend and the table that says the same."""

    scale: Scale
    day: str
    summary: str
    ticks: tuple[Tick, ...]
    bounds: tuple[Bound, ...]
    outside: tuple[str, ...]
    lanes: tuple[Lane, ...]
    legend: tuple[Kind, ...]
    flagged: bool
    unproven: bool
    open_ended: bool
    left_out: str
    table: Table[Entry]


_Shared = dict[tuple[tuple[str, Kind], ...], dict[str, list[Sighting]]]
"""Nodes with their findings, by what they show."""


def timeline(result: AttributionBlueprintResult, href: Callable[[str], str]) -> Timeline | None:
    """The timeline of a result; `href` gives the address of a piece of evidence. None where nothing has a time."""
    answer = Answer(result.diagnosis)
    found = list(sightings(answer))
    timed = [item for item in found if item.moment]
    if not timed:
        return None
    scale = _scale(timed, result)
    own, shared = _divided(found)
    crowd = len(own) + len(shared)
    draw = _Drawing(answer, scale, href, 4 if crowd <= 4 else 3 if crowd <= OWN_LANES else 2)
    lanes = [draw.lane(name, members) for name, members in own.items()]
    groups = list(shared.values())
    room = max(0, SHOWN_LANES - len(lanes))
    lanes += [draw.shared(group) for group in groups[:room]]
    outside, bounds = _bounds(result.context, scale)
    marks = [mark for lane in lanes for mark in lane.marks]
    kinds = {mark.kind for mark in marks}
    return Timeline(
        scale=scale,
        day=_day(scale),
        summary=_summary(answer, found, lanes),
        ticks=scale.ticks,
        bounds=tuple(bounds),
        outside=tuple(outside),
        lanes=tuple(lanes),
        legend=tuple(kind for kind in Kind if kind in kinds),
        flagged=any(mark.first for mark in marks),
        unproven=any(not mark.exact and not mark.spread and mark.high is not None for mark in marks),
        open_ended=any(mark.high is None for mark in marks),
        left_out=" ".join(_left_out(found, result.context, groups[room:])),
        table=table(_entries(answer, own, shared, href)),
    )


# --- the stretch of time ------------------------------------------------------------------------------------------


def _scale(timed: Sequence[Sighting], result: AttributionBlueprintResult) -> Scale:
    """The time of what failed and followed; what else was found, sampled or set as a bound widens it only so far."""
    context = result.context
    proven = [(item, item.moment.at) for item in timed if item.moment and item.moment.zoned]
    local = [item.moment.at for item in timed if item.moment and not item.moment.zoned]
    weighty = [at for item, at in proven if item.first or item.kind in DECISIVE]
    core = weighty or [at for _, at in proven] or local
    low, high = min(core), max(core)
    reach = max((high - low) * 3, timedelta(minutes=20))
    others = [at for item, at in proven if item.kind is not Kind.INFORMS]
    others += [at for at in local if _during(at, context)]
    others += [sample.at for item in result.diagnosis.evidence for sample in item.samples]
    near = [at for at in others if low - reach <= at <= high + reach]
    low, high = min([low, *near]), max([high, *near])
    slack = max((high - low) / 2, timedelta(seconds=30))
    if context.ended_at and high <= context.ended_at <= high + slack:
        high = context.ended_at
    if context.started_at and low - slack <= context.started_at <= low:
        low = context.started_at
    margin = max((high - low) / 25, timedelta(milliseconds=20)) if high > low else timedelta(seconds=5)
    return Scale(low - margin, high + margin)


def _during(at: datetime, context: ExecutionContext) -> bool:
    """Whether a clock of unknown zone reads a time of the attempt, so that it may well be UTC."""
    began, ended = context.started_at, context.ended_at
    return (began is None or began <= at) and (ended is None or at <= ended + timedelta(minutes=1))


def _bounds(context: ExecutionContext, scale: Scale) -> tuple[list[str], list[Bound]]:
    """Where the attempt began and ended, in the drawing and, where that lies outside, in words."""
    outside, drawn = [], []
    for word, at in (("began", context.started_at), ("ended", context.ended_at)):
        if at is None:
            continue
        if scale.holds(at):
            drawn.append(Bound(scale.x(at), word))
        else:
            away = words.relative(at - (scale.start if at < scale.start else scale.end)).lstrip("+-")
            side = "before" if at < scale.start else "after"
            outside.append(f"The attempt {word} {words.time(at)}, {away} {side} what is drawn.")
    return outside, drawn


def _day(scale: Scale) -> str:
    first, last = scale.start.date(), scale.end.date()
    return f"{first}" if first == last else f"{first} to {last}"


# --- lanes --------------------------------------------------------------------------------------------------------


def _divided(found: Sequence[Sighting]) -> tuple[dict[str, list[Sighting]], _Shared]:
    """Nodes with a lane of their own, and the others by what they show: causes first, then the first failure."""
    by_node = grouped(found, lambda item: item.node)
    ordered = sorted(by_node, key=lambda name: _rank(name, by_node[name]))
    if len(by_node) <= OWN_LANES:
        return {name: by_node[name] for name in ordered}, {}
    own = [name for name in ordered if _rank(name, by_node[name])[0] < 2 or not name][: OWN_LANES // 2]
    rest = [name for name in ordered if name not in own]
    shared: _Shared = {}
    for name in rest:
        shows = {(item.symptom, item.kind) for item in by_node[name] if item.kind is not Kind.INFORMS}
        if shows:
            shared.setdefault(tuple(sorted(shows)), {})[name] = by_node[name]
    largest = sorted(shared.items(), key=lambda pair: (_weight(pair[1]), -len(pair[1])))
    return {name: by_node[name] for name in own}, dict(largest)


def _weight(members: dict[str, list[Sighting]]) -> int:
    return min(WEIGHT[item.kind] for items in members.values() for item in items)


def _rank(name: str, members: Sequence[Sighting]) -> tuple[int, datetime, str]:
    causes = [item for item in members if item.kind in BLAMED]
    place = 0 if causes else 1 if any(item.first for item in members) else 2 if name else 3
    told = [item for item in members if item.kind is not Kind.INFORMS]
    times = [item.moment.at for item in (causes or told) if item.moment]
    return place if told else 4, min(times, default=_LAST), name


_LAST = datetime.fromisoformat("9999-12-31T00:00:00+00:00")


@dataclass(frozen=True, slots=True)
class _Drawing:
    """Draws lanes on a scale."""

    answer: Answer
    scale: Scale
    href: Callable[[str], str]
    rows: int

    def lane(self, name: str, members: Sequence[Sighting]) -> Lane:
        """The lane of one node; of what names no node, where `name` is empty."""
        marks = [self.mark(item) for item in members if item.moment or item.first or item.kind in DECISIVE]
        label = clip(self.answer.node(name), _LONGEST_NAME) if name else "no node named"
        untimed = sum(item.moment is None for item in members)
        note = f"{words.counted(untimed, 'finding')} without a time" if untimed else ""
        return self.laned(label, note, name, marks)

    def shared(self, group: dict[str, list[Sighting]]) -> Lane:
        """The lane of nodes that show the same: each kind of finding once, from the first to the last of them."""
        if len(group) == 1:
            return self.lane(*next(iter(group.items())))
        names = words.natural(group)
        kinds = grouped((item for items in group.values() for item in items), lambda item: (item.symptom, item.kind))
        drawn = [kin for (_, kind), kin in kinds.items() if kind is not Kind.INFORMS and any(i.moment for i in kin)]
        label = words.listed([clip(self.answer.node(name), _LONGEST_NAME // 2) for name in names], 2)
        what = words.listed([words.symptom(symptom) for symptom, kind in kinds if kind is not Kind.INFORMS], 2)
        note = f"{len(group):,} nodes with the same: {what}"
        return self.laned(label, note, "", [self.spread(kin, len(group)) for kin in drawn])

    def mark(self, item: Sighting) -> Mark:
        """One finding at its time, or over the span in which it lies: in its middle, where nothing tells more."""
        start, end = self.scale.start, self.scale.end
        moment = item.moment or Moment(start + (end - start) / 2, start, end, False)
        low = self.scale.x(moment.low)
        high = None if moment.high is None else self.scale.x(moment.high)
        where = self.answer.node(item.node) if item.node else ""
        said = [item.what + (f" on {where}" if where else ""), item.kind.word]
        if item.first:
            said.append("first failure")
        said += [item.time, item.reason]
        return Mark(
            kind=item.kind,
            first=item.first,
            x=self.scale.x(moment.at),
            low=low,
            high=high,
            exact=high is not None and high - low < _WIDE and moment.zoned,
            spread=False,
            beyond=self._beyond(moment.at),
            row=0,
            title=_sentence(said),
            href=self.href(item.evidence_id) if item.evidence_id else "",
        )

    def spread(self, kin: Sequence[Sighting], nodes: int) -> Mark:
        """Findings of one kind on several nodes, from the first to the last."""
        timed = sorted((item for item in kin if item.moment), key=_start)
        first, last = timed[0], timed[-1]
        assert first.moment is not None and last.moment is not None
        one = self.mark(first)
        said = (
            f"{words.sentence(words.symptom(first.symptom))} on {words.counted(nodes, 'node')}",
            first.kind.word,
            f"from {first.time} to {last.time}" if last.moment.at > first.moment.at else first.time,
            first.reason,
        )
        low, high = one.x, self.scale.x(last.moment.at)
        doubtful = not all(item.moment and item.moment.zoned for item in timed)
        return replace(
            one,
            low=0.0 if doubtful else low,
            high=100.0 if doubtful else high,
            exact=not doubtful and high - low < _WIDE,
            spread=not doubtful,
            title=_sentence(said),
        )

    def laned(self, label: str, note: str, name: str, marks: Iterable[Mark]) -> Lane:
        """A lane whose marks lie in rows so that none hides another; the weightiest find room first."""
        rows: list[list[Mark]] = []
        hidden = 0
        for mark in sorted(marks, key=lambda m: (not m.first, WEIGHT[m.kind], m.x)):
            free = next((n for n, row in enumerate(rows) if all(abs(mark.x - m.x) >= _APART for m in row)), len(rows))
            if free == self.rows or (mark.kind is Kind.INFORMS and mark.beyond):
                hidden += 1
                continue
            if free == len(rows):
                rows.append([])
            rows[free].append(replace(mark, row=free))
        drawn = sorted((mark for row in rows for mark in row), key=lambda mark: (mark.x, mark.row))
        return Lane(label, note, name, tuple(drawn), max(1, len(rows)), hidden)

    def _beyond(self, at: datetime) -> str:
        return "" if self.scale.holds(at) else "before" if at < self.scale.start else "after"


def _sentence(parts: Iterable[str]) -> str:
    return clip("; ".join(part for part in parts if part), _LONGEST_TITLE)


def _start(item: Sighting) -> datetime:
    return item.moment.at if item.moment else _LAST


# --- in words -----------------------------------------------------------------------------------------------------


def _summary(answer: Answer, found: Sequence[Sighting], lanes: Sequence[Lane]) -> str:
    """What the drawing shows, for those who do not see it."""
    parts = [words.counted(len(lanes), "lane")]
    for kind, word in (
        (Kind.CAUSE, "cause"),
        (Kind.FITS, "fits"),
        (Kind.IMPACT, "impact"),
        (Kind.FOLLOWED, "impact, set aside"),
    ):
        first = min((item for item in found if item.kind is kind and item.moment), key=_start, default=None)
        if first is not None:
            where = f" on {answer.node(first.node)}" if first.node else ""
            parts.append(f"{word}: first {clip(first.what, _LONGEST_NAME)}{where}, {first.time}")
    return "; ".join(parts) + "."


def _left_out(
    found: Sequence[Sighting], context: ExecutionContext, groups: Sequence[dict[str, list[Sighting]]]
) -> Iterator[str]:
    """What no lane shows."""
    if groups:
        nodes = sum(map(len, groups))
        yield f"Not drawn: {words.counted(nodes, 'node')} that show one of {len(groups):,} other mixtures of findings."
    named = {item.node for item in found if item.kind is not Kind.INFORMS}
    silent = [node.name for node in context.nodes if node.name not in named]
    if silent and named:
        verb = "shows" if len(silent) == 1 else "show"
        yield f"{words.counted(len(silent), 'node')} of the attempt {verb} no failure."


def _entries(
    answer: Answer,
    own: dict[str, list[Sighting]],
    shared: _Shared,
    href: Callable[[str], str],
) -> list[Entry]:
    """The findings of the lanes in the order of their times, those of shared lanes once for each kind."""
    rows = [(item, answer.node(item.node) if item.node else "") for items in own.values() for item in items]
    for group in shared.values():
        kinds = grouped((item for items in group.values() for item in items), lambda item: (item.symptom, item.kind))
        for kin in kinds.values():
            first = min(kin, key=_start)
            rows.append((first, answer.nodes([item.node for item in kin if item.node])))
    rows.sort(key=lambda row: (_start(row[0]), WEIGHT[row[0].kind]))
    return [
        Entry(
            time=item.time,
            where=clip(where, _LONGEST_NAME),
            what=clip(item.what, _LONGEST_NAME),
            kind=item.kind.word + (", first failure" if item.first else ""),
            reason=clip(item.reason, _LONGEST_TITLE),
            href=href(item.evidence_id) if item.evidence_id else "",
        )
        for item, where in rows
    ]
