"""Runs the faults on a cluster, has the Blueprint diagnose what it finds there, and compares."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from attribution.contracts.result import AttributionBlueprintResult

from lab.faults import FAULTS, OWN, Fault
from lab.servers.processes import LabError, run, wait_for
from lab.servers.slurm import SlurmCluster

HERE = Path(__file__).parent
PROGRAM = Path(sys.executable).with_name("attribution")
ENDED = frozenset(
    {
        *("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL"),
        "DEADLINE",
    }
)
_JOB_SECS = 400
_SMALL_DISK_BYTES = 2 << 20
Tell = Callable[[str], None]


@dataclass(slots=True)
class Job:
    """A job of the lab."""

    cluster: SlurmCluster
    fault: Fault
    id: str
    folder: Path

    def logs(self) -> dict[int, tuple[str, Path]]:
        """The log of each rank, and the node that wrote it."""
        found = {}
        for path in self.folder.glob("*.rank*.log"):
            node, _, rank = path.name.removesuffix(".log").rpartition(".rank")
            found[int(rank)] = (node, path)
        return found

    def wait_step(self, step: int) -> None:
        """Wait until every rank has logged a step. Raises LabError."""

        def reached() -> bool:
            texts = [path.read_text(errors="replace") for _, path in self.logs().values()]
            return bool(texts) and all(f" step {step}/" in text for text in texts)

        if not wait_for(reached, _JOB_SECS, 0.3):
            raise LabError(f"job {self.id} ({self.fault.name}) never came to step {step}")

    def pid_of_rank(self, rank: int) -> int:
        """The process of a rank, as it wrote it down itself."""
        return int((self.folder / f"rank{rank}.pid").read_text())

    def wait_end(self, held: bool = False) -> None:
        """Wait until the job has ended, or is held after a start that failed. Raises LabError."""
        self.cluster.wait_state(self.id, frozenset({"PENDING"}) if held and self._was_started() else ENDED, _JOB_SECS)

    def _was_started(self) -> bool:
        """Wait until accounting has a record of a start that failed; a job that never began is pending too."""
        asked = ("sacct", "--noheader", "--parsable2", "--duplicates", f"--jobs={self.id}", "--format=State")
        return wait_for(lambda: "REQUEUED" in self.cluster.run(*asked), _JOB_SECS, 0.5)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: a fault, and what was said of it."""

    fault: Fault
    job: str
    result: AttributionBlueprintResult | None
    node_of_rank: str | None = None
    skipped: str | None = None

    @property
    def place(self) -> tuple[str | None, int | None]:
        """The node and rank that are named: of the first cause, or of the first failure where no cause is."""
        if self.result is None:
            return None, None
        diagnosis = self.result.diagnosis
        found = diagnosis.causes[0] if diagnosis.causes else diagnosis.first_failure
        return (found.node, found.rank) if found else (None, None)

    def wrong(self) -> list[str]:
        """What is not as it must be, each with what it must be."""
        if self.result is None:
            return ["no result"]
        expected, (node, rank) = self.fault.expected, self.place
        wanted = self.node_of_rank if expected.node is OWN else expected.node
        checks = (
            ("terminal_state", self.result.terminal_state, (expected.terminal_state,)),
            ("sub_domain", self.result.sub_domain, expected.sub_domains),
            ("rank", rank, (expected.rank,) if expected.rank is not None else (rank,)),
            ("node", node, (wanted,) if wanted is not None else (node,)),
        )
        return [f"{name} {is_} (not {right[0]})" for name, is_, right in checks if is_ not in right]


