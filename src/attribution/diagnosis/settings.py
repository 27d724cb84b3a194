"""What of the engine can be set. None of it depends on the machine."""

from dataclasses import dataclass

from attribution.events.moment import SECOND


@dataclass(frozen=True, slots=True)
class Settings:
    """`margin_us` is how far before its start and after its end an attempt's evidence counts.

    `events_per_rule` bounds what is kept in full of one rule in one stream; beyond it, the extremes and an exact count.
    `exclude_share` is the share of the nodes above which an exclusion looks systemic and none is proposed.
    """

    margin_us: int = 900 * SECOND
    events_per_rule: int = 1000
    exclude_share: float = 0.1
    alternatives: int = 20


DEFAULTS = Settings()
