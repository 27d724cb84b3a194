"""SLURM110: the accounting record of a job or of a step, as it is told."""

import re
from collections.abc import Iterator

from attribution.contracts.vocabulary import Source
from attribution.rules.api import NOWHERE, Finding, Match, PrintedBy, extractor

_SYMPTOMS = {
    "BOOT_FAIL": "SCHEDULER_NODE_FAILED",
    "CANCELLED": "SCHEDULER_CANCELLED",
    "COMPLETED": "SCHEDULER_COMPLETED",
    "COMPLETING": "SCHEDULER_RUNNING",
    "DEADLINE": "SCHEDULER_TIME_LIMIT",
    "FAILED": "SCHEDULER_FAILED",
    "LAUNCH_FAILED": "SCHEDULER_LAUNCH_FAILED",
    "NODE_FAIL": "SCHEDULER_NODE_FAILED",
    "OUT_OF_MEMORY": "SCHEDULER_OUT_OF_MEMORY",
    "PREEMPTED": "SCHEDULER_PREEMPTED",
    "RECONFIG_FAIL": "SCHEDULER_LAUNCH_FAILED",
    "REQUEUED": "SCHEDULER_CANCELLED",
    "REVOKED": "SCHEDULER_CANCELLED",
    "RUNNING": "SCHEDULER_RUNNING",
    "SPECIAL_EXIT": "SCHEDULER_FAILED",
    "SUSPENDED": "SCHEDULER_RUNNING",
    "TIMEOUT": "SCHEDULER_TIME_LIMIT",
}
_NAME = re.compile(r"^[\w.-]{1,253}$")
_PART = re.compile(r", (exit code|failed node|reason|submitted|from|to|on) ([^,\[]+(?:\[[^\]]*\][^,\[]*)*)")


@extractor(
    id="SLURM110",
    name="slurm-record",
    since="0.1.0",
    literals=("Slurm job ", "Slurm step "),
    pattern=(
        r"^Slurm (?P<what>job) (?P<job>\d\S*)(?: \((?P<raw>\d+)\))? (?P<state>[A-Z_]+)(?: by (?P<by>(?:uid )?[^,]+))?"
        r"(?P<rest>,.*)?$",
        r"^Slurm (?P<what>step) (?P<job>\d\S*) (?P<state>OUT_OF_MEMORY)(?P<rest>,.*)?$",
    ),
    emits=("STEP_OUT_OF_MEMORY", *sorted(set(_SYMPTOMS.values()))),
    printed_by=PrintedBy("Slurm", ">=20.11", "sacct --json and --parsable2, told as sentences by this program"),
    sources=(Source.SCHEDULER,),
)
def slurm_record(match: Match) -> Iterator[Finding]:
    """The accounting record says how the job, or one of its steps, ended.

    Why: it is the scheduler's own word. A job that never got nodes, or whose batch script never began, did not reach
    its program; its state then only says who noticed.
    Misses: states of steps other than out of memory: Slurm writes CANCELLED for a step whoever ended it.
    Next step: read the job's own logs for what came before.
    """
    parts = dict(_PART.findall(match["rest"] or ""))
    state, began = match["state"] or "", not (match["rest"] or "").endswith(", it never began")
    symptom = "STEP_OUT_OF_MEMORY" if match["what"] == "step" else _symptom(state, began, match["by"])
    if symptom is None:
        return
    named = {"SCHEDULER_NODE_FAILED": "failed node", "STEP_OUT_OF_MEMORY": "on"}.get(symptom, "")
    node = parts.get(named, "").strip()
    fields = {
        "job": match["job"],
        "raw_id": match["raw"],
        "state": state,
        "by": match["by"],
        "exit_code": parts.get("exit code"),
        "reason": parts.get("reason"),
        "from": parts.get("from"),
        "to": parts.get("to"),
        "nodes": parts.get("on"),
    }
    yield Finding(symptom, fields, node=node if _NAME.match(node) else NOWHERE)


