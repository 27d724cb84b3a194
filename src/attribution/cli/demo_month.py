"""A month of made-up attempts for `attribution demo`: the samples' own diagnoses under other names and times.

Nothing here says how often Attribution is right. Every such attempt is of cluster `demo`, and its name says that it is
generated.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from attribution.contracts.result import AttributionBlueprintResult
from attribution.contracts.vocabulary import SubDomain, TerminalState

CLUSTER = "demo"
DAYS = 30
SEED = 20260504

_FLEET = tuple(f"node-{number:03}" for number in range(1, 65))
_USERS = ("ana", "ben", "chen", "dora", "emil", "fatima", "goran", "hana")
_NAMES = ("pretrain", "finetune", "evaluate", "ablation", "distill")
_FIRST_ID = 700_001

_HOT = {
    SubDomain.NVLINK_FABRIC: "node-017",
    SubDomain.GPU_HARDWARE: "node-042",
    SubDomain.GPU_DRIVER: "node-042",
    SubDomain.NETWORK_FABRIC: "node-009",
    SubDomain.HOST_HARDWARE: "node-055",
}
"""Nodes that have more than their share of some troubles, and how large that is."""
_HOT_SHARE = 0.55

_WEIGHTS = {TerminalState.COMPLETED: 8.0, TerminalState.TIMED_OUT: 1.5, TerminalState.PREEMPTED: 1.5}
"""How often attempts end in a way, where it is not once."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_CLOCK = r"(\d\d:\d\d:\d\d)"
_STAMPS = (
    rf"\b(\d{{4}})([-/])(\d\d)[-/](\d\d)([T ]){_CLOCK}"
    rf"|\b({'|'.join(_MONTHS)}) ([ \d]\d) {_CLOCK}"
    rf"|\b([IWEF])(\d\d)(\d\d) {_CLOCK}"
)
"""The forms in which times stand in lines and in the result itself: ISO, syslog and glog."""


def month(
    samples: Sequence[AttributionBlueprintResult], now: datetime, attempts: int, seed: int = SEED
) -> Iterator[AttributionBlueprintResult]:
    """Attempts that ended in the last DAYS before `now`, made of those samples that ended. The same seed, the same."""
    known = [_template(item) for item in samples if item.context.ended_at is not None]
    if not known:
        return
    draw = random.Random(seed)  # noqa: S311 - nothing secret is drawn
    weights = [_WEIGHTS.get(item.sample.terminal_state, 1.0) for item in known]
    for number in range(attempts):
        ended = now - timedelta(seconds=draw.uniform(600, DAYS * 86_400))
        yield _attempt(draw.choices(known, weights)[0], ended, str(_FIRST_ID + number), draw)


@dataclass(frozen=True, slots=True)
class _Stamp:
    """A time in a text, and how it is written there."""

    at: datetime
    form: Callable[[datetime], str]


@dataclass(frozen=True, slots=True)
class _Template:
    """A sample's result as pieces of its JSON: what stays, times that move, and names (in a tuple) that change."""

    sample: AttributionBlueprintResult
    ended_at: datetime
    pieces: tuple[str | _Stamp | tuple[str], ...]


def _attempt(template: _Template, ended: datetime, workload_id: str, draw: random.Random) -> AttributionBlueprintResult:
    sample = template.sample
    names = {**_nodes(sample, draw), sample.context.workload_id: workload_id}
    shift = timedelta(minutes=(ended - template.ended_at) // timedelta(minutes=1))
    text = "".join(_written(piece, names, shift) for piece in template.pieces)
    made = AttributionBlueprintResult.model_validate_json(text)
    changed = {
        "cluster": CLUSTER,
        "user": draw.choice(_USERS),
        "name": f"{draw.choice(_NAMES)} (generated)",
        "previous_attempts": (),
    }
    return made.model_copy(update={"context": made.context.model_copy(update=changed)})


def _nodes(sample: AttributionBlueprintResult, draw: random.Random) -> dict[str, str]:
    """The nodes of the fleet that stand for those of the sample; the one to blame is a hot one more often than not."""
    own = [node.name for node in sample.context.nodes][: len(_FLEET)]
    chosen = dict(zip(own, draw.sample(_FLEET, len(own)), strict=True))
    hot = _HOT.get(sample.sub_domain)
    blamed = next((cause.node for cause in sample.diagnosis.causes if cause.node in chosen), None)
    if hot and blamed and draw.random() < _HOT_SHARE:
        for name, new in chosen.items():
            if new == hot:
                chosen[name] = chosen[blamed]
        chosen[blamed] = hot
    return chosen


def _written(piece: str | _Stamp | tuple[str], names: Mapping[str, str], shift: timedelta) -> str:
    if isinstance(piece, str):
        return piece
    return names[piece[0]] if isinstance(piece, tuple) else piece.form(piece.at + shift)


def _template(sample: AttributionBlueprintResult) -> _Template:
    ended_at = sample.context.ended_at
    assert ended_at is not None
    names = [sample.context.workload_id, *(node.name for node in sample.context.nodes)][: len(_FLEET) + 1]
    whole = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    pattern = re.compile(rf"(?P<name>(?<![\w-])(?:{whole})(?![\w-]))|{_STAMPS}")
    text, pieces, end = sample.model_dump_json(), list[str | _Stamp | tuple[str]](), 0
    for match in pattern.finditer(text):
        piece = (match["name"],) if match["name"] else _stamp(match, ended_at.year)
        if piece:
            pieces += [text[end : match.start()], piece]
            end = match.end()
    return _Template(sample, ended_at, (*pieces, text[end:]))


def _stamp(match: re.Match[str], this_year: int) -> _Stamp | None:
    """The time of a match; one without a year is of this year. None for what is no time after all."""
    _, year, sep, month, day, gap, clock, name, syslog_day, syslog_clock, level, mm, dd, glog_clock = match.groups()
    form: Callable[[datetime], str]
    if year:
        date, form = f"{year}-{month}-{day}T{clock}", _iso(sep, gap)
    elif name:
        date, form = f"{this_year}-{_MONTHS.index(name) + 1:02}-{syslog_day.strip():0>2}T{syslog_clock}", _syslog
    else:
        date, form = f"{this_year}-{mm}-{dd}T{glog_clock}", _glog(level)
    try:
        return _Stamp(datetime.fromisoformat(f"{date}+00:00"), form)
    except ValueError:
        return None


def _iso(sep: str, gap: str) -> Callable[[datetime], str]:
    return lambda at: f"{at.year:04}{sep}{at.month:02}{sep}{at.day:02}{gap}{_clock(at)}"


def _syslog(at: datetime) -> str:
    return f"{_MONTHS[at.month - 1]} {at.day:2} {_clock(at)}"


def _glog(level: str) -> Callable[[datetime], str]:
    return lambda at: f"{level}{at.month:02}{at.day:02} {_clock(at)}"


def _clock(at: datetime) -> str:
    return f"{at.hour:02}:{at.minute:02}:{at.second:02}"
