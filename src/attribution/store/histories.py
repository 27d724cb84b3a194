"""What became of the attempts of a node, or of those in which one of its parts was in trouble."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Select, and_, bindparam, case, func, literal, select, union_all

from attribution.store import days
from attribution.store.columns import AnyText
from attribution.store.identity import owned_by
from attribution.store.queries import LISTED, Listed, listed
from attribution.store.schema import (
    node_names,
    result_causes,
    result_days,
    result_nodes,
    result_symptoms,
    result_units,
    results,
)
from attribution.store.selection import Reading
from attribution.store.statements import any_of, position

NEWEST = 1_000
"""The newest attempts of a node or a part, whose findings are counted."""


class Part(StrEnum):
    """What a node or one of its parts was in an attempt."""

    CAUSE = "cause"
    CANDIDATE = "candidate"
    FINDING = "finding"
    ASIDE = "aside"


@dataclass(frozen=True, slots=True)
class NodeLine:
    """A node with how many attempts it took part in, and in how many a root lay on it; `blamed` of those surely.

    Its `cluster` tells it from others of its name; '' for none.
    """

    cluster: str
    node: str
    attempts: int
    affected: int
    blamed: int
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class DayLine:
    """One day: attempts, those with a root there, and those whose findings there were set aside."""

    day: datetime
    attempts: int
    causes: int
    aside: int


@dataclass(frozen=True, slots=True)
class Finding:
    """How many attempts had a symptom there, by what it was in them, and when last."""

    symptom: str
    causes: int
    findings: int
    aside: int
    last_at: datetime


@dataclass(frozen=True, slots=True)
class UnitLine:
    """A part of a node with the attempts in which it was a root, might have been one, or showed something."""

    node: str
    unit: str
    causes: int
    candidates: int
    findings: int
    last_at: datetime


@dataclass(frozen=True, slots=True)
class NodeHistory:
    """A node over some days. `findings` and `units` are of its newest NEWEST attempts if there are more."""

    since: datetime
    roles: Mapping[str, int]
    days: tuple[DayLine, ...]
    findings: tuple[Finding, ...]
    units: tuple[UnitLine, ...]


@dataclass(frozen=True, slots=True)
class UnitEntry:
    """One attempt of a part's history, with what the part was in it and by which symptoms."""

    row: Listed
    part: Part
    symptoms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnitHistory:
    """A part of a node over some days: in how many attempts it was what, and its newest attempts."""

    since: datetime
    parts: Mapping[Part, int]
    days: tuple[DayLine, ...]
    findings: tuple[Finding, ...]
    entries: tuple[UnitEntry, ...]
    more: bool


def begin(now: datetime, span: int) -> datetime:
    """The first moment of so many days, today among them."""
    return days.begin_of(days.day_of(now) - span + 1)


@dataclass(frozen=True, slots=True)
class Span:
    """What a history is asked for: a cluster ('' for none), the first moment, and the first one too late."""

    cluster: str
    since: datetime
    until: datetime | None = None

    def of(self, c: Any, asking: Reading) -> list[Any]:
        """The conditions on a table that has them, and the tenant."""
        until = [c.at < self.until] if self.until is not None else []
        return [c.cluster == self.cluster, c.at >= self.since, *until, *owned_by(c.tenant, asking.tenant)]


# --- clusters -------------------------------------------------------------------------------------------------------


def clusters(asking: Reading) -> tuple[str, ...]:
    """The clusters that attempts ran in, sorted; '' for none."""
    c = result_days.c
    where = [c.facet == days.ALL, *owned_by(c.tenant, asking.tenant)]
    query = select(c.cluster).where(*where).group_by(c.cluster).having(func.sum(c.results) > 0)
    return tuple(sorted(asking.connection.execute(query).scalars()))


def clusters_of_node(asking: Reading, node: str) -> dict[str, datetime]:
    """The clusters that have a node of a name, with when each was last in an attempt."""
    n = result_nodes.c
    held = select(node_names.c.cluster).where(node_names.c.name == node)
    names = asking.connection.execute(held.order_by(node_names.c.cluster)).scalars().all()
    found: dict[str, datetime] = {}
    for cluster in names:
        where = [n.node == node, n.cluster == cluster, *owned_by(n.tenant, asking.tenant)]
        newest = select(n.at).where(*where).order_by(n.at.desc()).limit(1)
        if at := asking.connection.execute(newest).scalar():
            found[cluster] = at
    return found


