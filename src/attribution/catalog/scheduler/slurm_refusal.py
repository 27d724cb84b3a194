"""SLURM101: what Slurm answered when it refused an allocation, a submission or a step."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import Source
from attribution.rules.api import Finding, Match, PrintedBy, extractor

_CONTROLLER = (
    "unable to contact slurm controller",
    "socket timed out",
    "zero bytes were transmitted",
    "connection refused",
    "connection timed out",
    "protocol authentication error",
    "invalid authentication credential",
    "slurm backup controller",
    "slurm temporarily unable",
    "unable to establish controller",
    "unexpected message received",
    "i/o error writing",
)
_LIMITS = (
    "accounting/qos policy",
    "immediate execution impossible",
    "reached job",
    "job limit",
    "requested reservation",
)
_NODES = (
    "required node not available",
    "required partition not available",
    "partition configuration not available now",
)
_ENDED = ("already completing", "already completed", "job has been revoked", "allocation has been revoked")


@extractor(
    id="SLURM101",
    name="slurm-refusal",
    since="0.1.0",
    literals=(
        "Unable to allocate resources: ",
        "job submission failed: ",
        "submit/allocate failed: ",
        "Unable to create step for job",
        "Job step creation temporarily disabled",
        "allocation failure: ",
        "Unable to confirm allocation for job",
    ),
    pattern=(
        r"(?P<what>Unable to allocate resources): (?P<reason>.+)",
        r"(?P<what>[Bb]atch job submission failed): (?P<reason>.+)",
        r"(?P<what>Job submit/allocate failed): (?P<reason>.+)",
        r"(?P<what>Unable to create step for job)(?: (?P<job>\d+))?: (?P<reason>.+)",
        r"(?P<what>Job step creation temporarily disabled), retrying \((?P<reason>[^)]+)\)",
        r"(?P<what>allocation failure): (?P<reason>.+)",
        r"(?P<what>Unable to confirm allocation for job)(?: (?P<job>\d+))?: (?P<reason>.+)",
    ),
    emits=(
        "SLURM_REQUEST_REFUSED",
        "SLURM_LIMIT_REACHED",
        "SLURM_NODES_UNAVAILABLE",
        "SLURM_CONTROLLER_UNREACHABLE",
        "SLURM_STEP_WAITING",
        "STEP_NOT_CREATED",
    ),
    printed_by=PrintedBy("Slurm", ">=2.6", "srun, sbatch and salloc with the texts of slurm_errno.c"),
    sources=(Source.APPLOG, Source.SCHEDULER),
)
def slurm_refusal(match: Match) -> Iterator[Finding]:
    """Slurm refused the request, and says for which reason.

    Why: most reasons lie in the request itself and stay until it is changed; a few lie with the controller or the
    state of nodes and pass.
    Misses: requests that are accepted and then wait for ever.
    Next step: change the option that the reason names; for limits and nodes, try later.
    """
    reason = (match["reason"] or "").strip()
    lowered = reason.lower()
    if match["what"] == "Job step creation temporarily disabled":
        symptom = "SLURM_STEP_WAITING"
    elif any(text in lowered for text in _ENDED):
        symptom = "STEP_NOT_CREATED"
    elif any(text in lowered for text in _CONTROLLER):
        symptom = "SLURM_CONTROLLER_UNREACHABLE"
    elif any(text in lowered for text in _LIMITS):
        symptom = "SLURM_LIMIT_REACHED"
    elif any(text in lowered for text in _NODES):
        symptom = "SLURM_NODES_UNAVAILABLE"
    else:
        symptom = "SLURM_REQUEST_REFUSED"
    yield Finding(symptom, {"reason": reason, "job": match["job"]})


CASES = """
- name: no such node configuration
  given: |
    node-01 +0.0s applog | sbatch: error: Batch job submission failed: Requested node configuration is not available
  expect: |
    node-01 +0.0s SLURM_REQUEST_REFUSED reason="Requested node configuration is not available"
- name: a step that asks for more memory than the job has
  given: |
    node-01 +0.0s applog | srun: error: Unable to create step for job 81234: Memory required by task is not available
  expect: |
    node-01 +0.0s SLURM_REQUEST_REFUSED job=81234 reason="Memory required by task is not available"
- name: limit of the account
  given: |
    node-01 +0.0s applog | salloc: error: Job submit/allocate failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)
  expect: |
    node-01 +0.0s SLURM_LIMIT_REACHED
- name: nodes in maintenance
  given: |
    node-01 +0.0s applog | srun: error: Unable to allocate resources: Required node not available (down, drained or reserved)
  expect: |
    node-01 +0.0s SLURM_NODES_UNAVAILABLE
- name: controller away
  given: |
    node-01 +0.0s applog | sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)
  expect: |
    node-01 +0.0s SLURM_CONTROLLER_UNREACHABLE
- name: waiting for its own job
  given: |
    node-01 +0.0s applog | srun: Job step creation temporarily disabled, retrying (Requested nodes are busy)
  expect: |
    node-01 +0.0s SLURM_STEP_WAITING
- name: the job is over
  given: |
    node-01 +0.0s applog | srun: error: Unable to create step for job 81234: Job/step already completing or completed
  expect: |
    node-01 +0.0s STEP_NOT_CREATED job=81234
- name: the step was created after all
  because: nothing was refused
  given: |
    node-01 +0.0s applog | srun: Step created for job 81234; earlier message was "Unable to create step for job"
  expect: none
- name: its other forms
  given: |
    node-01 +0.0s applog | salloc: error: allocation failure: Requested node configuration is not available
    node-01 +1.0s applog | srun: error: Unable to confirm allocation for job 81234: Invalid job id specified
  expect: |
    node-01 +0.0s SLURM_REQUEST_REFUSED reason="Requested node configuration is not available"
    node-01 +1.0s SLURM_REQUEST_REFUSED job=81234 reason="Invalid job id specified"
"""
