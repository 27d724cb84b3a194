"""The figures: each is a count out of those that the label lets it be judged on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Figure(StrEnum):
    """What is measured. The value is its name in JSON and in requirements."""

    ACCEPTED = "accepted"
    SHOWN = "shown"
    HARMFUL = "harmful"
    FORCED = "forced"
    ABSTAINED = "abstained"
    ROOT_LINE = "root_line"
    NODE = "node"
    DEVICE = "device"
    RANK = "rank"
    FIRST_NODE = "first_node"
    TERMINAL_STATE = "terminal_state"
    WRONG_NODES_EXCLUDED = "wrong_nodes_excluded"
    FALSE_ATTRIBUTION = "false_attribution"
    WITHHELD_ABSTAINED = "withheld_abstained"
    CRASHED = "crashed"


MEANING: Mapping[Figure, str] = {
    Figure.ACCEPTED: "the answer is one that a fair judge accepts",
    Figure.SHOWN: "the same, where the evidence shows the cause",
    Figure.HARMFUL: "the answer is one that the label calls harmful",
    Figure.FORCED: "a definite cause where none is shown",
    Figure.ABSTAINED: "the answer names no single place",
    Figure.ROOT_LINE: "the first cause cites the decisive line",
    Figure.NODE: "the first cause names a true node",
    Figure.DEVICE: "the first cause names the true device",
    Figure.RANK: "the first cause names the first failing rank",
    Figure.FIRST_NODE: "the first failure is seen on the node where it was",
    Figure.TERMINAL_STATE: "the end is named as it was",
    Figure.WRONG_NODES_EXCLUDED: "nodes proposed for exclusion that are sound, per attempt",
    Figure.FALSE_ATTRIBUTION: "a cause is named where nothing was wrong, or another than ended it",
    Figure.WITHHELD_ABSTAINED: "no cause is forced where its evidence was withheld",
    Figure.CRASHED: "no diagnosis: an error, a crash or out of time",
}


@dataclass(frozen=True, slots=True)
class Share:
    """`count` out of `of`. A share of nothing is not zero: it is unknown."""

    count: int = 0
    of: int = 0

    def __add__(self, other: "Share") -> "Share":
        return Share(self.count + other.count, self.of + other.of)

    def value(self) -> float | None:
        """The share, or None where nothing could be judged."""
        return self.count / self.of if self.of else None


Scores = Mapping[Figure, Share]


def total(scores: Iterable[Scores]) -> dict[Figure, Share]:
    """All figures, in their order, added up."""
    found = dict.fromkeys(Figure, Share())
    for each in scores:
        for figure, share in each.items():
            found[figure] += share
    return found
