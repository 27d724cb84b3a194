"""Histories of nodes and of their parts: what is said of each, and where it leads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from attribution.dashboard.views import links, moments
from attribution.dashboard.views.attempts import NAME_COLUMNS, RowView, age, row_view
from attribution.dashboard.views.spans import Choice, SpanQuery
from attribution.dashboard.views.strip import Strip, strip
from attribution.dashboard.views.summary import percent
from attribution.presentation import words
from attribution.presentation.columns import clip
from attribution.store.histories import Finding, NodeHistory, NodeLine, Part, UnitHistory, UnitLine
from attribution.store.queries import NodeRole, Page

ROLES: Mapping[str, tuple[NodeRole | None, str]] = {
    "": (None, "all"),
    "cause": (NodeRole.AFFECTED, "a root lay here"),
    "aside": (NodeRole.INTERESTING, "possible causes set aside"),
    "excluded": (NodeRole.EXCLUDED, "excluded"),
    "allocated": (NodeRole.ALLOCATED, "took part"),
}
"""What a node may have been in the attempts that are listed, by the word in the address."""

PARTS: Mapping[Part, str] = {
    Part.CAUSE: "root",
    Part.CANDIDATE: "one of several that fit",
    Part.FINDING: "no more than a finding",
    Part.ASIDE: "only set aside",
}
"""The most that a part of a node was in an attempt."""

_WORDS = {"gpu": "GPU", "nvlink": "NVLink", "nvswitch": "NVSwitch", "nic": "NIC", "cpu": "CPU", "dimm": "DIMM"}
SHOWN = 100


@dataclass(frozen=True, slots=True)
class PartOf:
    """A node or a `unit` of it, in a cluster ('' for none) of those that have one of its name."""

    node: str
    unit: str
    cluster: str
    clusters: tuple[str, ...]

    @property
    def path(self) -> str:
        """Where its history is."""
        return links.unit(self.node, self.unit) if self.unit else links.node(self.node)

    def told(self, ways: Sequence[Choice]) -> str:
        """Its cluster, if there is more than one to choose among."""
        return (f"in cluster {clip(self.cluster, NAME_COLUMNS)}" if self.cluster else "in no cluster") if ways else ""


@dataclass(frozen=True, slots=True)
class When:
    """A moment for a table."""

    instant: str
    at: str
    age: str


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One node of the list."""

    name: str
    cluster: str
    href: str
    attempts: str
    affected: str
    share: str
    width: int
    blamed: str
    last: When | None


@dataclass(frozen=True, slots=True)
class NodesView:
    """The list of nodes."""

    told: str
    json: str
    q: str
    days: int
    cluster: str
    spans: tuple[Choice, ...]
    clusters: tuple[Choice, ...]
    rows: tuple[NodeRow, ...]
    more: str
    empty: str


@dataclass(frozen=True, slots=True)
class FindingRow:
    """A symptom that was found."""

    word: str
    href: str
    causes: str
    findings: str
    aside: str
    last: When


@dataclass(frozen=True, slots=True)
class UnitRow:
    """A part that was in trouble."""

    word: str
    href: str
    causes: str
    candidates: str
    findings: str
    last: When


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with what it says, and where it leads."""

    label: str
    value: str
    note: str
    href: str


@dataclass(frozen=True, slots=True)
class NodeView:
    """The history of a node."""

    name: str
    title: str
    cluster: str
    json: str
    hot_spots: str
    lead: str
    spans: tuple[Choice, ...]
    clusters: tuple[Choice, ...]
    figures: tuple[Figure, ...]
    strip: Strip
    findings: tuple[FindingRow, ...]
    units: tuple[UnitRow, ...]
    bound: str
    roles: tuple[Choice, ...]
    rows: tuple[RowView, ...]
    next: str
    empty: str


@dataclass(frozen=True, slots=True)
class EntryRow:
    """One attempt of a part's history."""

    row: RowView
    part: str
    symptoms: str


@dataclass(frozen=True, slots=True)
class UnitView:
    """The history of a part of a node."""

    title: str
    cluster: str
    node: str
    node_href: str
    whole: str
    whole_href: str
    json: str
    hot_spots: str
    lead: str
    spans: tuple[Choice, ...]
    clusters: tuple[Choice, ...]
    figures: tuple[Figure, ...]
    strip: Strip
    findings: tuple[FindingRow, ...]
    entries: tuple[EntryRow, ...]
    more: bool
    empty: str


def when(at: datetime, now: datetime) -> When:
    """A moment as tables show it."""
    return When(moments.instant(at), moments.second(at), age(at, now))


def unit_words(unit: str) -> str:
    """A part as people call it: `gpu 0000:1b:00 link 8` -> `GPU 0000:1b:00 · link 8`."""
    first, _, rest = unit.partition(" ")
    for part in ("link", "port"):
        rest = rest.replace(f" {part} ", f" · {part} ", 1)
    return clip(f"{_WORDS.get(first, first)} {rest}", NAME_COLUMNS)


# --- nodes ----------------------------------------------------------------------------------------------------------


