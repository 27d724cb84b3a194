"""A sighting is a symptom with the time at which it was first seen, and with how far that may lie from the truth."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from attribution.contracts.diagnosis import Cause, Evidence, Symptom
from attribution.contracts.vocabulary import Confidence, Role, SubDomain, SymptomStatus
from attribution.presentation import words
from attribution.presentation.answer import Answer
from attribution.presentation.facts import is_order_known


class Kind(StrEnum):
    """What a mark stands for, the weightiest first. The shape tells the role, its filling whether it still stands."""

    CAUSE = "cause"
    FITS = "fits"
    LATER = "later"
    STANDS = "stands"
    ASIDE = "aside"
    IMPACT = "impact"
    FOLLOWED = "followed"
    INFORMS = "informs"

    @property
    def word(self) -> str:
        """The kind in words."""
        return _WORDS[self]


_WORDS = {
    Kind.CAUSE: "cause",
    Kind.FITS: "one of the causes that fit",
    Kind.LATER: "later cause",
    Kind.STANDS: "not explained, not named",
    Kind.ASIDE: "set aside, could have been a cause",
    Kind.IMPACT: "impact",
    Kind.FOLLOWED: "impact, set aside",
    Kind.INFORMS: "informs, blames nothing",
}
WEIGHT = {kind: place for place, kind in enumerate(Kind)}

BLAMED = frozenset({Kind.CAUSE, Kind.FITS})
DECISIVE = BLAMED | {Kind.LATER, Kind.IMPACT, Kind.STANDS}
"""What a timeline must not leave out."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When a line says that it was, and between what that may lie; `high` None is open, `zoned` False a local clock."""

    at: datetime
    low: datetime
    high: datetime | None
    zoned: bool


@dataclass(frozen=True, slots=True)
class Sighting:
    """A symptom as the timeline needs it; `found` is None for what no symptom tells of."""

    kind: Kind
    first: bool
    symptom: str
    node: str
    moment: Moment | None
    found: Symptom | None
    seen: Evidence | None

    @property
    def what(self) -> str:
        """The finding in words, with its device and how often it was seen."""
        device = words.device(self.found.device) if self.found and self.found.device else ""
        times = f" ×{self.found.count:,}" if self.found and self.found.count > 1 else ""
        return words.sentence(words.symptom(self.symptom)) + (f" ({device})" if device else "") + times

    @property
    def time(self) -> str:
        """When it was first seen, in words."""
        if self.moment is None:
            return "no time"
        return words.time(self.moment.at, self.seen.at_uncertainty_secs if self.seen and self.seen.at else 0.0)

    @property
    def reason(self) -> str:
        """Why it was set aside, and by which rule; empty where it was not."""
        by = self.found.demoted_by if self.found else None
        return f"{by.reason} ({by.rule})" if by else ""

    @property
    def evidence_id(self) -> str:
        """The line that shows it, if one was kept."""
        return self.seen.id if self.seen else ""


def sightings(answer: Answer) -> Iterator[Sighting]:
    """The symptoms of a diagnosis; causes and the first failure also where no symptom tells of them.

    Of an attempt with nothing to blame no failure is the first, and of causes whose order is not proven none is.
    """
    diagnosis = answer.diagnosis
    is_known = diagnosis.sub_domain is not SubDomain.NONE and is_order_known(answer)
    first = diagnosis.first_failure if is_known else None
    named = {_thing(cause): cause for cause in diagnosis.causes}
    ambiguous = diagnosis.sub_domain is SubDomain.AMBIGUOUS
    told = False
    for symptom in diagnosis.symptoms:
        is_first = first is not None and first.evidence_id in symptom.evidence_ids and first.node == symptom.node
        told = told or is_first
        seen = _earliest(answer, symptom.evidence_ids)
        kind = _kind(symptom, named.get(_thing(symptom)), ambiguous)
        moment = _moment(seen, symptom.first_at)
        yield Sighting(kind, is_first, symptom.symptom, symptom.node or "", moment, symptom, seen)
    seen_causes = {_thing(symptom) for symptom in diagnosis.symptoms}
    for cause in (cause for thing, cause in named.items() if thing not in seen_causes):
        is_first = first is not None and first.evidence_id in cause.evidence_ids and not told
        told = told or is_first
        seen = _earliest(answer, cause.evidence_ids)
        kind, moment = _named(cause, ambiguous), _moment(seen, cause.at)
        yield Sighting(kind, is_first, cause.symptom, cause.node or "", moment, None, seen)
    if first is not None and not told:
        line = answer.evidence.get(first.evidence_id)
        moment = _moment(line, first.at)
        yield Sighting(Kind.IMPACT, True, first.symptom, first.node or "", moment, None, line)


_LAST = datetime.fromisoformat("9999-12-31T00:00:00+00:00")


def _earliest(answer: Answer, ids: Iterable[str]) -> Evidence | None:
    """The line that was written first, of those that were kept; any of them where none has a time."""
    cited = [answer.evidence[item] for item in ids if item in answer.evidence]
    return min(cited, key=lambda item: item.at or _LAST, default=None)


def _thing(item: Symptom | Cause) -> tuple[str, str | None, str]:
    return item.symptom, item.node, words.device(item.device) if item.device else ""


def _named(cause: Cause, ambiguous: bool) -> Kind:
    if cause.confidence is not Confidence.ONE_OF_SEVERAL:
        return Kind.CAUSE
    return Kind.FITS if ambiguous else Kind.LATER


def _kind(symptom: Symptom, cause: Cause | None, ambiguous: bool) -> Kind:
    stands = symptom.status is SymptomStatus.ACTIVE
    if cause is not None and stands:
        return _named(cause, ambiguous)
    if symptom.role is Role.CONTEXT:
        return Kind.INFORMS
    if symptom.role is Role.CAUSE:
        return Kind.STANDS if stands else Kind.ASIDE
    return Kind.IMPACT if stands else Kind.FOLLOWED


def _moment(seen: Evidence | None, at: datetime | None) -> Moment | None:
    """The time of a line with its doubt; of a symptom whose line was not kept, as the diagnosis has it."""
    if seen is None or seen.at is None:
        return Moment(at, at, at, True) if at else None
    doubt = seen.at_uncertainty_secs
    reading = at or seen.at
    if doubt is None:
        return Moment(reading, reading, None, at is not None)
    margin = timedelta(seconds=doubt)
    return Moment(reading, reading - margin, reading + margin, doubt < words.ZONE_UNKNOWN_SECS)
