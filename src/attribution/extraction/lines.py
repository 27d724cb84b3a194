"""A line is what a program said, freed of everything that carried it there: launcher tags, stamps, log headers."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from attribution.events.moment import Basis, Moment
from attribution.extraction.clock import LETTER_LEVELS, ClockRules, Stamp, stamp_at

MAX_LAYERS = 12
"""Prefixes taken off one line; what is still in front after that belongs to the message."""

LEVELS = {
    "trace": "debug",
    "debug": "debug",
    "info": "info",
    "notice": "notice",
    "warn": "warning",
    "warning": "warning",
    "err": "error",
    "error": "error",
    "critical": "critical",
    "crit": "critical",
    "alert": "fatal",
    "emerg": "fatal",
    "fatal": "fatal",
    "panic": "fatal",
}
"""Level words of all programs, and the level each stands for."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its prefixes, and what they told.

    `moment` is the first UTC stamp, else the first of any basis; `boot_us` the kernel's own clock. `rank` is a global
    rank, never a local one. `program` is a syslog tag. `writer` names who wrote the line within a merged stream and
    holds no time; it is empty where no prefix names one. `level` is a value of LEVELS.
    """

    message: str
    moment: Moment | None = None
    boot_us: int | None = None
    host: str | None = None
    rank: int | None = None
    program: str | None = None
    writer: str = ""
    level: str | None = None


def peel(text: str, rules: ClockRules) -> Line:
    """The line that `text` carries. Never raises; its time is linear in the length of the prefixes.

    One blank after a prefix goes with it, further ones belong to the message: the indentation of a traceback stays.
    """
    peeling = _Peeling(text, rules)
    for _ in range(MAX_LAYERS):
        if not peeling.layer():
            break
    return peeling.line()


@dataclass(slots=True)
class _Peeling:
    """How far the prefixes of one line have been read, and what they told so far.

    `stamped` holds after a stamp or a part of a log header, while more of that header may follow.
    """

    text: str
    rules: ClockRules
    pos: int = 0
    moment: Moment | None = None
    boot_us: int | None = None
    host: str | None = None
    rank: int | None = None
    program: str | None = None
    tags: list[str] = field(default_factory=list)
    level: str | None = None
    stamped: bool = False

    def line(self) -> Line:
        message = self.text[self.pos :] if self.pos else self.text
        writer = " ".join(self.tags)
        return Line(message, self.moment, self.boot_us, self.host, self.rank, self.program, writer, self.level)

    def layer(self) -> bool:
        """Take one prefix off; False if there is none."""
        text, pos = self.text, self.pos
        table = _IN_HEADER if self.stamped else _INSIDE if pos else _AT_START
        first = text[pos : pos + 1]
        for layer in table.get(text[pos : pos + 2] if first == "[" else first, ()):
            match = layer.pattern.match(text, pos)
            if match:
                self.pos = match.end()
                self.stamped = layer.header
                layer.take(self, match)
                return True
        stamp = stamp_at(text, pos, self.rules)
        return stamp is not None and self._stamp(stamp)

    def _stamp(self, stamp: Stamp) -> bool:
        """Take a stamp, and the syslog, container or kernel header after it."""
        if stamp.moment and (self.moment is None or self.moment.basis is not Basis.UTC is stamp.moment.basis):
            self.moment = stamp.moment
        if stamp.prefix == "reported":
            return False
        self.boot_us = self.boot_us if stamp.boot_us is None else stamp.boot_us
        self.level = stamp.level or self.level
        form = stamp.prefix if stamp.prefix == "rfc5424" else stamp.form
        if form == "iso" and self.text[self.pos + 10 : self.pos + 11] == "T":
            form = "iso with T"
        self.stamped, self.pos = not (stamp.form in _KERNEL_FORMS or stamp.prefix == "facility"), stamp.end
        for name in _HEADERS.get(form, ()):
            header = _AFTER_STAMP[name].match(self.text, self.pos)
            if header:
                self.pos = header.end()
                self._header(header)
                return True
        self.pos = _match_end(_SEPARATOR, self.text, self.pos)
        return True

    def _header(self, header: re.Match[str]) -> None:
        found = header.groupdict()
        self.stamped = self.stamped and "program" not in found
        if found.get("stream"):
            self.tags.append(found["stream"])
        if found.get("step"):
            self.tags.append(f"step {found['step']}")
        host, program = found.get("host"), found.get("program")
        host, program = (value if value != "-" else None for value in (host, program))
        if host or program:
            self.tags.append(" ".join(filter(None, (host, program))))
        self.host, self.program = self.host or host, program or self.program


def _match_end(pattern: re.Pattern[str], text: str, pos: int) -> int:
    match = pattern.match(text, pos)
    return match.end() if match else pos


# --- what follows a stamp -------------------------------------------------------------------------------------------

_SEPARATOR = re.compile(r"(?::(?= |$))?(?: (?:\||-|>>)(?= ))?[ \t]?")
_LOUD_LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|WARNING|WARN|ERROR|CRITICAL|FATAL)"
_HOST = r"[A-Za-z0-9][\w.-]{0,252}"
# A word is surely a host name if it has a digit, a dot or a hyphen; a prose word has none.
_MARKED = r"(?=[A-Za-z]{0,63}[0-9.-])"
# `(sd-pam)[12]: ` is a program, the `(md0): ` of `EXT4-fs (md0): ` is none
_TAG = r"(?:[A-Za-z_][\w./@()+-]{0,127}|\([\w.-]{1,64}\)(?=\[\d))"
_QUOTED_PARAMETERS = r'(?: [^\s\]="]{1,32}="(?:[^"\\]|\\.){0,1024}"){0,32}'
_AFTER_STAMP = {
    name: re.compile(pattern, re.ASCII)
    for name, pattern in {
        "rfc5424": rf" (?P<host>-|{_HOST}) (?P<program>\S{{1,48}}) \S{{1,128}} \S{{1,32}} "
        rf'(?:-|(?:\[[^\s\]="]{{1,32}}{_QUOTED_PARAMETERS}\]){{1,8}})(?: \ufeff?|$)',
        "container": r" (?P<stream>stdout|stderr) [FP](?::[\w:]{0,32})?(?: |$)",
        "syslog": rf" (?P<host>{_HOST}) (?:(?P<program>(?!NVRM\b){_TAG})(?:\[\d{{1,10}}\])?:(?: |$))?",
        "hostless": rf" (?P<program>kernel|{_TAG}(?=\[\d))(?:\[\d{{1,10}}\])?:(?: |$)",
        # after stamps that programs print too, only a header that cannot be prose counts
        "rsyslog": rf" (?!{_LOUD_LEVEL}\b)(?:{_MARKED}|(?=\S{{1,253}} (?:kernel|[^\s\[:]{{1,128}}\[\d{{1,10}}\]):))"
        rf"(?P<host>{_HOST}) (?P<program>(?!NVRM\b){_TAG})(?:\[\d{{1,10}}\])?:(?: |$)",
        "journal": rf" (?:{_MARKED}|(?=\S{{1,253}} kernel:))"
        rf"(?P<host>{_HOST}) (?P<program>{_TAG})(?:\[\d{{1,10}}\]|(?<= kernel)):(?: |$)",
        "step": r" (?:\[(?P<step>\d{1,10}\.(?:\d{1,10}|batch|extern|interactive))\])(?: |$)",
        "caller": r"\[ {0,8}[TC]\d{1,10}\](?: |$)",
    }.items()
}
_HEADERS = {
    "rfc5424": ("rfc5424",),
    "iso": ("journal",),
    "iso with T": ("container", "rsyslog"),
    "named": ("syslog", "hostless"),
    "bracketed": ("step",),
    "dmesg": ("caller", "journal"),
}
# the kernel prints no log header, but does begin messages with `WARNING:`
_KERNEL_FORMS = frozenset({"dmesg", "wall dmesg", "kmsg", "elapsed"})


# --- layers ---------------------------------------------------------------------------------------------------------

_FIRST, _ANYWHERE, _STAMPED = "only at the start of a line", "anywhere", "only in the header of a stamp"


class _Layer(NamedTuple):
    """A prefix other than a stamp. `header` says that more of a log header may follow it, as after a stamp.

    `starts` are the characters that it may begin with, or that may follow its opening bracket.
    """

    name: str
    starts: str
    pattern: re.Pattern[str]
    take: Callable[[_Peeling, re.Match[str]], None]
    where: str
    header: bool = False


def _task(peeling: _Peeling, match: re.Match[str]) -> None:
    peeling.rank = int(match[1])
    peeling.tags.append(f"task {int(match[1])}")


def _torch_rank(peeling: _Peeling, match: re.Match[str]) -> None:
    peeling.rank = int(match[1])
    peeling.tags.append(f"rank{match[1]}")


def _tag(peeling: _Peeling, match: re.Match[str]) -> None:
    peeling.tags.append(match[1])


def _mpi(peeling: _Peeling, match: re.Match[str]) -> None:
    job, rank, host, stream = match.groups()
    peeling.rank = int(rank)
    peeling.host = peeling.host or host
    peeling.tags.append(f"mpi {job or 0},{rank} {stream}")


def _ray(peeling: _Peeling, match: re.Match[str]) -> None:
    name, pid, ip = match.groups()
    peeling.host = peeling.host or ip
    peeling.tags.append(" ".join(filter(None, ("ray", name, pid and f"pid={pid}", ip and f"ip={ip}"))))


def _pod(peeling: _Peeling, match: re.Match[str]) -> None:
    peeling.host = peeling.host or match[2]
    peeling.tags.append(match[1])


def _on_node(peeling: _Peeling, match: re.Match[str]) -> None:
    peeling.host = peeling.host or match[1]


def _remote(peeling: _Peeling, match: re.Match[str]) -> None:
    peeling.host = peeling.host or match[1]
    peeling.tags.append(match[1])


def _nccl(peeling: _Peeling, match: re.Match[str]) -> None:
    peeling.host = peeling.host or match[1]
    if not peeling.tags:
        peeling.tags.append(f"{match[1]}:{match[2]}")


def _word_level(peeling: _Peeling, match: re.Match[str]) -> None:
    peeling.level = LEVELS[match[1].lower()]


def _letter_level(peeling: _Peeling, match: re.Match[str]) -> None:
    peeling.level = LETTER_LEVELS[match[1]]


def _nothing(peeling: _Peeling, match: re.Match[str]) -> None:
    """The prefix tells nothing that a rule could use."""


_DIGITS = "0123456789"
_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LOWER = _UPPER.lower()
_LETTERS = _UPPER + _LOWER
_ANY_LEVEL = rf"(?:{'|'.join(sorted(LEVELS, reverse=True))})"
_PLACE = r"[\w./<>+-]{1,300}\.(?:py|pyx|cpp|cc|cxx|cu|c|hpp|h|go|rs):\d{1,6}"
_LOGGER = r"[A-Za-z_][\w.-]{0,150}"
_JOB, _PROCESS = r"(?:([\w@.-]{1,64}),)?", r"(?:\[([\w.-]{1,253}):\w{1,10}\])?"
_ACTOR, _DAEMON, _IP = r"[A-Za-z_][\w.:<>-]{0,120}", "raylet|autoscaler|gcs_server|dashboard", r"([0-9A-Fa-f.:]{2,45})"
# what goes with a tag: the one blank that its printer put there, not the indentation of what it printed
_ONE_BLANK = r"(?: (?! ))?"
# Only a name that cannot well be anything else is a host: `fp16: True` and `nvme0n1: lost` name none.
_REMOTE_HOST = (
    r"(?!(?:nvme|mlx|eth|ens|enp|eno|ib|bond|sd[a-z]|loop|python|cuda|gcc|fp|bf|int|uint|float|sha|utf|conv|fc)\d"
    r"|(?:dm|md|lr|rank|step|epoch|iter|layer|block|stage|phase|line|top|checkpoint)-?\d|(?:cpu|gpu)\d:|nvidia-|slurm)"
    r"((?:\d{1,3}\.){3}\d{1,3}"
    r"|(?=[a-z-]{0,62}\d)(?=[a-z]{1,62}-|[a-z-]{1,62}\d\d|(?:node|worker|host|compute|master|head|dgx|hgx)\d)"
    r"[a-z][a-z0-9-]{1,62}(?:\.[a-z0-9-]{1,63}){0,8})"
)


def _layer(
    name: str,
    starts: str,
    pattern: str,
    take: Callable[[_Peeling, re.Match[str]], None],
    where: str = _ANYWHERE,
    header: bool = False,
) -> _Layer:
    return _Layer(name, starts, re.compile(pattern, re.ASCII), take, where, header)


_LAYERS = (
    # launchers
    _layer("srun", _DIGITS + " ", r" {0,4}(\d{1,6}):(?: |$)", _task, _FIRST),
    _layer("kubectl", "p", r"\[(pod/([^/\]\s]{1,253})/[^\]\s]{1,253})\](?: |$)", _pod),
    _layer("pdsh", _DIGITS + _LOWER, rf"{_REMOTE_HOST}:(?: |$)", _remote, _FIRST),
    _layer("rank", "r", r"\[rank(\d{1,6})\](?:: ?| |$)", _torch_rank),
    _layer("role", "dtw", rf"\[((?:default|trainer|worker)\d{{1,6}}(?:\|\d{{1,6}})?)\]:{_ONE_BLANK}", _tag),
    _layer(
        "replica",
        "kmwlcpeh",
        r"\[(?:kubeflow\]\[)?((?:master|worker|launcher|chief|ps|evaluator|head)-\d{1,6})\](?: |$)",
        _tag,
    ),
    _layer("mpirun", _DIGITS + _LOWER, rf"\[{_JOB}(\d{{1,7}})\]{_PROCESS}<(std(?:out|err|diag))>:{_ONE_BLANK}", _mpi),
    _layer("ray", "(", rf"\((?:({_ACTOR}) )?(?:rank=\d{{1,6}} )?pid=(\d{{1,10}})(?:, ip={_IP})?\)(?: |$)", _ray),
    _layer(
        "ray file",
        _LETTERS + "(/",
        rf"(?:\([a-z_]{{1,32}}\) )?[\w./-]{{1,200}}\.cc:\d{{1,6}}: |{_PLACE} -- ",
        _nothing,
        _STAMPED,
    ),
    _layer("ray daemon", "(", rf"\(({_DAEMON})()(?:, ip={_IP}| \+[\dhms]{{1,12}})?\)(?: |$)", _ray),
    # how records of a scheduler are told, see `records`
    _layer("on node", "o", rf"on node ({_HOST}):(?: |$)", _on_node),
    # headers that begin a line
    _layer("nccl", _DIGITS + _UPPER + _LOWER, rf"({_HOST}):(\d{{1,10}}):\d{{1,10}} \[\d{{1,4}}\] ", _nccl),
    _layer("torch", "EWIF", rf"\[([EWIF]) {_PLACE}\](?: |$)", _letter_level),
    _layer("basic config", "CEWID", rf"(CRITICAL|ERROR|WARNING|INFO|DEBUG):{_LOGGER}:(?! )", _word_level),
    _layer("level and place", _UPPER, rf"\[({_LOUD_LEVEL})\|{_PLACE}\] ?(?:>> )?", _word_level, header=True),
    _layer(
        "level", _LETTERS + " ", rf"\[ {{0,2}}((?i:{_ANY_LEVEL})) {{0,2}}\]:?(?: - | |$)?", _word_level, header=True
    ),
    # parts of a header after a stamp or a level
    _layer("letter", "DIWECF", r"\[([DIWECF])\](?: |$)", _letter_level, _STAMPED, True),
    _layer("thread", "t", r"\[tid \d{1,10}\](?: |$)", _nothing, _STAMPED, True),
    _layer("place", _LETTERS + "/_.", rf"\[{_PLACE}(?::[\w.<>]{{1,80}})?\](?: |$)", _nothing, _STAMPED),
    _layer("logger in brackets", _LETTERS + "_", rf"\[{_LOGGER}\](?= ?\[{_LOUD_LEVEL}\]) ?", _nothing, _STAMPED, True),
    _layer("glog", _DIGITS + _LETTERS + " /_", rf" {{0,8}}(?:\d{{1,10}} )?{_PLACE}\](?: |$)", _nothing, _STAMPED),
    _layer("tensorflow", "DIWECF", rf"([DIWECF]) {_PLACE}\](?: |$)", _letter_level, _STAMPED),
    _layer("loguru", _UPPER, rf"({_LOUD_LEVEL}) {{0,4}}\| [\w.<>:-]{{1,200}} - ", _word_level, _STAMPED),
    _layer("name, level", _LETTERS + "_", rf"{_LOGGER} - ({_LOUD_LEVEL}) - ", _word_level, _STAMPED),
    _layer("level, name", _UPPER, rf"({_LOUD_LEVEL}) - {_LOGGER} - ", _word_level, _STAMPED),
    _layer("name and level", _LETTERS + "_", rf"{_LOGGER}: \[({_LOUD_LEVEL})\](?: |$)", _word_level, _STAMPED),
    # a date after the level is a stamp that begins with it
    _layer(
        "bare level",
        _UPPER,
        rf"({_LOUD_LEVEL})(?! \d\d-\d\d \d\d:)(?::| {{0,4}}(?:[|-](?= )|(?= )))(?: |$)",
        _word_level,
        _STAMPED,
        True,
    ),
)


def _starting(*where: str) -> dict[str, tuple[_Layer, ...]]:
    """Layers that may stand in these places by the text that they begin with."""
    found: dict[str, tuple[_Layer, ...]] = {}
    for layer in _LAYERS:
        bracket = "[" if layer.pattern.pattern.startswith(r"\[") else ""
        for start in layer.starts if layer.where in where else "":
            found[bracket + start] = (*found.get(bracket + start, ()), layer)
    return found


_AT_START = _starting(_FIRST, _ANYWHERE)
_INSIDE = _starting(_ANYWHERE)
_IN_HEADER = _starting(_STAMPED, _ANYWHERE)
