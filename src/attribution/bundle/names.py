"""A file name says which node, rank and stream wrote the file: `<node>[.rank<k>][.<stream>].<ext>[.gz|.zst]`."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from attribution.contracts.context import Node

_COMPRESSED = re.compile(r"(?i)\.(?:gz|zst)$")
_RANK = re.compile(r"(?i)(?:^|[._-])(?<!local[._-])rank[_-]?(\d{1,7})(?=[._-]|$)")
_IPV4 = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}(?=\.|$)")
_HOST = re.compile(r"(?=.{1,253}$)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9-]{1,63})*")
_GENERIC = re.compile(
    r"(?i)(?:std)?(?:out|err)(?:or|put)?s?|stdin|logs?|applog|console|dmesg|kern(?:el)?|messages|syslog|journal(?:ctl)?"
    r"|(?:slurm|job|run|attempt|epoch|step|task|train(?:ing|er)?|main|eval|test|part|version|exp|experiment|trial"
    r"|restart|iter|seed|cuda|local-?rank|rank|pretrain|finetune|launch|launcher)s?(?:-?\d.*)?"
    r"|slurm(?:ctld|dbd|d|stepd)?|sacct|squeue|sinfo|scontrol|pods?|events?|nodes?|objects?|workloads?"
    r"|metrics?|dcgm|prometheus|gpus?|network|infiniband|fabric-?manager|nvidia-fabricmanager|sel|bmc|ipmi|all|cluster"
    r"|kubelet|containerd|docker(?:d)?|cri-?o|nvidia-persistenced|auth|secure|boot|daemon|cron|mcelog|rasdaemon|opensm"
    r"|system|host|server|client|localhost|unknown|\d+-\d+|v\d+"
)
"""Words that name what a file holds, with the number of a job or run behind them; never taken for a node."""


MAX_NAME = 253
"""Characters of a host name; a longer word is none."""


@dataclass(frozen=True, slots=True)
class FileName:
    """What a file's name says. `certain` is false when the node is a guess that nothing confirms."""

    node: str | None
    certain: bool
    rank: int | None
    stream: str


class NodeNames:
    """Every name by which the context knows its nodes: names, aliases, and short names that only one node has."""

    def __init__(self, nodes: Iterable[Node] = ()) -> None:
        listed = tuple(nodes)
        self._names: dict[str, str] = {}
        for node in listed:
            for alias in node.aliases:
                self._names.setdefault(alias.lower(), node.name)
        self._names.update({node.name.lower(): node.name for node in listed})
        short: dict[str, set[str]] = {}
        for name, node_name in self._names.items():
            short.setdefault(short_name(name), set()).add(node_name)
        for name, owners in short.items():
            if len(owners) == 1:
                self._names.setdefault(name, *owners)

    def __bool__(self) -> bool:
        return bool(self._names)

    def exact(self, name: str) -> str | None:
        """The context's name of the node that is called exactly `name`, or None. Case does not matter."""
        return self._names.get(name.lower())

    def known(self, host: str | None) -> str | None:
        """As `exact`, for a host name out of a line, which may be longer than the context's name."""
        return (self.exact(host) or self.exact(short_name(host))) if host else None

    def resolve(self, host: str | None) -> str | None:
        """As `known`, or the name itself where the context does not know it; None for what is too long for a name."""
        return (self.known(host) or host) if host and len(host) <= MAX_NAME else None


def short_name(name: str) -> str:
    """The first label of a host name; an IPv4 address is its own short name."""
    return name if _IPV4.match(name) else name.split(".", 1)[0]


def names_host(name: str, host: str) -> bool:
    """Whether `name` is `host` or its short name."""
    return name.lower() in {host.lower(), short_name(host.lower())}


def looks_like_host(name: str, *, needs_digit: bool = True) -> bool:
    """Whether a name may be taken for a host's when nothing else is known of it."""
    if _IPV4.fullmatch(name):
        return True
    short = short_name(name)
    return (
        _HOST.fullmatch(name) is not None
        and any(c.isalpha() for c in short)
        and (not needs_digit or any(c.isdigit() for c in short))
        and _GENERIC.fullmatch(short) is None
    )


def parse_name(
    file_name: str, known: NodeNames, hosts: Collection[str] = (), *, guess: bool = True, needs_digit: bool = False
) -> FileName:
    """Read a file's name (without folders) from the right.

    The node is the longest start of the name that the context knows, else the longest one that `hosts` (read from the
    file's lines) confirms, else, if `guess` allows, the first label when it looks like a host name.
    """
    base = _COMPRESSED.sub("", file_name)
    ranks = list(_RANK.finditer(base))
    if ranks:
        left, right = base[: ranks[-1].start()], base[ranks[-1].end() :].lstrip("._-")
        rank = int(ranks[-1].group(1))
        stream = right.rpartition(".")[0]
    else:
        whole = known.exact(base) is not None or _IPV4.fullmatch(base) is not None
        left, right, rank, stream = base if whole else base.rpartition(".")[0] or base, "", None, ""
    node, certain, length = _node(left, known, hosts, ranked=rank is not None)
    if node is not None and not certain and not (guess and looks_like_host(node, needs_digit=needs_digit)):
        node = None
    if rank is None:
        stream = (left[length:] if node is not None else left).lstrip("._-")
    return FileName(node, certain and node is not None, rank, stream)


def _node(left: str, known: NodeNames, hosts: Collection[str], *, ranked: bool) -> tuple[str | None, bool, int]:
    """The node that `left` starts with, whether that is certain, and how many characters name it."""
    if not left:
        return None, False, 0
    starts = list(_starts(left))
    for start in starts:
        if (name := known.exact(start)) is not None:
            return name, True, len(start)
    for start in starts:
        if any(names_host(start, host) for host in hosts):
            return start, True, len(start)
    address = _IPV4.match(left)
    guess = address.group() if address else left if ranked else starts[-1]
    return guess, False, len(guess)


def _starts(left: str) -> Iterator[str]:
    """All starts of a dotted name that end at a dot, the longest first."""
    labels = left.split(".")
    for count in range(len(labels), 0, -1):
        yield ".".join(labels[:count])
