"""Small diagnoses made by hand, one for every shape that an answer can have."""

from datetime import UTC, datetime, timedelta
from typing import Any

from attribution.contracts.coverage import CoverageLine, Gap
from attribution.contracts.diagnosis import (
    Alternative,
    CatalogIdentity,
    Cause,
    DemotedBy,
    Device,
    Diagnosis,
    Evidence,
    FirstFailure,
    Impact,
    Sample,
    Symptom,
    TraceEntry,
    Untestable,
)
from attribution.contracts.vocabulary import (
    Action,
    Confidence,
    DeviceKind,
    Role,
    Source,
    Status,
    SubDomain,
    SymptomStatus,
    TerminalState,
    domain_of,
)

START = datetime(2026, 5, 4, 3, 6, 58, 112_000, tzinfo=UTC)
LINK = Device(kind=DeviceKind.NVLINK, ids={"pci": "0000:1b:00", "index": "0", "link": "8"})
XID_149 = (
    "May  4 03:06:58 node-02 kernel: NVRM: Xid (PCI:0000:1b:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 "
    "(0x004505c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)"
)
ONE_ROOT = "Nothing else in the evidence explains it, and one root is left."


def at(secs: float) -> datetime:
    """A time, in seconds after the cause."""
    return START + timedelta(seconds=secs)


def line(item: str, text: str, secs: float = 0.0, **changes: Any) -> Evidence:
    """A raw line of the system log of node-02."""
    given: dict[str, Any] = {
        "id": item,
        "source": Source.SYSLOG,
        "node": "node-02",
        "line": 812,
        "offset": 90_112,
        "at": at(secs),
        "at_uncertainty_secs": 0.000001,
        "text": text,
        "rule": "NVL001",
    }
    return Evidence(**(given | changes))


def cause(symptom: str, meaning: str, sub_domain: SubDomain, **changes: Any) -> Cause:
    """A cause on node-02, the only one."""
    given: dict[str, Any] = {
        "symptom": symptom,
        "meaning": meaning,
        "sub_domain": sub_domain,
        "node": "node-02",
        "at": START,
        "confidence": Confidence.SINGLE,
        "why": ONE_ROOT,
        "rule": "NVL001",
        "evidence_ids": ("e1",),
    }
    return Cause(**(given | changes))


def symptom(name: str, node: str | None, role: Role = Role.EFFECT, **changes: Any) -> Symptom:
    """An active finding of one line."""
    given: dict[str, Any] = {
        "symptom": name,
        "role": role,
        "node": node,
        "status": SymptomStatus.ACTIVE,
        "count": 1,
        "first_at": at(41.2),
    }
    return Symptom(**(given | changes))


def aside(name: str, node: str, by: str, reason: str, rule: str = "COL101", **changes: Any) -> Symptom:
    """A finding that was set aside because of one on node-02."""
    demoted_by = DemotedBy(rule=rule, symptom=by, node="node-02", reason=reason)
    return symptom(name, node, status=SymptomStatus.DEMOTED, demoted_by=demoted_by, **changes)


def covered(source: Source, node: str | None, lines: int = 4_210, **changes: Any) -> CoverageLine:
    """A stream that was read whole."""
    given: dict[str, Any] = {"source": source, "node": node, "status": Status.OK, "lines": lines, "bytes": lines * 90}
    return CoverageLine(**(given | changes))


def diagnosis(sub_domain: SubDomain, state: TerminalState = TerminalState.FAILED, **fields: Any) -> Diagnosis:
    """A diagnosis of attempt 2 of train-8812."""
    given: dict[str, Any] = {
        "workload_id": "train-8812",
        "attempt": 2,
        "terminal_state": state,
        "domain": domain_of(sub_domain),
        "sub_domain": sub_domain,
        "summary": "The attempt failed.",
        "catalog": CatalogIdentity(version="0.1.0", digest="5d41402abc4b2a76b9719d911017c592"),
        "input_digest": "7d793037a0760186574b0282f2f435e7",
        "coverage": tuple(
            covered(source, f"node-0{n}") for source in (Source.APPLOG, Source.SYSLOG) for n in (1, 2, 3)
        ),
    }
    return Diagnosis(**(given | fields))


