"""SLURM105: why PBS and LSF ended a job, in the words that they write into its output."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import Source
from attribution.rules.api import Finding, Match, PrintedBy, extractor

_TIME = ("walltime", "cput", "RUNLIMIT", "CPULIMIT", "DEADLINE", "WINDOW")
_MEMORY = ("mem", "vmem", "pmem", "pvmem", "MEMLIMIT", "SWAP")
_SYMPTOMS = {
    **dict.fromkeys(_TIME, "SCHEDULER_TIME_LIMIT"),
    **dict.fromkeys(_MEMORY, "SCHEDULER_OUT_OF_MEMORY"),
    "PREEMPT": "SCHEDULER_PREEMPTED",
    "node failure": "SCHEDULER_NODE_FAILED",
    "EOF": "SCHEDULER_NODE_FAILED",
    "preempted": "SCHEDULER_PREEMPTED",
    "OWNER": "SCHEDULER_CANCELLED",
    "FORCE_OWNER": "SCHEDULER_CANCELLED",
    "ADMIN": "SCHEDULER_CANCELLED",
    "FORCE_ADMIN": "SCHEDULER_CANCELLED",
}


@extractor(
    id="SLURM105",
    name="other-schedulers",
    since="0.1.0",
    literals=("=>> PBS: job ", "TERM_"),
    pattern=(
        r"=>> PBS: job killed: (?P<why>walltime|cput|p?v?mem)\b.{0,60} exceeded limit",
        r"=>> PBS: job (?:killed|preempted|requeued|terminated):? \(?(?P<why>node failure)\b",
        r"=>> PBS: job killed: node \d{1,6} \((?P<host>[\w.-]{1,253})\) requested job terminate, '(?P<why>EOF)'",
        r"=>> PBS: job (?P<why>preempted)\b",
        r"^TERM_(?P<why>RUNLIMIT|CPULIMIT|DEADLINE|WINDOW|MEMLIMIT|SWAP|PREEMPT|(?:FORCE_)?OWNER|(?:FORCE_)?ADMIN): ",
    ),
    emits=tuple(sorted(set(_SYMPTOMS.values()))),
    printed_by=PrintedBy("PBS, LSF", ">=9", "pbs_mom; the job report of sbatchd"),
    sources=(Source.APPLOG, Source.SCHEDULER),
)
def other_schedulers(match: Match) -> Iterator[Finding]:
    """PBS or LSF ended the job, and says for which limit or by whom.

    Why: it is the scheduler's own word for the end.
    Misses: limits that the site's tools enforce, and jobs whose report goes by mail.
    Next step: ask for more of what ran out, or read the job's own logs for what came before.
    """
    why = match["why"] or ""
    yield Finding(_SYMPTOMS[why], {"reason": why}, node=match["host"])


CASES = """
- name: time, PBS
  given: |
    node-01 +0.0s applog | =>> PBS: job killed: walltime 43222 exceeded limit 43200
  expect: |
    node-01 +0.0s SCHEDULER_TIME_LIMIT reason=walltime
- name: memory, PBS
  given: |
    node-01 +0.0s applog | =>> PBS: job killed: vmem 51231789056 exceeded limit 17179869184
  expect: |
    node-01 +0.0s SCHEDULER_OUT_OF_MEMORY reason=vmem
- name: a lost node, PBS
  given: |
    node-01 +0.0s applog | =>> PBS: job killed: node 3 (node-04) requested job terminate, 'EOF' (code 1099) - received SISTER_EOF attempting to communicate with sister MOM's
    node-01 +1.0s scheduler | =>> PBS: job preempted (node failure)
  expect: |
    node-04 +0.0s SCHEDULER_NODE_FAILED reason=EOF
    node-01 +1.0s SCHEDULER_NODE_FAILED reason="node failure"
- name: preempted, PBS
  given: |
    node-01 +0.0s applog | =>> PBS: job preempted by a job of higher priority
  expect: |
    node-01 +0.0s SCHEDULER_PREEMPTED reason=preempted
- name: time, LSF
  given: |
    node-01 +0.0s scheduler | TERM_RUNLIMIT: job killed after reaching LSF run time limit.
  expect: |
    node-01 +0.0s SCHEDULER_TIME_LIMIT reason=RUNLIMIT
- name: memory, LSF
  given: |
    node-01 +0.0s scheduler | TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.
  expect: |
    node-01 +0.0s SCHEDULER_OUT_OF_MEMORY reason=MEMLIMIT
- name: by its owner, LSF
  given: |
    node-01 +0.0s scheduler | TERM_OWNER: job killed by owner.
  expect: |
    node-01 +0.0s SCHEDULER_CANCELLED reason=OWNER
- name: a setting
  because: a program lists what it would handle
  given: |
    node-01 +0.0s applog | handled reasons: TERM_RUNLIMIT: save, TERM_OWNER: leave
  expect: none
"""