def clusters_of_unit(asking: Reading, node: str, unit: str) -> dict[str, datetime]:
    """The clusters that have a part of a node by these names, with when each was last found to be anything."""
    u = result_units.c
    where = [u.node == node, u.unit == unit, *owned_by(u.tenant, asking.tenant)]
    query = select(u.cluster, func.max(u.at)).where(*where).group_by(u.cluster).order_by(u.cluster)
    return {row[0]: row[1] for row in asking.connection.execute(query)}


# --- nodes ----------------------------------------------------------------------------------------------------------


def worst_nodes(
    asking: Reading, since: datetime, search: str | None = None, most: int = 50, cluster: str | None = None
) -> tuple[tuple[NodeLine, ...], int]:
    """The nodes with a root, those with the most first, and how many there are; `search` is a piece of a name.

    Those of one `cluster` ('' for none), or of all.
    """
    c = result_days.c
    where = [c.day >= days.day_of(since), *owned_by(c.tenant, asking.tenant)]
    if cluster is not None:
        where.append(c.cluster == cluster)
    if search:
        asked = bindparam(None, search.lower(), type_=AnyText())
        folded = select(node_names.c.name).where(position(node_names.c.folded, asked) > 0)
        where.append(c.value.in_(folded))
    affected, blamed = (days.by_node(facet, where).subquery(facet) for facet in ("node", days.BLAMED_NODE))
    same = and_(blamed.c.node == affected.c.node, blamed.c.cluster == affected.c.cluster)
    sure = func.coalesce(blamed.c.number, 0).label("sure")
    found = select(affected, sure, func.count().over().label("nodes")).outerjoin_from(affected, blamed, same)
    order = (affected.c.number.desc(), sure.desc(), affected.c.node, affected.c.cluster)
    rows = asking.connection.execute(found.order_by(*order).limit(most)).all()
    known = _took_part(asking, since, sorted({row.node for row in rows}))
    lines = []
    for row in rows:
        attempts, last_at = known.get((row.cluster, row.node), (0, None))
        lines.append(NodeLine(row.cluster, row.node, attempts, int(row.number), int(row.sure), last_at))
    return tuple(lines), rows[0].nodes if rows else 0


def _took_part(
    asking: Reading, since: datetime, nodes: Sequence[str]
) -> dict[tuple[str, str], tuple[int, datetime | None]]:
    """How many attempts each node took part in, and when the last one ended in which a root lay on it."""
    if not nodes:
        return {}
    c, known = result_nodes.c, node_names.c
    of_node = [c.node == known.name, c.cluster == known.cluster, c.at >= since, *owned_by(c.tenant, asking.tenant)]
    attempts = select(func.count()).select_from(result_nodes).where(*of_node).correlate(node_names).scalar_subquery()
    newest = select(c.at).where(*of_node, c.affected).order_by(c.at.desc()).limit(1).correlate(node_names)
    query = select(known.cluster, known.name, attempts, newest.scalar_subquery())
    rows = asking.connection.execute(query.where(any_of(asking.connection, known.name, nodes)))
    return {(cluster, node): (number, at) for cluster, node, number, at in rows}


def node_history(asking: Reading, node: str, span: Span) -> NodeHistory:
    """What became of the attempts of a node."""
    n = result_nodes.c
    where = [n.node == node, *span.of(n, asking)]
    roles = ("allocated", "affected", "interesting", "excluded")
    query = select(n.at, *(n[role] for role in roles)).where(*where).order_by(n.at.desc())
    rows = asking.connection.execute(query).all()
    counted = {role: sum(getattr(row, role) for row in rows) for role in roles} | {"attempts": len(rows)}
    by_day = _by_day((row.at, row.affected, row.interesting) for row in rows)
    newest = select(n.result_id, n.at).where(*where).order_by(n.at.desc(), n.result_id.desc()).limit(NEWEST)
    window = newest.cte("newest")
    return NodeHistory(span.since, counted, by_day, _findings_of(asking, node, window), _units_of(asking, node, span))


def _by_day(rows: Any) -> tuple[DayLine, ...]:
    counted: dict[int, list[int]] = {}
    for at, cause, aside in rows:
        line = counted.setdefault(days.day_of(at), [0, 0, 0])
        line[0] += 1
        line[1] += bool(cause)
        line[2] += bool(aside and not cause)
    return tuple(DayLine(days.begin_of(day), *line) for day, line in sorted(counted.items()))


