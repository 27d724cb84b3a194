"""An Answer is a Diagnosis read for people: what it says first, where, and on what evidence. It has no layout."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from attribution.contracts.diagnosis import Cause, Device, Diagnosis, Evidence
from attribution.contracts.vocabulary import Confidence, Domain, Source, SubDomain
from attribution.presentation import words

_LONGEST_WORD = 1000
"""Characters of a field; the engine keeps fewer."""

SHOWN_CAUSES = 3
"""Causes whose evidence is shown unless all is asked for."""


@dataclass(frozen=True, slots=True)
class Block:
    """One finding with its evidence. `title` says what, `where` says on which node, device and rank."""

    title: str
    where: str
    rule: str
    at: datetime | None
    evidence: tuple[Evidence, ...]


class Answer:
    """What a Diagnosis says. All texts are as they came from the logs: whoever shows them makes them harmless."""

    def __init__(self, diagnosis: Diagnosis) -> None:
        self.diagnosis = diagnosis
        self.evidence = {item.id: item for item in diagnosis.evidence}
        sure = {line.node for line in diagnosis.coverage if not line.node_is_guess}
        self._guessed = {line.node for line in diagnosis.coverage if line.node_is_guess} - sure
        self._ranks = {(s.symptom, s.node, s.rank): s.ranks for s in diagnosis.symptoms}
        ambiguous = diagnosis.sub_domain is SubDomain.AMBIGUOUS
        of_several = Confidence.ONE_OF_SEVERAL
        named = tuple(c for c in diagnosis.causes if ambiguous or c.confidence is not of_several)
        self.causes: tuple[Cause, ...] = named or diagnosis.causes
        self.rivals = tuple(c for c in diagnosis.causes if named and not ambiguous and c.confidence is of_several)

    @property
    def state(self) -> str:
        """How the attempt ended."""
        return words.STATES[self.diagnosis.terminal_state]

    @property
    def verdict(self) -> str:
        """What is to blame, in the words of the vocabulary; or that nothing is, or that it is not known."""
        sub_domain = self.diagnosis.sub_domain
        if sub_domain in {SubDomain.NONE, SubDomain.INSUFFICIENT_EVIDENCE}:
            return words.SUB_DOMAINS[sub_domain]
        if sub_domain is SubDomain.AMBIGUOUS:
            kinds = len({cause.meaning for cause in self.causes})
            blamed = words.listed(list(dict.fromkeys(words.SUB_DOMAINS[c.sub_domain] for c in self.causes)), 3, "or")
            return f"{words.number(kinds)} causes fit: {blamed}" if kinds > 1 else words.SUB_DOMAINS[sub_domain]
        return f"{self.diagnosis.domain.value} / {sub_domain.value}"

    @property
    def attempt(self) -> str:
        """Which attempt of which workload this is about."""
        return f"{self.diagnosis.workload_id}, attempt {self.diagnosis.attempt}"

    @property
    def unsaid(self) -> str:
        """The summary, where neither the verdict nor a finding says what it says."""
        told = self.causes or self.diagnosis.domain in {Domain.NONE, Domain.UNKNOWN}
        return "" if told else self.diagnosis.summary

    @property
    def where(self) -> str:
        """The node, device and rank of the one cause, or the nodes of several. Empty where it is not known."""
        if self.diagnosis.sub_domain is SubDomain.AMBIGUOUS:
            return ""
        if len(self.causes) == 1:
            return self.place(self.causes[0])
        return self.nodes([cause.node for cause in self.causes if cause.node])

    def node(self, name: str) -> str:
        """A node's name, marked where only a file's name gives it."""
        return f"{name} (from the file name)" if name in self._guessed else name

    def nodes(self, names: Sequence[str], shown: int = 2) -> str:
        """Several nodes' names in the order in which people count."""
        return words.listed([self.node(name) for name in words.natural(names)], shown)

    def place(self, cause: Cause) -> str:
        """Where a cause lies: `node-02 · GPU 0000:1b:00 · link 8 · rank 17`."""
        return self.where_of(cause.node, cause.device, cause.rank, self.ranks(cause))

    def ranks(self, cause: Cause) -> int:
        """How many ranks showed a cause; 0 where that is not known."""
        return self._ranks.get((cause.symptom, cause.node, cause.rank), 0)

    def where_of(self, node: str | None, device: Device | None, rank: int | None, ranks: int = 0) -> str:
        """A place from its parts, those that are known. `ranks` is how many showed it, `rank` the first of them."""
        parts = [self.node(node)] if node else []
        if device:
            parts.append(words.device(device))
        if rank is not None:
            parts.append(f"rank {rank}" + (f" and {ranks - 1:,} more" if ranks > 1 else ""))
        return " · ".join(parts)

    def blocks(self, everything: bool = False) -> list[Block]:
        """The causes with their evidence; the first failure where no cause is known; nothing where nothing is wrong."""
        if self.diagnosis.sub_domain is SubDomain.NONE:
            return []
        if not self.causes:
            return self._first_failure()
        shown = self.causes if everything else self.causes[:SHOWN_CAUSES]
        return [self._block(cause, everything) for cause in shown]

    def _block(self, cause: Cause, everything: bool) -> Block:
        found = [self.evidence[item] for item in cause.evidence_ids if item in self.evidence]
        chosen = tuple(found if everything else found[:1])
        return Block(words.sentence(cause.meaning), self.place(cause), cause.rule, cause.at, chosen)

    def _first_failure(self) -> list[Block]:
        first = self.diagnosis.first_failure
        if first is None:
            return []
        found = self.evidence.get(first.evidence_id)
        title = f"First failure: {words.symptom(first.symptom)}"
        where = self.where_of(first.node, None, first.rank)
        return [Block(title, where, found.rule if found else "", first.at, (found,) if found else ())]

    def decisive(self, cause: Cause) -> Evidence | None:
        """The line that shows a cause best."""
        return next((self.evidence[item] for item in cause.evidence_ids if item in self.evidence), None)

    def left_out(self) -> str:
        """The causes that are not shown: `and 5 more: node-05, node-06 and 3 more`."""
        rest = self.causes[SHOWN_CAUSES:]
        nodes = self.nodes([cause.node for cause in rest if cause.node], shown=6)
        return f"and {len(rest):,} more" + (f": {nodes}" if nodes else "") if rest else ""


