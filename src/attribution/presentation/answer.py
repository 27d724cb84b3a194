"""An Answer is a Diagnosis read for people: what it says first, where, and on what evidence. It has no layout."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from attribution.contracts.diagnosis import Cause, Device, Diagnosis, Evidence
from attribution.contracts.vocabulary import Confidence, Domain, SubDomain
from attribution.presentation import words

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
        named = tuple(c for c in diagnosis.causes if ambiguous or c.confidence is not of_several) or diagnosis.causes
        self.causes: tuple[Cause, ...] = named
        self.rivals = tuple(cause for cause in diagnosis.causes if cause not in named)

    @property
    def state(self) -> str:
        """How the attempt ended."""
        return words.STATES[self.diagnosis.terminal_state]

    @property
    def verdict(self) -> str:
        """What is to blame, in the words of the vocabulary; or that nothing is, or that it is not known."""
        sub_domain = self.diagnosis.sub_domain
        if sub_domain is SubDomain.NONE:
            return "nothing wrong"
        if sub_domain is SubDomain.INSUFFICIENT_EVIDENCE:
            return "no cause is in the evidence"
        if sub_domain is SubDomain.AMBIGUOUS:
            kinds = len({cause.meaning for cause in self.causes})
            blamed = words.listed(list(dict.fromkeys(words.SUB_DOMAINS[c.sub_domain] for c in self.causes)), 3, "or")
            return f"{words.number(kinds)} causes fit: {blamed}" if kinds > 1 else "several causes fit"
        return f"{self.diagnosis.domain.value} / {sub_domain.value}"

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
        ranks = self._ranks.get((cause.symptom, cause.node, cause.rank), 0)
        return self._place(cause.node, cause.device, cause.rank, ranks)

    def _place(self, node: str | None, device: Device | None, rank: int | None, ranks: int = 0) -> str:
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
        where = self._place(first.node, None, first.rank)
        return [Block(title, where, found.rule if found else "", first.at, (found,) if found else ())]

    def left_out(self) -> str:
        """The causes that are not shown: `and 5 more: node-05, node-06 and 3 more`."""
        rest = self.causes[SHOWN_CAUSES:]
        nodes = self.nodes([cause.node for cause in rest if cause.node], shown=6)
        return f"and {len(rest):,} more" + (f": {nodes}" if nodes else "") if rest else ""


def place_of_line(item: Evidence) -> str:
    """Where a line stands: source, node, rank, stream and number, as in `syslog/node-02:812`."""
    rank = None if item.rank is None else f"rank{item.rank}"
    name = ".".join(part for part in (item.node, rank, item.stream) if part)
    return f"{item.source.value}/{name}:{item.line}" if name else f"{item.source.value}:{item.line}"


def time_of_line(item: Evidence) -> str:
    """When a line was written, and how sure that is."""
    return words.time(item.at, item.at_uncertainty_secs) if item.at else "no date in the line"


def decisive_words(item: Evidence) -> list[str]:
    """What a rule read from a line: the part of it that must be seen."""
    return [value for value in item.fields.values() if len(value) > 1]