# --- shapes -------------------------------------------------------------------------------------------------------


def single() -> Diagnosis:
    """One cause in the hardware, and what followed from it."""
    peers = [f"node-{n:02}" for n in (1, 3, 4, 5, 6, 7, 8, 9)]
    followed = "the peer on node-02 was lost first"
    sample = covered(Source.APPLOG, "node-09", truncated=True, status=Status.PARTIAL, masked=2, out_of_window=12)
    return diagnosis(
        SubDomain.NVLINK_FABRIC,
        causes=(
            cause(
                "NVLINK_SIGNAL_INTEGRITY",
                "NVLink signal integrity (Xid 149, sub-code 4)",
                SubDomain.NVLINK_FABRIC,
                device=LINK,
                why=f"{ONE_ROOT} It explains 9 other findings. Seen 3 times.",
                actions=(Action.RESTART_ELSEWHERE, Action.RESET_GPU, Action.INSPECT_LINK),
            ),
        ),
        affected_nodes=("node-02",),
        interesting_nodes=tuple(peers),
        exclude_nodes=("node-02",),
        first_failure=FirstFailure(symptom="NVLINK_SIGNAL_INTEGRITY", node="node-02", at=START, evidence_id="e1"),
        impact=Impact(nodes=9, ranks=72, gpus=1),
        symptoms=(
            symptom("NVLINK_SIGNAL_INTEGRITY", "node-02", Role.CAUSE, device=LINK, count=3, evidence_ids=("e1",)),
            aside(
                "XID_45", "node-02", "NVLINK_SIGNAL_INTEGRITY", "the driver cleared up after the link", rule="XID101"
            ),
            *(aside("NCCL_ERROR", n, "NVLINK_SIGNAL_INTEGRITY", followed, count=8, ranks=8) for n in peers),
            symptom("NVLINK_BIT_ERRORS", "node-02", Role.CONTEXT, count=40),
        ),
        evidence=(
            line(
                "e1",
                XID_149,
                stream="syslog/node-02.log",
                fields={"code": "149", "unit": "NETIR_LINK_EVT", "severity": "Fatal", "link": "08"},
                before=("May  4 03:06:57 node-02 kernel: nvidia-nvlink: link 8 retrains",),
                after=("May  4 03:06:58 node-02 kernel: NVRM: Xid (PCI:0000:1b:00): 45, pid=71023, name=python3",),
            ),
        ),
        actions=(Action.RESTART_ELSEWHERE, Action.RESET_GPU, Action.INSPECT_LINK),
        alternatives=(
            Alternative(
                symptom="XID_48",
                sub_domain=SubDomain.GPU_HARDWARE,
                node="node-02",
                ruled_out=True,
                because="it reports the same error as the link",
            ),
        ),
        untestable=(
            Untestable(sub_domains=(SubDomain.GPU_HARDWARE,), source=Source.NODE_METRICS, reason="no source"),
            Untestable(sub_domains=(SubDomain.NETWORK_FABRIC,), source=Source.NETWORK_METRICS, reason="no source"),
        ),
        coverage=(*diagnosis(SubDomain.NONE).coverage, sample),
        trace=(
            TraceEntry(stage="extract", rule="NVL001", outcome="fired", symptom="NVLINK_SIGNAL_INTEGRITY", count=3),
            TraceEntry(stage="early", rule="XID002", outcome="not_applicable", reason="no event of XID_48"),
            *(
                TraceEntry(
                    stage="job",
                    rule="COL101",
                    outcome="fired",
                    decision="demote",
                    symptom="NCCL_ERROR",
                    node=node,
                    reason=followed,
                )
                for node in peers
            ),
        ),
    )