@dataclass(slots=True)
class Laboratory:
    """The cluster and the folder of one lab. `python` has PyTorch."""

    cluster: SlurmCluster
    python: Path
    tell: Tell
    jobs: list[Job] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """Where jobs and results lie."""
        return self.cluster.folder

    def play(self, faults: Sequence[Fault] = FAULTS) -> list[Row]:
        """Run all faults, wave by wave, and have them diagnosed."""
        (self.folder / "jobs").mkdir(exist_ok=True)
        skipped = {fault.name: why for fault in faults if (why := self._why_not(fault))}
        own = [fault for fault in faults if fault.name not in skipped]
        with self._small_disk() as disk:
            for wave in sorted({fault.wave for fault in own}):
                group = [fault for fault in own if fault.wave == wave]
                self.tell(f"wave {wave}: {', '.join(fault.name for fault in group)}")
                with ThreadPoolExecutor(len(group)) as pool:
                    self.jobs += pool.map(lambda fault: self._play(fault, disk), group)
        results = self.diagnose()
        jobs = {job.fault.name: job for job in self.jobs}
        return [self._row(fault, jobs.get(fault.name), results, skipped.get(fault.name)) for fault in faults]

    def diagnose(self, *flags: str) -> dict[tuple[str, int], AttributionBlueprintResult]:
        """What the Blueprint says of every attempt that it finds. Raises LabError."""
        config = self.configuration()
        command = [str(PROGRAM), "run", "--config", str(config), *flags]
        printed = run(command, os.environ, timeout_secs=300)
        (self.folder / "results.ndjson").write_text(printed)
        found = [AttributionBlueprintResult.model_validate(json.loads(line)) for line in printed.splitlines()]
        return {(result.context.workload_id, result.context.attempt): result for result in found}

    def configuration(self) -> Path:
        """The file that tells the Blueprint of this cluster and of the logs of its jobs."""
        jobs, logs = self.folder / "jobs", self.folder / "log"
        settings = {
            "context": {"slurm": {"slurm_conf": str(self.cluster.conf), "states": [*sorted(ENDED), "REQUEUED"]}},
            "logs": {
                "local_files": {
                    "files": [
                        {"source": "applog", "path": f"{jobs}/{{job_id}}/{{node}}.rank{{rank}}.log"},
                        {"source": "applog", "path": f"{jobs}/{{job_id}}.batch.log"},
                        {"source": "scheduler", "path": f"{logs}/slurmd-{{node}}.log", "clock": {"zone": "UTC"}},
                        {"source": "scheduler", "path": f"{logs}/slurmctld.log", "clock": {"zone": "UTC"}},
                    ]
                }
            },
            "sinks": {
                "stdout": {"format": "ndjson"},
                "database": {"url": f"sqlite:///{self.folder}/results.db"},
            },
        }
        file = self.folder / "blueprint.yaml"
        file.write_text(yaml.safe_dump(settings, sort_keys=False))
        return file

    # --- inside -------------------------------------------------------------------------------------------------------

    def _why_not(self, fault: Fault) -> str | None:
        if fault.needs_memory_limits and not self.cluster.limits_memory:
            return "this machine gives no control groups that limit memory"
        return None

    def _play(self, fault: Fault, disk: Path) -> Job:
        job = self._submit(fault, disk)
        if fault.inject is not None:
            fault.inject(job)
        if "LAB_BROKEN_PROLOG" not in fault.environ:
            job.wait_end()
        self.tell(f"  {fault.name}: job {job.id} ended as {self.cluster.state(job.id)}")
        return job

    def _submit(self, fault: Fault, disk: Path) -> Job:
        jobs = self.folder / "jobs"
        if node := fault.environ.get("LAB_BROKEN_PROLOG"):
            self.cluster.break_prolog(node)
        values = {
            "LAB_JOBS": jobs,
            "LAB_PYTHON": self.python,
            "LAB_TRAIN": HERE / "jobs" / "train.py",
            **fault.environ,
        }
        export = ",".join(["ALL", *(f"{name}={value}" for name, value in values.items())])
        options = (f"--job-name={fault.name}", f"--output={jobs}/%j.batch.log", f"--export={export}", *fault.options)
        arguments = [text.format(folder=self.folder, small_disk=disk) for text in fault.arguments]
        number = self.cluster.submit(*options, str(HERE / "jobs" / "train.sh"), *arguments)
        return Job(self.cluster, fault, number, jobs / number)

    def _row(
        self,
        fault: Fault,
        job: Job | None,
        results: dict[tuple[str, int], AttributionBlueprintResult],
        skipped: str | None,
    ) -> Row:
        if job is None:
            return Row(fault, "", None, skipped=skipped or "it was not run")
        node = job.logs().get(-1 if fault.expected.rank is None else fault.expected.rank, (None, None))[0]
        return Row(fault, job.id, results.get((job.id, 1)), node)

    def _small_disk(self) -> "_SmallDisk":
        return _SmallDisk(self.folder / "small-disk")


@dataclass(frozen=True, slots=True)
class _SmallDisk:
    """A file system in memory that is soon full."""

    path: Path

    def __enter__(self) -> Path:
        self.path.mkdir(exist_ok=True)
        size = f"size={_SMALL_DISK_BYTES}"
        subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(self.path)], check=True)
        return self.path

    def __exit__(self, *_: object) -> None:
        for _try in range(20):
            with suppress(subprocess.CalledProcessError):
                subprocess.run(["umount", str(self.path)], check=True, stderr=subprocess.DEVNULL)
                return
            time.sleep(0.5)


def table(rows: Sequence[Row]) -> list[str]:
    """The lines of the table, for people."""
    head = ("fault", "job", "terminal_state", "sub_domain", "rank", "node", "")
    lines = [head, *(_line(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return ["  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def _line(row: Row) -> tuple[str, ...]:
    if row.skipped:
        return (row.fault.name, "", "", "", "", "", f"skipped: {row.skipped}")
    node, rank = row.place
    said = row.result
    state, sub = (said.terminal_state.value, said.sub_domain.value) if said else ("", "")
    verdict = "; ".join(row.wrong()) or "right"
    return (row.fault.name, row.job, state, sub, "-" if rank is None else str(rank), node or "-", verdict)
