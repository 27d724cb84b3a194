"""A state is shown as a word and a shape, with a colour that says nothing which they do not."""

from dataclasses import dataclass

from attribution.contracts.vocabulary import SubDomain, TerminalState
from attribution.presentation import words


@dataclass(frozen=True, slots=True)
class Badge:
    """A word, the shape beside it, and its tone, which is the name of a class of the style sheet."""

    word: str
    shape: str
    tone: str


_TAKEN = frozenset({TerminalState.CANCELLED, TerminalState.TIMED_OUT, TerminalState.PREEMPTED})
"""Ends that somebody or something else chose."""


def state(value: TerminalState) -> Badge:
    """How an attempt ended."""
    word = words.STATES[value]
    if value is TerminalState.COMPLETED:
        return Badge(word, "●", "good")
    if value is TerminalState.RUNNING:
        return Badge(word, "▶", "good")
    if value is TerminalState.UNKNOWN:
        return Badge(word, "○", "dim")
    return Badge(word, "◆", "warn") if value in _TAKEN else Badge(word, "■", "bad")


def blame(value: SubDomain) -> str:
    """Where the cause lies, in words; or that none is known."""
    return words.sentence(words.SUB_DOMAINS[value])