def user_code() -> Diagnosis:
    """A Python error of one rank, seen after its first effect; the log's zone is not known."""
    stderr = {"source": Source.APPLOG, "stream": "stderr", "rule": "PY001", "at_uncertainty_secs": 50_401.0}
    return diagnosis(
        SubDomain.USER_CODE,
        causes=(
            cause(
                "PYTHON_EXCEPTION",
                "an exception in the job's own code (KeyError)",
                SubDomain.USER_CODE,
                node="node-03",
                rank=17,
                rule="PY001",
                actions=(Action.FIX_USER_CODE,),
            ),
        ),
        first_failure=FirstFailure(symptom="NCCL_ERROR", node="node-01", rank=3, at=at(-0.4), evidence_id="e2"),
        impact=Impact(nodes=2, ranks=16),
        symptoms=(
            symptom("PYTHON_EXCEPTION", "node-03", Role.CAUSE, rank=17, ranks=8, evidence_ids=("e1",)),
            symptom("NCCL_ERROR", "node-01", rank=3, evidence_ids=("e2",)),
        ),
        evidence=(
            line(
                "e1", "KeyError: 'labels'", node="node-03", rank=17, line=4_120, fields={"type": "KeyError"}, **stderr
            ),
            line("e2", "NCCL error: remote process exited", -0.4, node="node-01", rank=3, **stderr),
        ),
        actions=(Action.FIX_USER_CODE,),
        inferred=("nodes", "started_at"),
        partial="its pods are gone, so its nodes and ranks are not known",
    )


def compound() -> Diagnosis:
    """Eight GPUs on eight nodes fell off the bus; too many to avoid."""
    names = [f"node-{n:02}" for n in range(2, 10)]
    found = [
        cause(
            "XID_79",
            "a GPU that fell off the bus (Xid 79)",
            SubDomain.GPU_HARDWARE,
            node=name,
            device=Device(kind=DeviceKind.GPU, ids={"pci": "0000:3b:00"}),
            at=at(n),
            confidence=Confidence.COMPOUND,
            why="Nothing else in the evidence explains it, and 8 roots are left, all of one kind.",
            rule="XID001",
            evidence_ids=(f"e{n}",),
            actions=(Action.REBOOT_NODE, Action.INSPECT_HARDWARE),
        )
        for n, name in enumerate(names)
    ]
    raw = "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
    return diagnosis(
        SubDomain.GPU_HARDWARE,
        TerminalState.NODE_FAILED,
        causes=tuple(found),
        affected_nodes=tuple(names),
        first_failure=FirstFailure(symptom="XID_79", node="node-02", at=START, evidence_id="e0"),
        impact=Impact(nodes=8, ranks=64, gpus=8),
        evidence=tuple(
            line(f"e{n}", raw, n, node=name, at_uncertainty_secs=1.0, rule="XID001") for n, name in enumerate(names)
        ),
        actions=(Action.REBOOT_NODE, Action.INSPECT_HARDWARE),
        trace=(
            TraceEntry(
                stage="report",
                rule="exclude-nodes",
                outcome="abstained",
                reason="8 nodes carry the cause, more than 1: this looks systemic",
            ),
        ),
    )


