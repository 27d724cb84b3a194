"""The faults: what is done to a training job, and what must be said of it."""

import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attribution.contracts.vocabulary import SubDomain, TerminalState

if TYPE_CHECKING:
    from lab.laboratory import Job

OWN = "the node of that rank"


@dataclass(frozen=True, slots=True)
class Expected:
    """What is right. `node` is a node's name, that of the rank, or None where no node is to be named."""

    terminal_state: TerminalState
    sub_domains: tuple[SubDomain, ...]
    rank: int | None = None
    node: str | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. `options` are those of `sbatch`, `arguments` those of the training script.

    Faults of one wave run at the same time; `inject` is called when the job has been submitted.
    """

    name: str
    what: str
    expected: Expected
    options: tuple[str, ...] = ("--nodes=2", "--ntasks-per-node=2", "--mem=1500")
    arguments: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    inject: "Callable[[Job], None] | None" = None
    wave: int = 1
    needs_memory_limits: bool = False


# --- what is done from outside ----------------------------------------------------------------------------------------


def kill_rank_2(job: "Job") -> None:
    job.wait_step(2)
    os.kill(job.pid_of_rank(2), signal.SIGKILL)


def cancel(job: "Job") -> None:
    job.wait_step(2)
    job.cluster.run("scancel", job.id)


def shorten(job: "Job") -> None:
    # The shortest limit is a minute; root may move the end nearer.
    job.wait_step(2)
    job.cluster.run("scontrol", "update", f"jobid={job.id}", "EndTime=now+5")


def preempt(job: "Job") -> None:
    job.wait_step(2)
    urgent = ("--partition=urgent", "--nodes=4", "--exclusive", "--output=/dev/null", "--wrap=sleep 1")
    job.cluster.submit(*urgent)


def lose_node_04(job: "Job") -> None:
    job.wait_step(2)
    job.cluster.lose_node("node-04")
    job.wait_end()
    job.cluster.resume_node("node-04")


def fail_prolog(job: "Job") -> None:
    job.wait_end(held=True)
    job.cluster.break_prolog("node-01", is_broken=False)
    # Slurm holds the job; somebody cancels it a while later, which is the end of its second attempt.
    time.sleep(10)
    job.cluster.run("scancel", job.id)
    job.cluster.resume_node("node-01")


# --- the table --------------------------------------------------------------------------------------------------------

_LONG = ("--steps=2000", "--step-secs=0.5")
# Half the ranks, where more of them would only take the machine's time.
_TWO_RANKS = ("--nodes=2", "--ntasks-per-node=1", "--mem=1500")

FAULTS = (
    Fault("healthy", "nothing", Expected(TerminalState.COMPLETED, (SubDomain.NONE,)), options=_TWO_RANKS),
    Fault(
        "exception",
        "rank 1 raises a KeyError",
        Expected(TerminalState.FAILED, (SubDomain.USER_CODE,), 1, OWN),
        arguments=("--fault=exception", "--fault-rank=1"),
    ),
    Fault(
        "sigkill",
        "rank 2 is killed with SIGKILL, by nobody that any log names",
        Expected(TerminalState.FAILED, (SubDomain.INSUFFICIENT_EVIDENCE,), 2, OWN),
        arguments=_LONG,
        inject=kill_rank_2,
    ),
    Fault(
        "sigsegv",
        "rank 2 reads address 0; the log tells what Python did, not whose native code erred",
        Expected(TerminalState.FAILED, (SubDomain.INSUFFICIENT_EVIDENCE,), 2, OWN),
        arguments=("--fault=segfault", "--fault-rank=2"),
    ),
    Fault(
        "hang",
        "rank 3 sleeps until the collective of the others times out",
        Expected(TerminalState.FAILED, (SubDomain.INSUFFICIENT_EVIDENCE,), 3, OWN),
        arguments=("--fault=hang", "--fault-rank=3", "--timeout-secs=45"),
        # Without it the rank that hangs would keep the job for ever.
        environ={"SLURM_KILL_BAD_EXIT": "1"},
    ),
    Fault(
        "memory",
        "rank 1 takes more memory than its control group allows",
        Expected(TerminalState.OUT_OF_MEMORY, (SubDomain.RESOURCE_LIMIT,), 1, OWN),
        arguments=("--fault=memory", "--fault-rank=1"),
        needs_memory_limits=True,
    ),
    Fault(
        "rendezvous",
        "the address of rank 0 names no machine",
        Expected(TerminalState.FAILED, (SubDomain.USER_CONFIG,)),
        options=_TWO_RANKS,
        arguments=("--timeout-secs=20",),
        environ={"LAB_MASTER_ADDR": "trainer-0.invalid"},
    ),
    Fault(
        "busy-port",
        "another process listens on rank 0's port",
        Expected(TerminalState.FAILED, (SubDomain.USER_CONFIG,), 0, OWN),
        options=_TWO_RANKS,
        arguments=("--timeout-secs=30",),
        # Without it the other ranks wait for ever on whoever took the port.
        environ={"LAB_BUSY_PORT": "yes", "SLURM_KILL_BAD_EXIT": "1"},
    ),
    Fault(
        "missing-dataset",
        "the file with the data is not there",
        Expected(TerminalState.FAILED, (SubDomain.DATA, SubDomain.USER_CONFIG)),
        options=_TWO_RANKS,
        arguments=("--dataset={folder}/data/corpus-00.bin",),
    ),
    Fault(
        "full-disk",
        "rank 0 writes a checkpoint to a disk that is full",
        Expected(TerminalState.FAILED, (SubDomain.STORAGE, SubDomain.RESOURCE_LIMIT), 0, OWN),
        options=_TWO_RANKS,
        arguments=("--checkpoint={small_disk}",),
    ),
    Fault(
        "time-limit",
        "the job reaches its time limit",
        Expected(TerminalState.TIMED_OUT, (SubDomain.SCHEDULER,)),
        options=_TWO_RANKS,
        arguments=_LONG,
        inject=shorten,
    ),
    Fault(
        "scancel",
        "somebody cancels the job",
        Expected(TerminalState.CANCELLED, (SubDomain.SCHEDULER,)),
        options=_TWO_RANKS,
        arguments=_LONG,
        inject=cancel,
    ),
    Fault(
        "preemption",
        "an urgent job takes the nodes",
        Expected(TerminalState.PREEMPTED, (SubDomain.SCHEDULER,)),
        options=("--partition=spare", "--nodes=2", "--ntasks-per-node=1", "--mem=1500"),
        arguments=_LONG,
        inject=preempt,
        wave=2,
    ),
    Fault(
        "lost-node",
        "slurmd of node-04 and all that it runs are killed",
        Expected(TerminalState.NODE_FAILED, (SubDomain.SCHEDULER,), None, "node-04"),
        options=("--nodelist=node-[03-04]", "--ntasks-per-node=1", "--mem=1500", "--no-requeue"),
        arguments=_LONG,
        inject=lose_node_04,
        wave=3,
    ),
    Fault(
        "prolog",
        "the prolog fails on node-01",
        Expected(TerminalState.LAUNCH_FAILED, (SubDomain.SCHEDULER,), None, "node-01"),
        options=("--nodelist=node-01", "--ntasks-per-node=1", "--mem=1500"),
        environ={"LAB_BROKEN_PROLOG": "node-01"},
        inject=fail_prolog,
        wave=3,
    ),
)
