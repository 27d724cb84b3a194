"""How launchers other than torchrun and srun report that processes ended: mpirun, DeepSpeed's launcher, Ray Train."""

from collections.abc import Sequence

from bench.scenarios.scene import Scene

RULE = "-" * 74
SIGNALS = {6: "Aborted", 7: "Bus error", 9: "Killed", 11: "Segmentation fault", 15: "Terminated"}


def failed(scene: Scene, dead: Sequence[int], at: float, code: int) -> None:
    """The launcher reports the first of the dead ranks and ends the others. Negative codes are signals."""
    match scene.job.launcher:
        case "mpirun":
            _mpirun(scene, dead[0], at, code)
        case "deepspeed":
            _deepspeed(scene, dead, at, code)
        case _:
            _ray(scene, dead[0], at, code)
    scene.says_exit = True


def told_to_end(scene: Scene, at: float) -> None:
    """The launcher is told to end from outside."""
    match scene.job.launcher:
        case "mpirun":
            scene.step(at + 0.2, "mpirun: Forwarding signal 18 to job")
        case "deepspeed":
            for node in scene.fleet.nodes[:32]:
                moment = f"{scene.wall(node, at):%Y-%m-%d %H:%M:%S},104"
                for rank in node.ranks:
                    text = f"[{moment}] [INFO] [launch.py:319:sigkill_handler] Killing subprocess {scene.pid(rank)}"
                    scene.agent_raw(node.index, at + 0.3, text)
                scene.agent_raw(
                    node.index,
                    at + 0.4,
                    f"[{moment}] [INFO] [launch.py:328:sigkill_handler] Main process received SIGTERM, exiting",
                )
        case _:
            moment = f"{scene.wall(0, at):%Y-%m-%d %H:%M:%S},104"
            scene.step(at + 0.3, f"{moment}\tINFO node.py:1108 -- Received SIGTERM, shutting down the local cluster")


def _mpirun(scene: Scene, rank: int, at: float, code: int) -> None:
    node = scene.fleet.node_of(rank).name
    if code < 0:
        text = (
            f"{RULE}\nmpirun noticed that process rank {rank} with PID {scene.pid(rank)} on node {node} exited on signal "
            f"{-code} ({SIGNALS[-code]}).\n{RULE}"
        )
    else:
        text = (
            f"{RULE}\nPrimary job  terminated normally, but 1 process returned\na non-zero exit code. Per "
            f"user-direction, the job has been aborted.\n{RULE}\n{RULE}\nmpirun detected that one or more processes "
            "exited with non-zero status, thus causing\nthe job to be terminated. The first process to do so was:\n\n"
            f"  Process name: [[{scene.job.number % 60000},1],{rank}]\n  Exit code:    {code}\n{RULE}"
        )
    scene.step(at, text)


def _deepspeed(scene: Scene, dead: Sequence[int], at: float, code: int) -> None:
    width = scene.fleet.gpus_per_node
    for index in sorted({rank // width for rank in dead}):
        node = scene.fleet.nodes[index]
        first = next(rank for rank in dead if rank // width == index)
        moment = f"{scene.wall(node, at):%Y-%m-%d %H:%M:%S},{int(at * 1000) % 1000:03d}"
        for rank in node.ranks:
            killing = f"[{moment}] [INFO] [launch.py:319:sigkill_handler] Killing subprocess {scene.pid(rank)}"
            scene.agent_raw(index, at + 0.01, killing)
        command = f"['/usr/bin/python3', '-u', '{scene.job.script}', '--local_rank={first % width}', '--deepspeed']"
        scene.agent_raw(
            index,
            at + 0.02,
            f"[{moment}] [ERROR] [launch.py:325:sigkill_handler] {command} exits with return code = {code}",
        )
        scene.step(at + 0.1, f"pdsh@{scene.fleet.nodes[0].name}: {node.name}: ssh exited with exit code {code % 256}")


def _ray(scene: Scene, rank: int, at: float, code: int) -> None:
    node, pid = scene.fleet.node_of(rank), scene.pid(rank)
    actor = f"{scene.job.number * 2654435761 % 2**128:032x}"
    if code < 0:
        moment = f"{scene.wall(0, at):%Y-%m-%d %H:%M:%S},{int(at * 1000) % 1000:03d}"
        scene.step(
            at,
            f"{moment}\tERROR worker_group.py:421 -- A worker died or was killed while executing a task by an unexpected "
            f"system error. RayTrainWorker pid={pid}, ip={node.address}",
        )
        error = (
            "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n"
            f"\tclass_name: RayTrainWorker\n\tactor_id: {actor}\n\tpid: {pid}\n\tip: {node.address}\n"
            "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: "
            "Worker unexpectedly exits with a connection error code 2. End of file."
        )
    else:
        error = (
            f"ray.exceptions.RayTaskError: ray::_RayTrainWorker__execute.get_next() (pid={pid}, ip={node.address}, "
            f"actor_id={actor}, repr=<ray.train._internal.worker_group.RayTrainWorker object at 0x7f0c1a2b3d90>)"
        )
    scene.step(
        at + 1,
        f"{error}\n\nThe above exception was the direct cause of the following exception:\n\n"
        "Traceback (most recent call last):\n"
        f'  File "/data/job/{scene.job.script}", line 402, in <module>\n    result = trainer.fit()\n'
        f'  File "{scene.job.site_packages}/ray/train/base_trainer.py", line 638, in fit\n'
        "    raise TrainingFailedError(\n"
        "ray.train.base_trainer.TrainingFailedError: The Ray Train run failed. Please inspect the previous error messages "
        "for a cause. After fixing the issue (assuming that the error is not caused by your own application logic, but "
        "rather an error such as OOM), you can restart the run from scratch or continue this run.",
    )