def place_of_line(item: Evidence) -> str:
    """Where a line stands: the file with the number, as in `syslog/node-02.log:812`; or what names the stream."""
    if "/" in item.stream:
        return f"{item.stream}:{item.line}"
    # In other sources the rank tells whom a line is about, not who wrote it.
    rank = f"rank{item.rank}" if item.rank is not None and item.source is Source.APPLOG else None
    name = ".".join(part for part in (item.node, rank, item.stream) if part)
    return f"{item.source.value}/{name}:{item.line}" if name else f"{item.source.value}:{item.line}"


def time_of_line(item: Evidence) -> str:
    """When a line was written, and how sure that is."""
    return words.time(item.at, item.at_uncertainty_secs) if item.at else "no date in the line"


def since(start: Evidence | None, then: Evidence | None) -> str:
    """How long after the line `start` the line `then` was written; empty where their clocks cannot be compared."""
    if start is None or then is None or start.at is None or then.at is None:
        return ""
    known = [u for u in (start.at_uncertainty_secs, then.at_uncertainty_secs) if u is not None]
    if len(known) < 2:
        return ""
    unzoned = [u for u in known if u >= words.ZONE_UNKNOWN_SECS]
    one_clock = (start.source, start.node) == (then.source, then.node) and len(unzoned) != 1
    if unzoned and not one_clock:
        return ""
    return words.relative(then.at - start.at, 0.0 if unzoned else max(known))


def decisive_words(item: Evidence) -> list[str]:
    """What a rule read from a line: the part of it that must be seen. What fits in no line is not looked for."""
    return [value for value in item.fields.values() if len(value) <= _LONGEST_WORD]
