"""The lines of a file tell who wrote it: the source, the hosts they name, the rank. Pure functions over bytes."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from attribution.contracts.vocabulary import Format, Source

_SAMPLE_LINES = 200
_HOST = rb"([A-Za-z0-9](?:[\w.-]{0,251}[A-Za-z0-9])?)"
_SYSLOG_HEADER = re.compile(
    rb"(?:<\d{1,3}>)?[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d " + _HOST + rb" [^\s:\[]+(?:\[\d+\])?:"  # RFC 3164
    rb"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[-+]\d\d:?\d\d) " + _HOST + rb" (?:kernel|[^\s:\[]+\[\d+\]):"
    rb"|<\d{1,3}>1 \d{4}-\d\d-\d\dT\S+ " + _HOST + rb" \S+ \S+ \S+ "  # RFC 5424
)
_KERNEL_LINE = re.compile(
    rb"(?:<\d{1,3}>)?\[ *\+?\d+\.\d{6}\](?:\[ *[TC]\d+\])? "
    rb"|\[(?:Sun|Mon|Tue|Wed|Thu|Fri|Sat) [A-Z][a-z]{2}  ?\d{1,2} \d\d:\d\d:\d\d \d{4}\] "  # dmesg -T
    rb"|kern +:\w+ *: |kernel: |\d+,\d+,\d+,[-c][^;\n]*;|NVRM: "
)
_FABRIC_MANAGER_LINE = re.compile(
    rb"\[[A-Z][a-z]{2} [ \d]\d \d{4} \d\d:\d\d:\d\d\] \[(?:ERROR|WARNING|INFO|CRITICAL|DEBUG)\] "
)
_SLURM_LINE = re.compile(
    rb"(?:slurmctld|slurmd|slurmdbd)(?:-[\w.-]+)?: "
    rb"|\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?\] (?:error: |debug\d?: |\[\d+\.\w+\] )*"
    rb"(?:sched[:/]|_|job_|slurmctld|slurmd|Nodes? |node_|update_node|requeue|cleanup_|Launching|launch |task/|task_p_"
    rb"|StepId=|JobId=|prolog|epilog|Batch|batch|Job |Killing|agent|backfill)"
)
_SEL_LINE = re.compile(rb" *[0-9a-f]+ \| +\d\d/\d\d/\d\d(?:\d\d)? \| \d\d:\d\d:\d\d")
_ACCOUNTING_LINE = re.compile(rb" *JobID +.*\bState\b|JobId=\d+ JobName=|NodeName=\S+ Arch=")
_NCCL = re.compile(rb"(?:^|[\s\]>:])" + _HOST + rb":\d+:\d+ \[-?\d+\] (?:\S+ )?NCCL ")
_ELASTIC = re.compile(rb"\bhost +: " + _HOST + rb"\s*$")
_SRUN = re.compile(rb"srun: error: " + _HOST + rb": tasks? ")
_ENVELOPE = re.compile(rb'"(?:_HOSTNAME|hostname|node_name|nodeName|host)"\s*:\s*"' + _HOST + rb'"')
_RANK_TAG = re.compile(rb"\[(?:rank ?|Rank )(\d{1,7})\]|^\[\d+,(\d{1,7})\]<std(?:out|err)>:")
_LEVELS = frozenset({"info", "warn", "warning", "error", "debug", "trace", "critical", "fatal", "notice"})
_METRIC_NAME = re.compile(rb'"__name__"\s*:\s*"([\w:]+)"|^(?:# (?:HELP|TYPE) )?([A-Za-z_:][\w:]*)[{ ]', re.MULTILINE)
_NETWORK_METRIC = re.compile(
    rb"(?i)(?:node_)?(?:infiniband|ib|roce|rdma|mlx5|hca|efa|amazonefa|network|netstat|ethtool|nic|bonding)_|(?:if(?:HC)?(?:In|Out)|ifOper)"
    rb"|(?:switch|port)_|container_network_"
)

_NETWORK_DEVICE = re.compile(rb'"(?:device|hca)"\s*:\s*"(?:mlx[45]|hfi1|bnxt_re|irdma|rdma|ib)_?\d')


@dataclass(frozen=True, slots=True)
class Hosts:
    """Host names in a file's start: `writers` stand in headers of whole lines, `speakers` in a program's own lines,
    `mentioned` in lines about others. Only the first two kinds tell who wrote the file."""

    writers: frozenset[str] = frozenset()
    speakers: frozenset[str] = frozenset()
    mentioned: frozenset[str] = frozenset()

    def all(self) -> frozenset[str]:
        """Every host that is named."""
        return self.writers | self.speakers | self.mentioned


def find_source(head: bytes, format: Format) -> Source:
    """The source of a file that lies in no folder named after one."""
    if format is Format.PROMETHEUS_METRICS:
        return metric_source(head)
    if format in _SOURCE_OF_FORMAT:
        return _SOURCE_OF_FORMAT[format]
    if format is not Format.TEXT:
        is_system = re.search(
            rb'"(?:facility|appname|job|source)\\?"\s*:\s*\\?"(?:kern|kernel|syslog|journal)\w*\\?"', head
        )
        return Source.SYSLOG if is_system else Source.APPLOG
    lines = [line for line in head.strip(b"\0").split(b"\n") if line.strip()][:_SAMPLE_LINES]
    for has_shape, source in _SOURCE_SHAPES:
        if lines and 2 * sum(has_shape(line) is not None for line in lines) >= len(lines):
            return source
    return Source.SCHEDULER if lines and _ACCOUNTING_LINE.match(lines[0]) else Source.APPLOG


_SOURCE_OF_FORMAT = {
    Format.JOURNAL_JSON: Source.SYSLOG,
    Format.SACCT_JSON: Source.SCHEDULER,
    Format.SACCT_PARSABLE2: Source.SCHEDULER,
    Format.KUBERNETES_OBJECTS: Source.SCHEDULER,
    Format.NCCL_FLIGHT_RECORDER: Source.FLIGHT_RECORDER,
}


def metric_source(head: bytes) -> Source:
    """Which kind of metrics: of the network if most names are those of InfiniBand, NIC or switch ports."""
    names = {a or b for a, b in _METRIC_NAME.findall(head)}
    network = sum(_NETWORK_METRIC.match(name) is not None for name in names)
    if not names and _NETWORK_DEVICE.search(head):
        return Source.NETWORK_METRICS  # the answer of a function such as increase() has labels, but no name
    return Source.NETWORK_METRICS if 2 * network > len(names) else Source.NODE_METRICS


def find_hosts(head: bytes) -> Hosts:
    """The hosts that lines name, by who names them."""
    lines = head.split(b"\n")
    spread = lines[:: len(lines) // _SAMPLE_LINES + 1]
    writers = {host for line in spread if (host := _syslog_host(line))}
    if b'"' in head:
        writers |= {_text(found) for found in _ENVELOPE.findall(head) if head.lstrip()[:1] in (b"{", b"[")}
    speakers, mentioned = set(), set()
    if b" NCCL " in head:
        speakers |= {_text(m.group(1)) for line in lines if b" NCCL " in line and (m := _NCCL.search(line[:2000]))}
    if b"host " in head:
        speakers |= {_text(m.group(1)) for line in lines if b"host " in line and (m := _ELASTIC.search(line[-400:]))}
    if b"srun: error: " in head:
        mentioned |= {_text(found) for found in _SRUN.findall(head)}
    return Hosts(frozenset(writers), frozenset(speakers), frozenset(mentioned))


def _syslog_host(line: bytes) -> str | None:
    found = _SYSLOG_HEADER.match(line)
    host = _text(next(group for group in found.groups() if group)) if found else None
    return None if host is None or host.lower() in _LEVELS else host


_SOURCE_SHAPES: tuple[tuple[Callable[[bytes], object], Source], ...] = (
    (_FABRIC_MANAGER_LINE.match, Source.FABRIC_MANAGER),
    (_SEL_LINE.match, Source.BMC),
    (_syslog_host, Source.SYSLOG),
    (_KERNEL_LINE.match, Source.SYSLOG),
    (_SLURM_LINE.match, Source.SCHEDULER),
)
"""Shapes of lines; half of a file's first lines must have one."""


def _text(data: bytes) -> str:
    return data.decode("ascii", "replace")


def find_rank(head: bytes) -> int | None:
    """The rank that lines are tagged with, if every tagged line has one and the same."""
    if b"ank" not in head and b"]<std" not in head:
        return None
    ranks: set[int] = set()
    for line in head.split(b"\n"):
        ranks |= {int(a or b) for a, b in _RANK_TAG.findall(line[:400])}
        if len(ranks) > 1:
            return None
    return ranks.pop() if ranks else None
