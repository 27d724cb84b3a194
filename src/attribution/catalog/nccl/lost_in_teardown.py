"""NCCL101: connections that are lost while processes are being ended say nothing about the network."""

from collections.abc import Iterator

from attribution.events.moment import SECOND, Order
from attribution.events.symptom import Symptom
from attribution.rules.api import Decision, Demote, JobView, RefineStage, refiner

_ENDINGS = (
    "NCCL_WATCHDOG_TIMEOUT",
    "NCCL_HEARTBEAT_TIMEOUT",
    "NCCL_PROCESS_TAKEN_DOWN",
    "PROCESS_EXIT_CODE",
    "TORCHRUN_CLOSING",
    "TORCHRUN_TERMINATED",
    "LAUNCHER_CHILD_FAILED",
)
_TEARDOWN_US = 900 * SECOND


@refiner(id="NCCL101", name="lost-in-teardown", since="0.1.0", stage=RefineStage.JOB, needs=("tag:nccl_network",))
def lost_in_teardown(job: JobView) -> Iterator[Decision]:
    """A connection that is lost provably after ranks gave up or ended is a consequence of their end.

    Why: adapters report a peer that ended as one that acknowledges nothing, which reads like a broken network.
    Misses: a network that broke slowly, so that a watchdog gave up before the adapters did.
    Next step: look at what came before the first timeout or exit.
    """
    endings = job.all(*_ENDINGS)
    for lost in job.all("tag:nccl_network"):
        ending = next((e for e in endings if job.order(e, lost) is Order.BEFORE and _soon(e, lost)), None)
        if ending is not None:
            yield Demote(lost, ending, f"{ending.type.meaning} came before it, and peers that end acknowledge nothing")


def _soon(ending: Symptom, lost: Symptom) -> bool:
    """Whether the loss followed within the time that a teardown takes; true where the clocks do not tell."""
    a, b = ending.last.moment, lost.first.moment
    return a is None or b is None or a.basis is not b.basis or b.us - a.us <= _TEARDOWN_US


CASES = """
- name: retries exceeded after the watchdog had given up
  given: |
    node-01 +0.0s NCCL_WATCHDOG_TIMEOUT
    node-02 +20.0s NCCL_IB_RETRY_EXCEEDED
  expect: |
    demote node-02 NCCL_IB_RETRY_EXCEEDED by node-01 NCCL_WATCHDOG_TIMEOUT
- name: retries exceeded before
  because: the watchdog gave up because of it
  given: |
    node-02 +0.0s NCCL_IB_RETRY_EXCEEDED
    node-01 +600.0s NCCL_WATCHDOG_TIMEOUT
  expect: none
- name: a worker that failed an hour before
  because: the workers were started anew since
  given: |
    node-01 +0.0s PROCESS_EXIT_CODE
    node-02 +3600.0s NCCL_IB_RETRY_EXCEEDED
  expect: none
"""
