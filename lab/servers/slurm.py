"""A real Slurm on loopback: munge, MariaDB, slurmdbd, slurmctld and four slurmds, all within one folder."""

import os
import secrets
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from lab.servers import packages
from lab.servers.processes import LabError, children, end, is_running, kill, pid_of, run, wait_for

CLUSTER = "lab"
PARTITIONS = {
    "train": "Default=YES PriorityTier=10 PreemptMode=OFF",
    "spare": "PriorityTier=1 PreemptMode=CANCEL",
    "again": "PriorityTier=1 PreemptMode=REQUEUE",
    "urgent": "PriorityTier=100 PreemptMode=OFF",
}
"""`spare` and `again` give way to `urgent`."""
_CGROUP = Path("/sys/fs/cgroup")
_MEMORY_MB = 6000


class SlurmCluster:
    """The cluster of one folder. Its ports are `base_port` and those behind it; jobs run as root."""

    def __init__(self, folder: Path, base_port: int = 18500, nodes: int = 4) -> None:
        self.folder = folder
        self.nodes = tuple(f"node-{number:02d}" for number in range(1, nodes + 1))
        self._port = base_port
        self.conf = folder / "etc" / "slurm.conf"
        self._database: subprocess.Popen[bytes] | None = None

    @staticmethod
    def why_not() -> str | None:
        """Why no such cluster can run on this machine, or None."""
        if os.geteuid() != 0:
            return "a Slurm cluster needs root"
        return packages.why_not(packages.SLURM)

    @property
    def limits_memory(self) -> bool:
        """Whether jobs get control groups of their own, in which the kernel ends what takes too much."""
        return all(os.access(_CGROUP / name / "cgroup.procs", os.W_OK) for name in ("memory", "freezer"))

    def environ(self) -> dict[str, str]:
        """The environment in which Slurm's commands ask this cluster."""
        path = f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin"
        return {**os.environ, "SLURM_CONF": str(self.conf), "PATH": path, "TZ": "UTC", "LC_ALL": "C"}

    def run(self, *command: str, timeout_secs: float = 60.0) -> str:
        """What a command of Slurm printed. Raises LabError."""
        return run(command, self.environ(), timeout_secs)

    # --- start and stop -----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Bring everything up that is not. Raises LabError."""
        packages.install(packages.SLURM)
        self._write()
        self._start_munge()
        self._start_database()
        self._start_accounting()
        self._start_controller()
        for node in self.nodes:
            self.start_node(node)
        self._wait("nodes that are ready", 60, self._is_ready)

    def stop(self) -> None:
        """End everything, by the ids of its own processes."""
        with suppress(LabError):
            self.run("scancel", "--quiet", f"--partition={','.join(PARTITIONS)}", timeout_secs=10)
        stepds = [pid for node in self.nodes for pid in self._stepds(node)]
        for node in self.nodes:
            end(pid_of(self._pid_file(f"slurmd-{node}")))
        for pid in (pid for stepd in stepds if is_running(stepd) for pid in (*children(stepd), stepd)):
            kill(pid)
        for name in ("slurmctld", "slurmdbd", "mariadb", "munged"):
            end(pid_of(self._pid_file(name)))
        if self._database is not None:
            self._database.wait()
        for controller in _CGROUP.glob("*/slurm_node-*"):
            for path in sorted(controller.rglob("*/"), reverse=True):
                with suppress(OSError):
                    path.rmdir()
            with suppress(OSError):
                controller.rmdir()

    def processes(self) -> dict[str, int]:
        """The daemons that run, by name."""
        names = ("munged", "mariadb", "slurmdbd", "slurmctld", *(f"slurmd-{node}" for node in self.nodes))
        found = {name: pid_of(self._pid_file(name)) for name in names}
        return {name: pid for name, pid in found.items() if pid is not None}

    # --- nodes --------------------------------------------------------------------------------------------------------

    def start_node(self, node: str) -> None:
        """Start the daemon of a node, if it does not run."""
        pid_file = self._pid_file(f"slurmd-{node}")
        if pid_of(pid_file) is None:
            (self.folder / "spool" / node).mkdir(parents=True, exist_ok=True)
            pid_file.unlink(missing_ok=True)
            self.run("slurmd", "-N", node)

    def lose_node(self, node: str) -> None:
        """End a node as if its power went: its daemon and all that runs on it."""
        stepds = self._stepds(node)
        daemon = pid_of(self._pid_file(f"slurmd-{node}"))
        if daemon is not None:
            kill(daemon)
        for stepd in stepds:
            for pid in (stepd, *children(stepd)):
                kill(pid)

    def break_prolog(self, node: str, is_broken: bool = True) -> None:
        """Let the prolog fail on a node, or no longer."""
        flag = self.folder / "etc" / f"broken-prolog.{node}"
        flag.touch() if is_broken else flag.unlink(missing_ok=True)

    def resume_node(self, node: str) -> None:
        """Take a node back into service."""
        self.start_node(node)
        with suppress(LabError):  # one that is already back cannot be resumed
            self.run("scontrol", "update", f"nodename={node}", "state=resume")
        self._wait(f"{node} to come back", 60, lambda: self._state(node) in {"idle", "mixed", "allocated"})

    # --- jobs ---------------------------------------------------------------------------------------------------------

    def submit(self, *options: str) -> str:
        """The id of a new job. Raises LabError when it is refused."""
        return self.run("sbatch", "--parsable", *options).strip().partition(";")[0]

    def state(self, job: str) -> str:
        """The state of a job, as the controller has it: RUNNING, or empty if it knows the job no more."""
        try:
            return (self.run("squeue", "--noheader", f"--jobs={job}", "--states=all", "--format=%T").split() or [""])[0]
        except LabError:
            return ""

    def wait_state(self, job: str, states: frozenset[str], secs: float) -> str:
        """Wait until a job is in one of some states, and answer which. Raises LabError."""
        seen = ""

        def holds() -> bool:
            nonlocal seen
            seen = self.state(job)
            return seen in states

        if not wait_for(holds, secs, 0.3):
            raise LabError(f"job {job} is {seen or 'unknown'} after {secs:g} s, and not {' or '.join(sorted(states))}")
        return seen

    # --- inside -------------------------------------------------------------------------------------------------------

    def _pid_file(self, name: str) -> Path:
        return self.folder / "run" / f"{name}.pid"

    def _wait(self, what: str, secs: float, holds: Callable[[], bool]) -> None:
        if not wait_for(holds, secs):
            raise LabError(f"no {what} after {secs:g} s (its logs are in {self.folder / 'log'})")

    def _answers(self, *command: str) -> bool:
        with suppress(LabError):
            self.run(*command, timeout_secs=5)
            return True
        return False

    def _state(self, node: str) -> str:
        return (self.run("sinfo", "--noheader", f"--nodes={node}", "--format=%T").split() or [""])[0]

    def _is_ready(self) -> bool:
        with suppress(LabError):
            states = self.run("sinfo", "--noheader", "--Node", "--partition=train", "--format=%T").split()
            return len(states) == len(self.nodes) and set(states) <= {"idle", "mixed", "allocated", "completing"}
        return False

    def _stepds(self, node: str) -> Iterator[int]:
        """The processes that watch over the steps of one node of this cluster."""
        spool = str(self.folder / "spool" / node)
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            with suppress(OSError):
                if not str((folder / "exe").readlink()).endswith("/slurmstepd"):
                    continue
                if f"SLURM_CONF={self.conf}".encode() not in (folder / "environ").read_bytes().split(b"\0"):
                    continue
                groups = (folder / "cgroup").read_text()
                files = [str(path.readlink()) for path in (folder / "fd").iterdir()]
                if f"/slurm_{node}/" in groups or any(name.startswith(f"{spool}/") for name in files):
                    yield int(folder.name)

    def _start_munge(self) -> None:
        if pid_of(self._pid_file("munged")) is None:
            for left in (self.folder / "run").glob("munge.socket*"):
                left.unlink()
            etc, run_, log = (self.folder / name for name in ("etc", "run", "log"))
            options = [f"--key-file={etc}/munge.key", f"--socket={run_}/munge.socket", f"--pid-file={run_}/munged.pid"]
            options += [f"--log-file={log}/munged.log", f"--seed-file={run_}/munged.seed", "--num-threads=4"]
            self.run("munged", *options)
        check = ("munge", "--no-input", f"--socket={self.folder}/run/munge.socket", "--output=/dev/null")
        self._wait("munge", 20, lambda: self._answers(*check))

    def _start_database(self) -> None:
        if pid_of(self._pid_file("mariadb")) is None:
            data = self.folder / "mariadb"
            if not (data / "mysql").is_dir():
                options = [f"--datadir={data}", "--user=root", "--skip-test-db", "--no-defaults"]
                self.run("mariadb-install-db", *options, "--auth-root-authentication-method=normal", timeout_secs=180)
            options = [f"--datadir={data}", "--user=root", "--bind-address=127.0.0.1", f"--port={self._port + 2}"]
            options += [f"--socket={self.folder}/run/mariadb.socket", f"--pid-file={self._pid_file('mariadb')}"]
            options += [f"--log-error={self.folder}/log/mariadb.log", "--skip-name-resolve"]
            options += ["--innodb-buffer-pool-size=64M", "--innodb-log-file-size=32M"]
            options += ["--innodb-lock-wait-timeout=900", "--innodb-flush-log-at-trx-commit=2"]
            null = subprocess.DEVNULL
            self._database = subprocess.Popen(
                ["mariadbd", "--no-defaults", *options],
                env=self.environ(),
                stdin=null,
                stdout=null,
                stderr=null,
                start_new_session=True,
            )
        self._wait("MariaDB", 60, lambda: self._answers(*self._sql("select 1")))
        user = "slurm@127.0.0.1"
        self.run(*self._sql("create database if not exists accounting"))
        self.run(
            *self._sql(f"create user if not exists {user} identified by 'lab'; grant all on accounting.* to {user}")
        )

    def _sql(self, statement: str) -> tuple[str, ...]:
        socket_ = f"--socket={self.folder}/run/mariadb.socket"
        return ("mariadb", "--no-defaults", "--protocol=socket", socket_, "--user=root", f"--execute={statement}")

    def _start_accounting(self) -> None:
        if pid_of(self._pid_file("slurmdbd")) is None:
            self.run("slurmdbd")
        # A fresh database answers only when its tables are made.
        self._wait("slurmdbd", 120, lambda: self._answers("sacctmgr", "--noheader", "show", "cluster"))
        if (
            CLUSTER
            not in self.run("sacctmgr", "--noheader", "--parsable2", "show", "cluster", "format=Cluster").split()
        ):
            self.run("sacctmgr", "--immediate", "--quiet", "add", "cluster", CLUSTER)

    def _start_controller(self) -> None:
        if pid_of(self._pid_file("slurmctld")) is None:
            self.run("slurmctld", "-i")
        self._wait("slurmctld", 60, lambda: self._answers("scontrol", "ping"))

    # --- configuration ------------------------------------------------------------------------------------------------

    def _write(self) -> None:
        for name in ("etc", "run", "log", "state", "spool", "mariadb"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o755)
        etc = self.folder / "etc"
        key = etc / "munge.key"
        if not key.exists():
            key.write_bytes(secrets.token_bytes(1024))
            key.chmod(0o400)
        _write(etc / "slurmdbd.conf", _lines(self._accounting()), 0o600)
        hook = f'#!/bin/sh\n[ ! -e "{etc}/broken-prolog.$SLURMD_NODENAME" ]\n'
        _write(etc / "prolog.sh", hook, 0o755)
        # What stands in epilog.d is run for each job that ended, as a site's own hooks are.
        _write(
            etc / "epilog.sh",
            f'#!/bin/sh\nfor hook in "{etc}"/epilog.d/*; do [ -x "$hook" ] && "$hook"; done\nexit 0\n',
            0o755,
        )
        constrain = "yes" if self.limits_memory else "no"
        cgroup = {"CgroupPlugin": "cgroup/v1", "ConstrainRAMSpace": constrain, "ConstrainCores": "no"}
        _write(etc / "cgroup.conf", _lines(cgroup))
        _write(self.conf, _lines(self._general()) + self._nodes_and_partitions())

    def _accounting(self) -> Mapping[str, object]:
        run_ = self.folder / "run"
        return {
            "AuthType": "auth/munge",
            "AuthInfo": f"socket={run_}/munge.socket",
            "DbdHost": "localhost",
            "DbdAddr": "127.0.0.1",
            "DbdPort": self._port + 1,
            "SlurmUser": "root",
            "StorageType": "accounting_storage/mysql",
            "StorageHost": "127.0.0.1",
            "StoragePort": self._port + 2,
            "StorageUser": "slurm",
            "StoragePass": "lab",
            "StorageLoc": "accounting",
            "PidFile": run_ / "slurmdbd.pid",
            "LogFile": self.folder / "log" / "slurmdbd.log",
        }

    def _general(self) -> Mapping[str, object]:
        etc, run_, log = (self.folder / name for name in ("etc", "run", "log"))
        tracked = "cgroup" if self.limits_memory else "linuxproc"
        return {
            "ClusterName": CLUSTER,
            "SlurmctldHost": f"{_host()}(127.0.0.1)",
            "SlurmctldPort": self._port,
            "SlurmUser": "root",
            "SlurmdUser": "root",
            "AuthType": "auth/munge",
            "CredType": "cred/munge",
            "AuthInfo": f"socket={run_}/munge.socket",
            "StateSaveLocation": self.folder / "state",
            "SlurmdSpoolDir": self.folder / "spool" / "%n",
            "SlurmctldPidFile": run_ / "slurmctld.pid",
            "SlurmdPidFile": run_ / "slurmd-%n.pid",
            "SlurmctldLogFile": log / "slurmctld.log",
            "SlurmdLogFile": log / "slurmd-%n.log",
            "SlurmctldDebug": "verbose",
            "MailProg": "/bin/true",
            "MpiDefault": "none",
            "SwitchType": "switch/none",
            "ProctrackType": f"proctrack/{tracked}",
            "TaskPlugin": "task/cgroup" if self.limits_memory else "task/none",
            "JobAcctGatherType": "jobacct_gather/linux",
            "JobAcctGatherFrequency": "task=2",
            "SlurmdParameters": "config_overrides",
            "ReturnToService": 2,
            "SlurmctldTimeout": 10,
            # A loaded machine answers late; a node that is lost is still found within half a minute.
            "SlurmdTimeout": 15,
            "InactiveLimit": 0,
            "KillWait": 3,
            "MinJobAge": 3600,
            "UnkillableStepTimeout": 120,
            "MessageTimeout": 30,
            "RebootProgram": "/bin/true",
            "SchedulerType": "sched/backfill",
            "SchedulerParameters": "bf_interval=3,sched_interval=3,batch_sched_delay=1",
            "SelectType": "select/cons_tres",
            "SelectTypeParameters": "CR_CPU_Memory",
            "PreemptType": "preempt/partition_prio",
            "PreemptMode": "REQUEUE",
            "AccountingStorageType": "accounting_storage/slurmdbd",
            "AccountingStorageHost": "127.0.0.1",
            "AccountingStoragePort": self._port + 1,
            # Without this the clients look for the machine's own munge.
            "AccountingStoragePass": f"socket={run_}/munge.socket",
            "JobCompType": "jobcomp/none",
            "JobRequeue": 1,
            "PrologFlags": "Alloc,Contain",
            "Prolog": etc / "prolog.sh",
            "EpilogSlurmctld": etc / "epilog.sh",
        }

    def _nodes_and_partitions(self) -> str:
        lines = [
            f"NodeName={node} NodeHostname={_host()} NodeAddr=127.0.0.1 Port={self._port + 10 + number} "
            f"CPUs=4 RealMemory={_MEMORY_MB} State=UNKNOWN"
            for number, node in enumerate(self.nodes)
        ]
        common = "Nodes=ALL MaxTime=INFINITE DefaultTime=10 DefMemPerCPU=200 State=UP"
        lines += [f"PartitionName={name} {common} {options}" for name, options in PARTITIONS.items()]
        return "".join(f"{line}\n" for line in lines)


def _host() -> str:
    return socket.gethostname().partition(".")[0]


def _lines(values: Mapping[str, object]) -> str:
    return "".join(f"{key}={value}\n" for key, value in values.items())


def _write(file: Path, text: str, mode: int = 0o644) -> None:
    file.write_text(text)
    file.chmod(mode)
