"""NCCL001: a work completion of the RDMA adapter that ended with an error."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import DeviceKind, Source
from attribution.events.event import Device
from attribution.extraction.decoders.results import IBV_STATUS, MLX5_VENDOR_ERROR
from attribution.rules.api import Finding, Match, PrintedBy, extractor

_RETRY_EXCEEDED = {12}
_FLUSHED = {5}
_LOCAL = {1, 2, 3, 4, 6, 7, 8}
_REMOTE = {9, 10, 11}
_ADAPTER = {19}


@extractor(
    id="NCCL001",
    name="nccl-ib-completion-error",
    since="0.1.0",
    literals=("Got completion ", "Got CQE with error"),
    pattern=(
        r"Got completion (?:from peer (?P<peer>\S+) )?with "
        r"(?:error |status ?= ?(?:IBV_WC_\w+ ?\(|[A-Za-z ]{1,60}\()?)(?P<status>\d{1,4})\)?"
        r"(?:,? opcode(?: |=)(?:\w+\()?(?P<opcode>\d+)\)?)?(?:,? len(?: |=)\d+)?"
        r"(?:,? vendor[ _]err(?: |=)(?P<vendor>\d{1,9}))?"
        r"(?: \((?P<direction>\w+)\))?(?:.*?\bhca (?P<hca>[\w.:-]+))?",
        r"Got CQE with error.{0,200}?status=(?:\w+\()?(?P<status>\d{1,4})\)?(?:.*?vendor[ _]err=(?P<vendor>\d{1,9}))?",
    ),
    emits=(
        "NCCL_IB_RETRY_EXCEEDED",
        "NCCL_IB_FLUSHED",
        "NCCL_IB_LOCAL_ERROR",
        "NCCL_IB_REMOTE_ERROR",
        "NCCL_IB_COMPLETION_ERROR",
        "NCCL_IB_ADAPTER_FAILED",
    ),
    printed_by=PrintedBy("NCCL", ">=2.4", "src/transport/net_ib.cc (from 2.29 net_ib/), ncclIbTest and helpers"),
    sources=(Source.APPLOG, Source.SYSLOG, Source.SCHEDULER),
)
def ib_completion(match: Match) -> Iterator[Finding]:
    """An RDMA request of NCCL ended with an error; the status says whether the path, an end or an earlier failure did.

    Why: status 12 is the network or a peer that is gone, 4 is memory of this node, 5 only follows another failure; one
    line of a hundred tells them apart.
    Misses: which hop of the path lost the packets, and whether the peer's process had ended before.
    Next step: look up the adapter's port counters and the switch ports of both ends named here, and the peer's own log.
    """
    status = int(match["status"] or -1)
    known = IBV_STATUS.get(status)
    vendor = MLX5_VENDOR_ERROR.get(int(match["vendor"])) if match["vendor"] else None
    hca = match["hca"]
    yield Finding(
        _symptom(status),
        fields={
            "status": match["status"],
            "status_name": known.name if known else None,
            "status_meaning": known.meaning if known else None,
            "vendor_err": match["vendor"],
            "vendor_meaning": vendor.meaning if vendor else None,
            "peer": match["peer"],
            "direction": match["direction"],
        },
        device=Device.of(DeviceKind.NIC, name=hca) if hca else None,
    )


def _symptom(status: int) -> str:
    if status in _RETRY_EXCEEDED:
        return "NCCL_IB_RETRY_EXCEEDED"
    if status in _FLUSHED:
        return "NCCL_IB_FLUSHED"
    if status in _LOCAL:
        return "NCCL_IB_LOCAL_ERROR"
    if status in _REMOTE:
        return "NCCL_IB_REMOTE_ERROR"
    return "NCCL_IB_ADAPTER_FAILED" if status in _ADAPTER else "NCCL_IB_COMPLETION_ERROR"


CASES = r"""
- name: retries exceeded, recent form
  given: |
    node-01.rank3 +0.0s applog | node-01:4481:4918 [4] transport/net_ib.cc:2628 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<55875> with status=12 opcode=0 len=0 vendor err 129 (Recv) localGid fd00::1 remoteGidsfd00::2 hca mlx5_4
  expect: |
    node-01.rank3 +0.0s NCCL_IB_RETRY_EXCEEDED nic:name=mlx5_4 status=12 status_name=IBV_WC_RETRY_EXC_ERR peer=10.0.0.2<55875> direction=Recv vendor_err=129
- name: old form without a peer, then a flush
  given: |
    node-01 +0.0s applog | transport/net_ib.cc:847 NCCL WARN NET/IB : Got completion with error 12, opcode 0, len 33646, vendor err 129
    node-01 +0.1s applog | transport/net_ib.cc:847 NCCL WARN NET/IB : Got completion with error 5, opcode 1, len 0, vendor err 249
  expect: |
    node-01 +0.0s NCCL_IB_RETRY_EXCEEDED status=12
    node-01 +0.1s NCCL_IB_FLUSHED status=5 status_name=IBV_WC_WR_FLUSH_ERR
- name: newest form with names
  given: |
    node-01 +0.0s applog | node-01:77:91 [0] transport/net_ib/p2p.cc:310 NCCL WARN NET/IB: Got completion from peer 10.0.0.2<40112> with status=IBV_WC_REM_ACCESS_ERR(10) opcode=IBV_WC_RDMA_WRITE(1) vendor_err=136 hca mlx5_2
  expect: |
    node-01 +0.0s NCCL_IB_REMOTE_ERROR nic:name=mlx5_2 status=10 vendor_err=136
- name: local protection error
  given: |
    node-01 +0.0s applog | transport/net_ib.cc:1326 NCCL WARN NET/IB : Got completion from peer fe80::1:2%ib0<54262> with error 4, opcode 33577, len 33577, vendor err 81 (Send)
  expect: |
    node-01 +0.0s NCCL_IB_LOCAL_ERROR status=4 status_name=IBV_WC_LOC_PROT_ERR direction=Send
- name: completions in prose
  because: no status stands there
  given: |
    node-01 +0.0s applog | Got completion from model in 2.1 s with 128 tokens
  expect: none
- name: another form
  given: |
    node-01 +0.0s applog | node-01:4481:4918 [4] NCCL INFO NET/IB: Got CQE with error from peer 10.0.0.2: status=IBV_WC_RETRY_EXC_ERR(12) vendor_err=129
  expect: |
    node-01 +0.0s NCCL_IB_RETRY_EXCEEDED status=12 status_meaning="no acknowledgement after all retries" status_name=IBV_WC_RETRY_EXC_ERR vendor_err=129 vendor_meaning="no acknowledgement after all retries"
"""