def ambiguous() -> Diagnosis:
    """An ECC error and a Python error that no clock can order."""
    why = (
        "Nothing else in the evidence explains it, but 2 roots of different kinds are left, and their clocks prove no "
        "order."
    )
    several = {"confidence": Confidence.ONE_OF_SEVERAL, "why": why}
    code = {"node": "node-07", "rank": 33, "at": None, "rule": "PY001", "evidence_ids": ("e2",)}
    gpu = Device(kind=DeviceKind.GPU, ids={"pci": "0000:1b:00"})
    return diagnosis(
        SubDomain.AMBIGUOUS,
        causes=(
            cause(
                "XID_48",
                "an uncorrectable GPU memory error (Xid 48)",
                SubDomain.GPU_HARDWARE,
                device=gpu,
                rule="XID001",
                **several,
            ),
            cause(
                "PYTHON_EXCEPTION",
                "an exception in the job's own code (ValueError)",
                SubDomain.USER_CODE,
                **code,
                **several,
            ),
        ),
        first_failure=FirstFailure(symptom="XID_48", node="node-02", at=START, evidence_id="e1"),
        impact=Impact(nodes=2, ranks=1, gpus=1),
        evidence=(
            line("e1", "NVRM: Xid (PCI:0000:1b:00): 48, DBE (double bit error) ECC Error", rule="XID001"),
            line(
                "e2",
                "ValueError: loss is nan",
                source=Source.APPLOG,
                node="node-07",
                rank=33,
                at=None,
                at_uncertainty_secs=None,
                rule="PY001",
            ),
        ),
        coverage=(covered(Source.APPLOG, "node-07", node_is_guess=True), covered(Source.SYSLOG, "node-02")),
        would_decide="time stamps that order the causes: logs with an offset from UTC, or clocks known to agree",
        actions=(Action.COLLECT_MORE, Action.RUN_DIAGNOSTICS),
    )


def insufficient() -> Diagnosis:
    """Time-outs everywhere, and the system logs are missing."""
    return diagnosis(
        SubDomain.INSUFFICIENT_EVIDENCE,
        first_failure=FirstFailure(
            symptom="NCCL_WATCHDOG_TIMEOUT", node="node-05", rank=40, at=START, evidence_id="e1"
        ),
        impact=Impact(nodes=4, ranks=32),
        symptoms=(
            symptom("NCCL_WATCHDOG_TIMEOUT", "node-05", rank=40, evidence_ids=("e1",)),
            *(symptom("NCCL_WATCHDOG_TIMEOUT", f"node-0{n}", count=8) for n in (1, 2, 3)),
            symptom("PROCESS_KILLED", "node-01"),
        ),
        evidence=(
            line(
                "e1",
                "[rank40]:[E504 03:06:58.112000000 ProcessGroupNCCL.cpp:632] [Rank 40] Watchdog caught collective "
                "operation timeout: WorkNCCL(SeqNum=8841, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600021 ms",
                source=Source.APPLOG,
                node="node-05",
                rank=40,
                at_uncertainty_secs=None,
                fields={"seq": "8841", "op": "ALLREDUCE"},
                rule="COL001",
            ),
        ),
        would_decide="the system logs of node-04, node-05 and 6 more nodes around the first failure on node-05",
        actions=(Action.COLLECT_MORE, Action.RUN_DIAGNOSTICS),
        untestable=(
            Untestable(
                sub_domains=(SubDomain.GPU_HARDWARE, SubDomain.NVLINK_FABRIC, SubDomain.HOST_OS),
                source=Source.SYSLOG,
                nodes=tuple(f"node-{n:02}" for n in range(4, 12)),
                reason="nothing was delivered",
            ),
            Untestable(
                sub_domains=(SubDomain.NETWORK_FABRIC,), source=Source.NETWORK_METRICS, reason="error: HTTP 503"
            ),
            Untestable(sub_domains=(), reason="rule NET004 broke: ZeroDivisionError: division by zero"),
        ),
        coverage=(
            covered(Source.APPLOG, "node-05", gaps=(Gap(start=90, end=190),), unreadable=12),
            covered(Source.FLIGHT_RECORDER, "node-05", 0, status=Status.SKIPPED, reason="over 64 MiB"),
        ),
    )


def none() -> Diagnosis:
    """A job that completed, with noise in its logs."""
    return diagnosis(
        SubDomain.NONE,
        TerminalState.COMPLETED,
        summary="The attempt completed; 3 findings in its logs did not end it.",
        first_failure=FirstFailure(symptom="NCCL_WARNING", node="node-01", at=START, evidence_id="e1"),
        symptoms=(
            symptom("NCCL_WARNING", "node-01", count=12),
            symptom("NCCL_WARNING", "node-02"),
            symptom("XID_92", "node-03", Role.CAUSE),
        ),
        actions=(Action.NONE,),
        untestable=(Untestable(sub_domains=(SubDomain.STORAGE,), source=Source.SCHEDULER, reason="no source"),),
    )


