"""SLURM112: Slurm's record of a node that was set down, with the reason that somebody gave."""

import re
from collections.abc import Iterator

from attribution.catalog.tables import xids
from attribution.contracts.vocabulary import Source
from attribution.extraction.decoders import nvlink5
from attribution.rules.api import Finding, Match, PrintedBy, extractor

_XID = re.compile(r"(?i)\bxid[ =:#]{0,3}(\d{1,3})\b")
_CODES = tuple(code for code, entry in sorted(xids().items()) if code not in nvlink5.CODES and entry.role == "cause")


@extractor(
    id="SLURM112",
    name="slurm-node-event",
    since="0.1.0",
    literals=("Slurm set the node ",),
    pattern=r"^Slurm set the node (?P<state>[A-Z_]+[^ ,]*), Reason=(?P<reason>.*)$",
    emits=("SLURM_NODE_DOWN", *(f"XID_{code}" for code in _CODES)),
    printed_by=PrintedBy("Slurm", ">=20.11", "sacctmgr show event, told as sentences by this program"),
    sources=(Source.SCHEDULER,),
)
def slurm_node_event(match: Match) -> Iterator[Finding]:
    """A node of the job was set down, and the reason may name an Xid.

    Why: what an administrator or a health check wrote there is often the only trace of the fault that took the node.
    Misses: nodes that are only drained, which go on with their jobs, unless the reason names an Xid.
    Next step: read the kernel and BMC logs of the node before that time.
    """
    reason = match["reason"] or ""
    found = _XID.search(reason)
    if found and int(found[1]) in _CODES:
        yield Finding(f"XID_{int(found[1])}", {"reason": reason})
    elif (match["state"] or "").startswith(("DOWN", "FAIL")):
        yield Finding("SLURM_NODE_DOWN", {"state": match["state"], "reason": reason})


CASES = """
- name: an Xid
  given: |
    node-01 +0.0s scheduler | Slurm set the node DOWN, Reason=xid 79: GPU has fallen off the bus [root(0)], until 2026-01-01T05:00:00
  expect: |
    node-01 +0.0s XID_79
- name: drained for an Xid
  given: |
    node-01 +0.0s scheduler | Slurm set the node DRAIN, Reason=NHC: XID=95 on GPU 3 [root(0)]
  expect: |
    node-01 +0.0s XID_95
- name: down for another reason
  given: |
    node-01 +0.0s scheduler | Slurm set the node DOWN, Reason=power supply failed [root(0)]
  expect: |
    node-01 +0.0s SLURM_NODE_DOWN state=DOWN
- name: drained for maintenance
  because: its jobs go on
  given: |
    node-01 +0.0s scheduler | Slurm set the node DRAIN, Reason=kernel update on Monday [root(0)]
  expect: none
"""
