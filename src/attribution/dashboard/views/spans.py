"""What a history is asked for: how many days up to when, of which cluster; checked as the address of a list is."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from attribution.dashboard.views import links
from attribution.dashboard.views.keys import BadQuery, gather, item, pick
from attribution.dashboard.views.query import moment_of
from attribution.presentation.columns import clip
from attribution.store.histories import begin

SPANS = (7, 30, 90)
"""Days that a page offers."""

DEFAULT_DAYS, MOST_DAYS = 30, 90


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several ways to see the same, with the address that chooses it."""

    word: str
    href: str
    chosen: bool


_EARLIEST = 1970


@dataclass(frozen=True, slots=True)
class SpanQuery:
    """The days, today or the day of `until` among them, and the keys that a page knows, as they stand in its address.

    `until` is the first moment too late, and None if the days are the last ones.
    """

    days: int
    values: Mapping[str, str]
    until: datetime | None = None

    def since(self, now: datetime) -> datetime:
        """The first moment."""
        return begin(self.until - timedelta(microseconds=1) if self.until else now, self.days)

    @property
    def told(self) -> str:
        """The days in words, behind `in`."""
        return f"the {self.days} days up to {self.values['until']}" if self.until else f"the last {self.days} days"

    @property
    def lead(self) -> str:
        """What stands before the spans that can be chosen."""
        return f"Up to {self.values['until']}" if self.until else "The last"

    def get(self, key: str) -> str:
        """The value of a key, empty if it was not given."""
        return self.values.get(key, "")

    def address(self, path: str, **changes: str | int) -> str:
        """The address that asks for this with some changes, from its first page on."""
        kept = {key: value for key, value in self.values.items() if key != "after"}
        return links.with_query(path, **{**kept, **changes})

    def choices(self, path: str) -> tuple[Choice, ...]:
        """The spans that a page offers."""
        spans = tuple(Choice(f"{span} days", self.address(path, days=span), span == self.days) for span in SPANS)
        return (*spans, Choice("up to now", self.address(path, until=""), False)) if self.until else spans

    def kept(self, cluster: str) -> dict[str, str]:
        """The keys by which the history of a unit of a cluster spans the same days."""
        days = "" if self.days == DEFAULT_DAYS else str(self.days)
        return {"days": days, "until": self.get("until"), "cluster": cluster}

    def clusters(self, path: str, held: Sequence[str], chosen: str | None, whole: bool = False) -> tuple[Choice, ...]:
        """The clusters that can be chosen, where there are several; with `whole` all of them too, as None."""
        if len({*held, *([] if chosen is None else [chosen])}) < 2:
            return ()
        names = [None, *filter(None, held)] if whole else held
        return tuple(
            Choice(
                "all" if name is None else clip(name, 60) or "none",
                self.address(path, cluster=name or ""),
                name == chosen,
            )
            for name in names
        )


def of_attempt(cluster: str | None, at: datetime, now: datetime) -> dict[str, str]:
    """The keys by which a history has an attempt: its cluster, and its day unless the last days have it anyway."""
    until = "" if at >= begin(now, DEFAULT_DAYS) else f"{at:%Y-%m-%d}"
    return {"cluster": cluster or "", "until": until}


def cluster_of(query: SpanQuery, held: Mapping[str, datetime]) -> str:
    """The cluster that is asked for; else no cluster, if that has one of the name, else where it was seen last."""
    if query.get("cluster") or not held or "" in held:
        return query.get("cluster")
    return max(held, key=lambda name: held[name])


def read_span(
    given: Iterable[tuple[str, str]],
    now: datetime,
    keys: Iterable[str] = (),
    words: Mapping[str, Iterable[str]] | None = None,
) -> SpanQuery:
    """Check the keys of an address: `days` and `keys`, of which some have only certain `words`. Raises BadQuery."""
    found, problems = gather(given, ("days", *keys))
    values = {key: value for key, value in found.items() if value}
    for key, allowed in (words or {}).items():
        pick(values, key, allowed, problems)
    days = values.get("days", str(DEFAULT_DAYS))
    if not (days.isascii() and days.isdecimal() and len(days) < 4 and 1 <= int(days) <= MOST_DAYS):
        problems.append(item("days", "no-days", "is no number of days", f"write 1 to {MOST_DAYS}"))
    until = moment_of("until", values, now, problems)
    if until and until.year <= _EARLIEST:
        problems.append(item("until", "no-time", "lies before any attempt", f"write a time after {_EARLIEST}"))
    if problems:
        raise BadQuery(problems)
    return SpanQuery(int(days), values, until)