def metric() -> Diagnosis:
    """A cause that a metric shows, with a rival that came later."""
    text = 'node_filesystem_avail_bytes{mountpoint="/scratch"} 0'
    samples = (Sample(at=at(-15), value=1024.0), Sample(at=START, value=0.0), Sample(at=at(15), value=None))
    return diagnosis(
        SubDomain.STORAGE,
        TerminalState.OUT_OF_MEMORY,
        causes=(
            cause(
                "FILESYSTEM_FULL",
                "a full file system",
                SubDomain.STORAGE,
                device=Device(kind=DeviceKind.FILESYSTEM, ids={"name": "/scratch"}),
                rule="STO004",
                actions=(Action.RETRY_LATER,),
            ),
            cause(
                "HOST_OOM",
                "host memory exhausted",
                SubDomain.HOST_OS,
                at=at(45),
                confidence=Confidence.ONE_OF_SEVERAL,
                evidence_ids=("e9",),
            ),
        ),
        first_failure=FirstFailure(symptom="FILESYSTEM_FULL", node="node-02", at=START, evidence_id="e1"),
        evidence=(
            line("e1", text, source=Source.NODE_METRICS, line=3, fields={"value": "0"}, samples=samples, rule="STO004"),
            line("e9", "Out of memory: Killed process 71023 (python3)", 45, at_uncertainty_secs=1.0),
        ),
        actions=(Action.RETRY_LATER,),
    )


def bare() -> Diagnosis:
    """Nothing was given and nothing is known."""
    return diagnosis(
        SubDomain.INSUFFICIENT_EVIDENCE,
        TerminalState.UNKNOWN,
        summary="How the attempt ended is not in the evidence; no line of the evidence names a cause.",
        coverage=(),
        would_decide="more of the job's own log: the lines before the first of these",
        actions=(Action.COLLECT_MORE,),
    )


def hostile() -> Diagnosis:
    """Every text that a log can influence tries to break out."""
    evil = (
        "\x1b[2J\u202eevil\u200b\u0301\u0301\u0301\u0301 @channel `` ``` |<b>http://x.example/#1 :smile:\r\n# 日本語 "
        * 2
    )
    gpu = Device(kind=DeviceKind.GPU, ids={"uuid": evil, evil: evil})
    return diagnosis(
        SubDomain.GPU_HARDWARE,
        workload_id=evil,
        causes=(
            cause(
                evil,
                evil,
                SubDomain.GPU_HARDWARE,
                node=evil,
                device=gpu,
                why=evil,
                rule=evil,
                actions=(Action.DRAIN_NODE,),
            ),
        ),
        exclude_nodes=(evil,),
        first_failure=FirstFailure(symptom=evil, node=evil, at=START, evidence_id="e2"),
        symptoms=(aside(evil, evil, evil, evil, rule=evil), symptom(evil, "node-01")),
        evidence=(
            line("e1", evil * 8, node=evil, stream=evil, before=(evil,), after=("```",), fields={"x": evil}, rule=evil),
        ),
        untestable=(Untestable(sub_domains=(SubDomain.DATA,), source=Source.BMC, nodes=(evil,), reason=evil),),
        would_decide=evil,
        inferred=(evil,),
        partial=evil,
        actions=(Action.DRAIN_NODE,),
        coverage=(covered(Source.SYSLOG, evil, reason=evil, node_is_guess=True),),
        trace=(TraceEntry(stage="job", rule=evil, outcome=evil, symptom=evil, node=evil, reason=evil),),
    )


SHAPES = (single, user_code, compound, ambiguous, insufficient, none, metric, bare, hostile)
"""Makers of one diagnosis of each shape; the name of the maker is the name of the shape."""