def _findings_of(asking: Reading, node: str, window: Any) -> tuple[Finding, ...]:
    """Symptoms on a node, by how often they were a root there, a finding, or set aside."""
    s, c = result_symptoms.c, result_causes.c
    found = select(s.symptom, case((s.status == "demoted", 2), else_=1).label("what"), window.c.result_id, window.c.at)
    found = found.join(window, and_(s.result_id == window.c.result_id, s.node == node))
    causes = select(c.symptom, literal(0), window.c.result_id, window.c.at)
    causes = causes.join(window, and_(c.result_id == window.c.result_id, c.node == node))
    return _findings(asking, union_all(found, causes))


def _findings(asking: Reading, found: Any) -> tuple[Finding, ...]:
    """Each attempt counts once for a symptom: as the most telling thing that it was."""
    rows = found.subquery()
    first = func.min(rows.c.what).label("what")
    each = select(rows.c.symptom, rows.c.result_id, first, func.max(rows.c.at).label("at"))
    each_result = each.group_by(rows.c.symptom, rows.c.result_id).subquery()
    sums = [func.sum(case((each_result.c.what == what, 1), else_=0)) for what in (0, 1, 2)]
    query = select(each_result.c.symptom, *sums, func.max(each_result.c.at)).group_by(each_result.c.symptom)
    lines = [Finding(row[0], int(row[1]), int(row[2]), int(row[3]), row[4]) for row in asking.connection.execute(query)]
    return tuple(sorted(lines, key=lambda line: (-line.causes, -line.findings, -line.aside, line.symptom)))


def _units_of(asking: Reading, node: str, span: Span) -> tuple[UnitLine, ...]:
    """Parts of a node that were in trouble, the worst first."""
    u = result_units.c
    where = [u.node == node, *span.of(u, asking)]
    each = select(u.unit, u.result_id, func.min(_weight(u.part)).label("what"), func.max(u.at).label("at"))
    each_result = each.where(*where).group_by(u.unit, u.result_id).subquery()
    sums = [func.sum(case((each_result.c.what == what, 1), else_=0)) for what in (0, 1)]
    others = func.sum(case((each_result.c.what > 1, 1), else_=0))
    query = select(each_result.c.unit, *sums, others, func.max(each_result.c.at)).group_by(each_result.c.unit)
    lines = [UnitLine(node, r[0], int(r[1]), int(r[2]), int(r[3]), r[4]) for r in asking.connection.execute(query)]
    return tuple(sorted(lines, key=lambda line: (-line.causes, -line.candidates, -line.findings, line.unit)))


def _weight(part: Any) -> Any:
    """The parts in order, the most telling first."""
    return case(*((part == item.value, number) for number, item in enumerate(Part)), else_=len(Part))


# --- parts of nodes -------------------------------------------------------------------------------------------------


def unit_history(asking: Reading, node: str, unit: str, span: Span, most: int = 50) -> UnitHistory:
    """What was found on a part of a node ('' for one that belongs to no node)."""
    u = result_units.c
    where = [u.node == node, u.unit == unit, *span.of(u, asking)]
    weight = func.min(_weight(u.part)).label("what")
    each = select(u.result_id, func.max(u.at).label("at"), weight).where(*where).group_by(u.result_id)
    rows = asking.connection.execute(each.order_by(func.max(u.at).desc(), u.result_id.desc())).all()
    parts = {part: sum(row.what == number for row in rows) for number, part in enumerate(Part)}
    by_day = _by_day((row.at, row.what == 0, row.what == len(Part) - 1) for row in rows)
    what = case((u.part == Part.CAUSE.value, 0), (u.part == Part.ASIDE.value, 2), else_=1).label("what")
    findings = _findings(asking, select(u.symptom, what, u.result_id, u.at).where(*where))
    shown = {row.result_id: row.what for row in rows[:most]}
    return UnitHistory(span.since, parts, by_day, findings, _entries(asking, node, unit, shown), len(rows) > most)


def _entries(asking: Reading, node: str, unit: str, shown: Mapping[int, int]) -> tuple[UnitEntry, ...]:
    if not shown:
        return ()
    u = result_units.c
    query: Select[Any] = select(u.result_id, u.symptom).where(u.node == node, u.unit == unit)
    query = query.where(any_of(asking.connection, u.result_id, list(shown))).order_by(u.result_id, u.position)
    symptoms: dict[int, list[str]] = {}
    for number, symptom in asking.connection.execute(query):
        symptoms.setdefault(number, []).append(symptom)
    rows = select(*LISTED, results.c.id).where(any_of(asking.connection, results.c.id, list(shown)))
    held = asking.connection.execute(rows.order_by(results.c.at.desc(), results.c.id.desc())).all()
    order = list(Part)
    return tuple(UnitEntry(listed(r), order[shown[r.id]], tuple(dict.fromkeys(symptoms[r.id]))) for r in held)
