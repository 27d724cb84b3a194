"""Whether the same was seen before: on the node, on the device, by the same cause."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from attribution.contracts.diagnosis import Cause
from attribution.contracts.vocabulary import SubDomain
from attribution.dashboard.views import links
from attribution.presentation import words
from attribution.presentation.columns import clip
from attribution.store.history import Seen, SeenWhat
from attribution.store.queries import Listed, NodeRole
from attribution.store.units import Pcis, place_of, units

SAME_DEVICE = "Same device"


@dataclass(frozen=True, slots=True)
class Earlier:
    """One earlier attempt."""

    href: str
    attempt: str
    day: str
    cause: str


@dataclass(frozen=True, slots=True)
class SeenRow:
    """What is the same, how often that was seen, and the last attempts that show it. `href` lists all of them."""

    what: str
    name: str
    counts: str
    never: bool
    href: str
    last: tuple[Earlier, ...]


def seen_rows(found: Sequence[Seen], cause: Cause, of: Listed, pcis: Pcis) -> tuple[SeenRow, ...]:
    """The rows of a cause of an attempt."""
    return tuple(_row(item, cause, of, pcis) for item in found)


def _row(item: Seen, cause: Cause, of: Listed, pcis: Pcis) -> SeenRow:
    longest = max((days for days, _ in item.counts), default=0)
    never = not any(count for _, count in item.counts)
    told = [f"{count:,} in the {days} days before" for days, count in item.counts]
    what, name, href = _about(item.what, cause, of, pcis, longest)
    return SeenRow(
        what=what,
        name=clip(name, 120),
        counts=f"Not in the {longest} days before" if never else ", ".join(told) + _unsure(item, longest),
        never=never,
        href=href,
        last=tuple(
            Earlier(
                href=links.attempt(row.key),
                attempt=clip(f"{row.workload_id}, attempt {row.attempt}", 120),
                day=f"{row.at:%Y-%m-%d}",
                cause=clip(_said(item.what, row), 120),
            )
            for row in item.last
        ),
    )


def _unsure(item: Seen, longest: int) -> str:
    """In how many it was only a candidate."""
    if not item.unsure:
        return ""
    return f" ({item.unsure:,} of the {dict(item.counts)[longest]:,} only as one of several causes that fit)"


def _said(what: SeenWhat, row: Listed) -> str:
    """What an earlier attempt adds: its cause, unless that is the same; never a candidate as if it were the cause."""
    if row.sub_domain == SubDomain.AMBIGUOUS:
        return "one of several that fit"
    return "" if what is SeenWhat.CAUSE else row.cause_meaning or ""


def _about(what: SeenWhat, cause: Cause, of: Listed, pcis: Pcis, days: int) -> tuple[str, str, str]:
    """What is the same, its name, and where all of it is listed."""
    span = {"since": _moment(of.at - timedelta(days=days)), "until": _moment(of.at)}
    node = cause.node or ""
    if what is SeenWhat.NODE:
        told = "Hardware, driver or system of the same node"
        return told, node, links.attempts(node=node, node_role=NodeRole.BLAMED, cluster=of.cluster, **span)
    if what is SeenWhat.CAUSE:
        return "Same cause", words.sentence(words.symptom(cause.symptom)), links.attempts(cause=cause.symptom, **span)
    known = units(cause.device, cause.node, pcis)
    name = words.device(cause.device) if cause.device else ""
    place = place_of(cause.device, cause.node)
    keys = {"cluster": of.cluster, "until": f"{of.at:%Y-%m-%d}"}
    return SAME_DEVICE, name, links.unit(place, known[-1], **keys) if known else links.node(node, **keys)


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S}Z"