def nodes_view(
    query: SpanQuery, lines: Sequence[NodeLine], count: int, held: Sequence[str], now: datetime
) -> NodesView:
    """The nodes by failures; `held` are the clusters that there are."""
    largest = max((line.affected for line in lines), default=1)
    left = count - len(lines)
    asked = query.get("q")
    return NodesView(
        told=f"{words.counted(count, 'node')} with a root in the last {query.days} days",
        json=query.address(f"{links.NODES}.json"),
        q=asked,
        days=query.days,
        cluster=query.get("cluster"),
        spans=query.choices(links.NODES),
        clusters=query.clusters(links.NODES, held, query.get("cluster") or None, whole=True),
        rows=tuple(
            NodeRow(
                name=clip(line.node, NAME_COLUMNS),
                cluster=(clip(line.cluster, NAME_COLUMNS) or "none") if len(held) > 1 else "",
                href=links.node(line.node, **query.kept(line.cluster)),
                attempts=f"{line.attempts:,}",
                affected=f"{line.affected:,}",
                share=percent(line.affected, line.attempts),
                width=max(1, round(100 * line.affected / largest)),
                blamed=f"{line.blamed:,}",
                last=when(line.last_at, now) if line.last_at else None,
            )
            for line in lines
        ),
        more=f"and {words.counted(left, 'node')} with fewer; find one by its name" if left > 0 else "",
        empty=f"No node {'whose name has this ' if asked else ''}had a root in the last {query.days} days.",
    )


def node_view(part_of: PartOf, query: SpanQuery, found: NodeHistory, page: Page, now: datetime) -> NodeView:
    """The history of a node."""
    name, path, roles = part_of.node, part_of.path, found.roles
    ways = query.clusters(path, part_of.clusters, part_of.cluster)
    attempts = roles["attempts"]
    keys = {"cause": "affected", "aside": "interesting", "excluded": "excluded"}
    took_part = f"it took part in {roles['allocated']:,}"
    figures = [Figure("Attempts", f"{attempts:,}", took_part, query.address(path, part=""))]
    for key, role in keys.items():
        label = words.sentence(ROLES[key][1])
        note = f"{percent(roles[role], attempts)} of them"
        figures.append(Figure(label, f"{roles[role]:,}", note, query.address(path, part=key) + "#attempts"))
    part = query.get("part")
    return NodeView(
        name=name,
        title=clip(name, NAME_COLUMNS),
        cluster=part_of.told(ways),
        json=query.address(links.twin(path)),
        hot_spots=links.hot_spots(days=query.days),
        lead=query.lead,
        spans=query.choices(path),
        clusters=ways,
        figures=tuple(figures),
        strip=strip(found.days, found.since, query.days, aside="possible causes"),
        findings=_findings(found.findings, now),
        units=tuple(_unit(line, query.kept(part_of.cluster), now) for line in found.units[:SHOWN]),
        bound="Findings are those of its newest 1,000 attempts." if attempts > 1000 else "",
        roles=tuple(
            Choice(word, query.address(path, part=key) + "#attempts", key == part) for key, (_, word) in ROLES.items()
        ),
        rows=tuple(row_view(row, now) for row in page.rows),
        next=query.address(path, after=page.next) + "#attempts" if page.next else "",
        empty=f"No attempt in {query.told}.",
    )


def _findings(lines: Sequence[Finding], now: datetime) -> tuple[FindingRow, ...]:
    return tuple(
        FindingRow(
            word=clip(words.sentence(words.symptom(line.symptom)), NAME_COLUMNS),
            href=links.symptom(line.symptom),
            causes=f"{line.causes:,}",
            findings=f"{line.findings:,}",
            aside=f"{line.aside:,}",
            last=when(line.last_at, now),
        )
        for line in lines[:SHOWN]
    )


def _unit(line: UnitLine, keys: Mapping[str, str], now: datetime) -> UnitRow:
    return UnitRow(
        word=unit_words(line.unit),
        href=links.unit(line.node, line.unit, **keys),
        causes=f"{line.causes:,}",
        candidates=f"{line.candidates:,}",
        findings=f"{line.findings:,}",
        last=when(line.last_at, now),
    )


# --- parts of nodes -------------------------------------------------------------------------------------------------


def unit_view(part_of: PartOf, query: SpanQuery, found: UnitHistory, now: datetime) -> UnitView:
    """The history of a part of a node."""
    node, unit, path, keys = part_of.node, part_of.unit, part_of.path, query.kept(part_of.cluster)
    ways = query.clusters(path, part_of.clusters, part_of.cluster)
    whole = next((unit.split(f" {part} ", 1)[0] for part in ("link", "port") if f" {part} " in unit), "")
    total = sum(found.parts.values())
    return UnitView(
        title=unit_words(unit),
        cluster=part_of.told(ways),
        node=clip(node, NAME_COLUMNS),
        node_href=links.node(node, **keys) if node else "",
        whole=unit_words(whole) if " " in whole else "",
        whole_href=links.unit(node, whole, **keys) if " " in whole else "",
        json=query.address(links.twin(path)),
        hot_spots=links.hot_spots(days=query.days),
        lead=query.lead,
        spans=query.choices(path),
        clusters=ways,
        figures=tuple(
            Figure(
                words.sentence(word),
                f"{found.parts[part]:,}",
                f"{percent(found.parts[part], total)} of these attempts",
                "",
            )
            for part, word in PARTS.items()
        ),
        strip=strip(found.days, found.since, query.days, "in trouble", "nothing but findings"),
        findings=_findings(found.findings, now),
        entries=tuple(
            EntryRow(row_view(entry.row, now), PARTS[entry.part], words.listed(_said(entry.symptoms)))
            for entry in found.entries
        ),
        more=found.more,
        empty=f"Nothing was found on it in {query.told}.",
    )


def _said(symptoms: Sequence[str]) -> list[str]:
    return [clip(words.symptom(name), NAME_COLUMNS) for name in symptoms]