def _symptom(state: str, began: bool, by: str | None) -> str | None:
    """What a state comes to; a job that never began failed to launch unless somebody took it out of the queue."""
    found = _SYMPTOMS.get(state)
    ended_unbegun = found is not None and not began and state not in {"PREEMPTED", "RUNNING", "COMPLETED", "SUSPENDED"}
    if ended_unbegun and not (state == "CANCELLED" and by is not None):
        return "SCHEDULER_LAUNCH_FAILED"
    return found


CASES = """
- name: the time limit
  given: |
    node-01 +0.0s scheduler | Slurm job 81234 TIMEOUT, exit code 0:0, from 2026-01-01T00:00:00Z, to 2026-01-01T04:00:00Z, on node-[01-02]
    node-01 +0.0s scheduler | Slurm step 81234.0 CANCELLED, exit code 0:15, on node-[01-02]
  expect: |
    - +0.0s SCHEDULER_TIME_LIMIT job=81234 state=TIMEOUT nodes=node-[01-02] to=2026-01-01T04:00:00Z
- name: a step that ran out of memory in a job that only failed
  given: |
    node-01 +0.0s scheduler | Slurm job 81234 FAILED, exit code 1:0, on node-01
    node-01 +0.0s scheduler | Slurm step 81234.0 OUT_OF_MEMORY, exit code 0:125, on node-01
  expect: |
    - +0.0s SCHEDULER_FAILED job=81234 exit_code=1:0
    node-01 +0.0s STEP_OUT_OF_MEMORY job=81234.0
- name: the node that failed
  given: |
    node-01 +0.0s scheduler | Slurm job 81234 NODE_FAIL, exit code 1:0, failed node node-04, on node-[03-04]
  expect: |
    node-04 +0.0s SCHEDULER_NODE_FAILED job=81234
- name: some node failed
  given: |
    node-01 +0.0s scheduler | Slurm job 81234 NODE_FAIL, exit code 0:0, on node-[03-04]
  expect: |
    - +0.0s SCHEDULER_NODE_FAILED job=81234
- name: cancelled by somebody, before it began and while it ran
  given: |
    node-01 +0.0s scheduler | Slurm job 81234 CANCELLED by uid 1007, exit code 0:0, on node-01
    node-01 +1.0s scheduler | Slurm job 81235 CANCELLED by alice, it never began
  expect: |
    - +0.0s SCHEDULER_CANCELLED job=81234 by="uid 1007"
    - +1.0s SCHEDULER_CANCELLED job=81235 by=alice
- name: never began, for a dependency, a deadline, a refusal or a prolog
  given: |
    node-01 +0.0s scheduler | Slurm job 81234 CANCELLED, exit code 0:0, reason Dependency, it never began
    node-01 +1.0s scheduler | Slurm job 81235 DEADLINE, exit code 1:0, reason BeginTime, it never began
    node-01 +2.0s scheduler | Slurm job 81236 FAILED, exit code 1:0, it never began
    node-01 +3.0s scheduler | Slurm job 81237 REQUEUED, exit code 0:54, on node-03, it never began
  expect: |
    - +0.0s SCHEDULER_LAUNCH_FAILED job=81234 reason=Dependency
    - +1.0s SCHEDULER_LAUNCH_FAILED job=81235
    - +2.0s SCHEDULER_LAUNCH_FAILED job=81236
    - +3.0s SCHEDULER_LAUNCH_FAILED job=81237
- name: a task of an array
  given: |
    node-01 +0.0s scheduler | Slurm job 81230_2 (81233) PREEMPTED, exit code 0:0, on node-[01-04]
  expect: |
    - +0.0s SCHEDULER_PREEMPTED job=81230_2 raw_id=81233
- name: waiting
  because: a job in the queue has not ended
  given: |
    node-01 +0.0s scheduler | Slurm job 81234 PENDING, reason Priority, it never began
  expect: none
- name: a step that Slurm cancelled
  because: Slurm writes this whoever ended the step
  given: |
    node-01 +0.0s scheduler | Slurm step 81234.0 CANCELLED, exit code 0:9, on node-01
  expect: none
"""
