"""SLURM102: the state of a job as `sacct` and `scontrol` print it."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import Source
from attribution.rules.api import NOWHERE, Finding, Match, PrintedBy, extractor

_SYMPTOMS = {
    "TIMEOUT": "SCHEDULER_TIME_LIMIT",
    "DEADLINE": "SCHEDULER_TIME_LIMIT",
    "NODE_FAIL": "SCHEDULER_NODE_FAILED",
    "BOOT_FAIL": "SCHEDULER_NODE_FAILED",
    "OUT_OF_MEMORY": "SCHEDULER_OUT_OF_MEMORY",
    "OUT_OF_ME": "SCHEDULER_OUT_OF_MEMORY",
    "PREEMPTED": "SCHEDULER_PREEMPTED",
    "CANCELLED": "SCHEDULER_CANCELLED",
    "FAILED": "SCHEDULER_FAILED",
    "COMPLETED": "SCHEDULER_COMPLETED",
    "RUNNING": "SCHEDULER_RUNNING",
    "SUSPENDED": "SCHEDULER_RUNNING",
}
_STATE = r"(?P<state>TIMEOUT|DEADLINE|NODE_FAIL|BOOT_FAIL|OUT_OF_MEMORY|OUT_OF_ME|PREEMPTED|CANCELLED|FAILED|COMPLETED"
_STATE += r"|RUNNING|SUSPENDED)"


@extractor(
    id="SLURM102",
    name="slurm-state",
    since="0.1.0",
    literals=("JobState=", *(f"{mark}{state}" for mark in "| " for state in _SYMPTOMS if state != "OUT_OF_MEMORY")),
    pattern=(
        r"\bJobState=" + _STATE + r"\b",
        r"^ *(?P<job>\d+(?:[_+]\d+)?)\|(?:.*\|)?" + _STATE + r"(?:\+| by (?P<uid>\d+))?(?:\||$)",
        r"^ *(?P<job>\d+(?:[_+]\d+)?) (?:.* )?" + _STATE + r"\+? +\d+:\d+ *$",
    ),
    emits=tuple(sorted(set(_SYMPTOMS.values()))),
    printed_by=PrintedBy("Slurm", ">=14.11", "sacct tables, sacct --parsable2 rows, scontrol show job"),
    sources=(Source.SCHEDULER,),
)
def slurm_state(match: Match) -> Iterator[Finding]:
    """The accounting record of the job says how it ended.

    Why: the record is the scheduler's own word for the end; its steps' states follow from it.
    Misses: states of steps, which are consequences. FAILED names no kind of end and COMPLETED no failure: the first is
    an effect, the second counts where no line says otherwise.
    Next step: read the job's own logs for what came before.
    """
    state = match["state"] or ""
    yield Finding(_SYMPTOMS[state], {"state": state, "job": match["job"], "uid": match["uid"]}, node=NOWHERE)


CASES = """
- name: parsable row
  given: |
    node-01 +0.0s scheduler | 81234|train|gpu|team|128|TIMEOUT|0:0
    node-01 +0.0s scheduler | 81234.batch|batch||team|16|CANCELLED|0:15
  expect: |
    - +0.0s SCHEDULER_TIME_LIMIT job=81234 state=TIMEOUT
- name: table, state cut short
  given: |
    node-01 +0.0s scheduler | 81234             train        gpu       team         16 OUT_OF_ME+      0:125
  expect: |
    - +0.0s SCHEDULER_OUT_OF_MEMORY job=81234
- name: cancelled by somebody
  given: |
    node-01 +0.0s scheduler | 81234|CANCELLED by 1007|0:0
  expect: |
    - +0.0s SCHEDULER_CANCELLED uid=1007
- name: job record
  given: |
    node-01 +0.0s scheduler |    JobState=NODE_FAIL Reason=NodeDown Dependency=(null)
  expect: |
    - +0.0s SCHEDULER_NODE_FAILED state=NODE_FAIL
- name: failed, which says no more
  given: |
    node-01 +0.0s scheduler | 81234|train|gpu|team|128|FAILED|1:0
  expect: |
    - +0.0s SCHEDULER_FAILED job=81234
- name: ended well
  given: |
    node-01 +0.0s scheduler | 81234             train        gpu       team         16  COMPLETED      0:0
  expect: |
    - +0.0s SCHEDULER_COMPLETED job=81234
- name: it runs
  given: |
    node-01 +0.0s scheduler | 81234|train|gpu|team|128|RUNNING|0:0
  expect: |
    - +0.0s SCHEDULER_RUNNING job=81234
- name: a step
  because: a step is cancelled whenever its job ends early
  given: |
    node-01 +0.0s scheduler | 81234.0|python|CANCELLED|0:9
  expect: none
"""
