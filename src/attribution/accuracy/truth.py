"""What is known of one labelled attempt, and what a fair judge accepts from its evidence alone."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from attribution.contracts.vocabulary import SubDomain, TerminalState

ABSTENTIONS = frozenset({SubDomain.INSUFFICIENT_EVIDENCE, SubDomain.AMBIGUOUS})
"""Answers that name no single place."""

BLAMELESS = ABSTENTIONS | {SubDomain.NONE}
"""Answers that send nobody anywhere."""


class Kind(StrEnum):
    """What sort of attempt it is."""

    SINGLE = "single"
    TWO_ROOTS = "two_roots"
    WITHHELD = "withheld"
    NEGATIVE = "negative"


class Shown(StrEnum):
    """Whether the cause can be read from the evidence."""

    YES = "yes"
    PARTIAL = "partial"
    NO = "no"


@dataclass(frozen=True, slots=True)
class Truth:
    """A label. What is empty or None is not known, or not to be read from the evidence, and is not judged.

    `exclude` holds the nodes that may be excluded; None where no node is known, and then only an answer that blames
    nobody is held to exclude none. `device` pairs what an identifier is (`pci`, `link`, ...; "" if the label does not
    say) with its text. `root_texts` are in lower case; one of them stands in the first cause or in its evidence.
    """

    name: str
    kind: Kind
    shape: str
    best: SubDomain
    shown: Shown
    accept: frozenset[SubDomain]
    never: frozenset[SubDomain] = frozenset()
    terminal_states: frozenset[TerminalState] = frozenset()
    nodes: frozenset[str] = frozenset()
    exclude: frozenset[str] | None = None
    device: tuple[tuple[str, str], ...] = ()
    rank: int | None = None
    root_texts: tuple[str, ...] = ()
    first_node: str | None = None


class Subject(Protocol):
    """A labelled attempt with its evidence."""

    @property
    def truth(self) -> Truth:
        """What is known of it."""

    def bundle(self) -> AbstractContextManager[Path]:
        """Its evidence as a bundle on disk, until the block ends."""


def some(accept: frozenset[SubDomain]) -> frozenset[SubDomain]:
    """What a label accepts. Raises ValueError if that is nothing."""
    if not accept:
        raise ValueError("name at least one sub_domain that is right")
    return accept
