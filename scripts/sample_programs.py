"""Incidents that begin with the scheduler, the container, a service, or the program and what it was given."""

from datetime import datetime

from sample_parts import (
    FAILED,
    SITE,
    Job,
    Machine,
    after,
    as_container,
    child_failed,
    connection_lost,
    exited,
    kernel,
    machines,
    peer_closed,
    quiet_system,
    running,
    starting,
    traceback,
    utc,
    utc_style,
    watchdog_timeout,
)

POD_FAILED = "scheduler_state: Failed\nexit_code: 1\nreason: BackoffLimitExceeded"


def quiet_nodes(job: Job, lines: int = 40) -> None:
    """System logs in which nothing happened."""
    for machine in job.machines:
        start, end = after(job.start, -300), after(job.end, 200)
        quiet_system(job, f"syslog/{machine.name}.log.gz", machine.name, start, end, lines, "iso")


def timed_out(
    job: Job, machine: Machine, path: str, ranks: tuple[int, ...], at: datetime, seq: int, numel: int
) -> None:
    """Watchdogs of some ranks end them, and their launcher the node."""
    log = job.log(path)
    for n, rank in enumerate(ranks):
        expired = after(at, 0.02 * n)
        log.add(expired, *watchdog_timeout(rank, expired, seq, numel, 600004 + 3 * n))
    done = after(at, 5)
    log.add(done, *child_failed(machine, ranks[0], done, -6))


def node_lost() -> Job:
    """Slurm loses node-04 and ends the job; the node's own log just stops."""
    job = Job(
        "node-lost",
        418811,
        utc("2026-05-26T11:00:00"),
        utc("2026-05-26T13:42:19"),
        machines(4, 4, 18230),
        "scheduler_state: NODE_FAIL\nreason: NodeFail",
    )
    silent = utc("2026-05-26T13:36:58.100")
    for machine in job.machines:
        running(job, machine, silent, "log.zst")
        until = silent if machine is job.machines[3] else after(job.end, 120)
        quiet_system(job, f"syslog/{machine.name}.log", machine.name, after(job.start, -300), until, 25, "iso")
    marked = after(silent, 318)
    job.log("scheduler/slurmctld.log").add(
        marked,
        f"[{after(silent, -4000):%Y-%m-%dT%H:%M:%S}.402] sched: Allocate JobId=418812 NodeList=node-09 #CPUs=96",
        f"[{marked:%Y-%m-%dT%H:%M:%S}.015] error: Nodes node-04 not responding, setting DOWN",
        f"[{after(marked, 1):%Y-%m-%dT%H:%M:%S}.330] requeue job JobId=418811 due to failure of node node-04",
    )
    job.log("applog/node-01.batch.log").add(
        after(marked, 2),
        f"slurmstepd: error: *** JOB 418811 ON node-01 CANCELLED AT {after(marked, 1):%Y-%m-%dT%H:%M:%S} DUE TO NODE "
        "FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
        "srun: error: Node failure on node-04",
    )
    job.log("scheduler/sacct.txt").add(
        job.end,
        "JobID|JobName|State|ExitCode|Start|End|NodeList",
        "418811|train|NODE_FAIL|1:0|2026-05-26T11:00:00|2026-05-26T13:42:19|node-[01-04]",
        "418811.0|python3|CANCELLED|0:15|2026-05-26T11:00:05|2026-05-26T13:42:19|node-[01-04]",
    )
    return job


def time_limit() -> Job:
    """The job runs into its time limit; while Slurm ends its ranks they report each other's end."""
    job = Job(
        "time-limit",
        418823,
        utc("2026-05-27T01:00:00"),
        utc("2026-05-27T05:00:28"),
        machines(2, 8, 50617),
        "scheduler_state: TIMEOUT\nreason: TimeLimit",
    )
    one, two = job.machines
    limit = utc("2026-05-27T05:00:20.040")
    for machine in job.machines:
        running(job, machine, after(limit, -1), "log.gz")
    quiet_nodes(job)
    ended = f"{limit:%Y-%m-%dT%H:%M:%S}"
    job.log("applog/node-01.batch.log").add(
        limit,
        f"slurmstepd: error: *** JOB 418823 ON node-01 CANCELLED AT {ended} DUE TO TIME LIMIT ***",
        f"slurmstepd: error: *** STEP 418823.0 ON node-01 CANCELLED AT {ended} DUE TO TIME LIMIT ***",
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
        "srun: error: node-02: tasks 8-15: Terminated",
        "srun: error: node-01: tasks 0-7: Terminated",
    )
    for machine, rank in ((one, 3), (two, 9)):
        closed = after(limit, 0.6 + 0.1 * rank)
        peer = f"{(two if machine is one else one).name}.cluster.example<40118>"
        job.log(f"applog/{machine.name}.log.gz").add(
            closed, *peer_closed(machine, rank, closed, utc_style, peer), *connection_lost(rank, peer)
        )
    job.log("scheduler/sacct.txt").add(
        job.end,
        "JobID|JobName|State|ExitCode|Start|End|NodeList",
        "418823|train|TIMEOUT|0:0|2026-05-27T01:00:00|2026-05-27T05:00:28|node-[01-02]",
        "418823.0|python3|CANCELLED|0:15|2026-05-27T01:00:04|2026-05-27T05:00:28|node-[01-02]",
    )
    return job


def preempted_by_queue() -> Job:
    """Kueue takes the workload's quota back for one of higher priority; its pods are told to end and do."""
    job = Job(
        "preempted-by-queue",
        5121,
        utc("2026-05-28T07:15:30"),
        utc("2026-05-28T09:02:11"),
        machines(2, 8, 64),
        "scheduler_state: Evicted\nreason: Preempted",
        scheduler="kueue",
        pod="train-b7-worker",
    )
    told = utc("2026-05-28T09:01:38.512")
    for machine in job.machines:
        path = running(job, machine, told, "log.gz")
        log, pid = job.log(path), machine.pid
        head = f"W0528 09:01:39.{machine.ranks[0] + 107:06d} {pid} torch/distributed/elastic"
        log.add(
            after(told, 0.9),
            f"{head}/agent/server/api.py:723] Received Signals.SIGTERM death signal, shutting down workers",
            *(
                f"{head}/multiprocessing/api.py:898] Sending process {machine.pid_of(r)} closing signal SIGTERM"
                for r in machine.ranks
            ),
        )
        as_container(log)
    other = "UID: 7c1f04e2-9a53-4b8e-a1d0-6f2b90c44d11, JobUID: 0b7e5f7a-52a4-4e5c-9c6e-2c8e1f10a9b3"
    taken = f"Preempted to accommodate a workload ({other}) due to prioritization in the ClusterQueue"
    reserved = "Quota reserved in ClusterQueue gpu-batch, wait time since queued was 4s"
    events = (
        ("107m", "Normal", "QuotaReserved", "workload/pytorchjob-train-b7-6ad31", reserved),
        ("107m", "Normal", "Admitted", "workload/pytorchjob-train-b7-6ad31", "Admitted by ClusterQueue gpu-batch"),
        ("33s", "Normal", "EvictedDueToPreempted", "workload/pytorchjob-train-b7-6ad31", taken),
        ("33s", "Normal", "Preempted", "workload/pytorchjob-train-b7-6ad31", taken),
        ("33s", "Normal", "Suspended", "pytorchjob/train-b7", "PyTorchJob train-b7 is suspended."),
        ("32s", "Normal", "Killing", "pod/train-b7-worker-0", "Stopping container pytorch"),
        ("32s", "Normal", "Killing", "pod/train-b7-worker-1", "Stopping container pytorch"),
    )
    rows = (("LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"), *events)
    job.log("scheduler/events.txt").add(
        job.end, *(f"{age:<11} {kind:<9} {reason:<23} {what:<37} {text}" for age, kind, reason, what, text in rows)
    )
    return job


def image_pull_denied() -> Job:
    """One pod's node may not pull the image; the others wait for its rank until they give up."""
    job = Job(
        "image-pull-denied",
        5144,
        utc("2026-05-28T14:20:00"),
        utc("2026-05-28T14:51:07"),
        machines(3, 4, 58),
        "scheduler_state: Failed\nreason: BackoffLimitExceeded",
        scheduler="kubernetes",
        pod="eval-worker",
    )
    three = job.machines[2]
    image = "registry.example.internal/team/train:2026-05-28"
    for machine in job.machines[:2]:
        path = f"applog/{job.pod_of(machine)}.log"
        starting(job, path, machine, ())
        expired = after(job.start, 1841 + 0.4 * machine.ranks[0])
        frames = (
            ("/data/job/evaluate.py", 71, "<module>", "main()"),
            ("/data/job/evaluate.py", 40, "main", 'dist.init_process_group("nccl")'),
        )
        text = "torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients. 2/3 clients joined."
        log = job.log(path)
        log.add(expired, utc_style(expired, "INFO", "evaluate", "waiting for all processes"))
        log.add(expired, *traceback(machine.ranks[0], frames, text))
        as_container(log)
    refused = (
        f'failed to pull and unpack image "{image}": failed to resolve reference "{image}": unexpected status '
        f"from HEAD "
        "request to https://registry.example.internal/v2/team/train/manifests/2026-05-28: 403 Forbidden"
    )
    system = f"syslog/{three.name}.log"
    for machine in job.machines:
        start, end = after(job.start, -100), after(job.end, 60)
        quiet_system(job, f"syslog/{machine.name}.log", machine.name, start, end, 12, "iso")
    for secs in (4.1, 19.3, 47.0, 92.8):
        at = after(job.start, secs)
        head = f"kubelet[2411]: E0528 {at:%H:%M:%S}.{at.microsecond:06d}    2411 kuberuntime_image.go:55]"
        kernel(job, system, three, at, f'{head} "Failed to pull image" err="{refused}" image="{image}"')
    job.log("scheduler/eval-worker-2.describe.txt").add(
        job.end,
        "Name:             eval-worker-2",
        "Namespace:        team",
        "Node:             node-03/10.0.0.13",
        "Status:           Pending",
        "Containers:",
        "  trainer:",
        f"    Image:          {image}",
        "    State:          Waiting",
        "      Reason:       ImagePullBackOff",
        "    Ready:          False",
        "    Restart Count:  0",
        "Events:",
        "  Type     Reason     Age                 From               Message",
        "  ----     ------     ----                ----               -------",
        "  Normal   Scheduled  31m                 default-scheduler  Successfully assigned team/eval-worker-2 "
        "to node-03",
        f'  Normal   Pulling    29m (x4 over 31m)   kubelet            Pulling image "{image}"',
        f'  Warning  Failed     29m (x4 over 31m)   kubelet            Failed to pull image "{image}": {refused}',
        "  Warning  Failed     29m (x4 over 31m)   kubelet            Error: ErrImagePull",
        f'  Normal   BackOff    61s (x124 over 31m) kubelet            Back-off pulling image "{image}"',
        "  Warning  Failed     61s (x124 over 31m) kubelet            Error: ImagePullBackOff",
    )
    job.log("scheduler/eval-worker-0.describe.txt").add(
        job.end,
        "Name:             eval-worker-0",
        "Namespace:        team",
        "Node:             node-01/10.0.0.11",
        "Status:           Failed",
        "Events:",
        "  Type     Reason     Age   From               Message",
        "  ----     ------     ----  ----               -------",
        "  Normal   Scheduled  31m   default-scheduler  Successfully assigned team/eval-worker-0 to node-01",
        f'  Normal   Pulled     31m   kubelet            Container image "{image}" already present on machine',
        "  Normal   Started    31m   kubelet            Started container trainer",
    )
    return job


def mount_source_missing() -> Job:
    """A folder that the launch line mounts into the container is not there on one node; no task ever starts."""
    job = Job(
        "mount-source-missing",
        418940,
        utc("2026-06-08T09:15:00"),
        utc("2026-06-08T09:16:12"),
        machines(2, 8, 70233),
        "scheduler_state: FAILED\nexit_code: 1\nreason: NonZeroExitCode",
    )
    quiet_nodes(job, 15)
    failed = utc("2026-06-08T09:15:58")
    log = job.log("applog/node-01.batch.log")
    log.add(
        job.start,
        "pyxis: importing docker image: registry.example.internal/team/train:2026-06",
        "pyxis: imported docker image: registry.example.internal/team/train:2026-06",
    )
    target = "/run/user/1000/enroot/data/pyxis_418940.0/corpus"
    log.add(
        failed,
        "slurmstepd: error: pyxis: container start failed with error code: 1",
        "slurmstepd: error: pyxis: printing enroot log file:",
        f"slurmstepd: error: pyxis:     enroot-mount: failed to mount: /scratch/corpus at {target}: No such file or "
        "directory",
        "slurmstepd: error: pyxis: couldn't start container",
        "slurmstepd: error: spank: required plugin spank_pyxis.so: task_init() failed with rc=-1",
        "slurmstepd: error: Failed to invoke spank plugin stack",
        "srun: error: node-02: task 1: Exited with exit code 1",
        "srun: Terminating StepId=418940.0",
        "slurmstepd: error: *** STEP 418940.0 ON node-01 CANCELLED AT 2026-06-08T09:15:59 ***",
        "srun: error: node-01: task 0: Terminated",
    )
    job.log("scheduler/sacct.txt").add(
        job.end,
        "JobID|JobName|State|ExitCode|Start|End|NodeList",
        "418940|train|FAILED|1:0|2026-06-08T09:15:00|2026-06-08T09:16:12|node-[01-02]",
        "418940.0|bash|FAILED|1:0|2026-06-08T09:15:02|2026-06-08T09:16:00|node-[01-02]",
    )
    return job


def shared_memory_small() -> Job:
    """The pods have 64 MiB of shared memory, as they do by default; the data loaders of one rank need more."""
    job = Job(
        "shared-memory-small",
        5207,
        utc("2026-06-09T11:00:00"),
        utc("2026-06-09T11:19:43"),
        machines(2, 4, 90),
        POD_FAILED,
        scheduler="kubernetes",
        pod="vision-worker",
    )
    one, two = job.machines
    quiet_nodes(job, 15)
    raised = utc("2026-06-09T11:08:21.480")
    paths = {m: running(job, m, after(raised, -1), "log.gz" if m is two else "log") for m in job.machines}
    frames = (
        ("/data/job/train.py", 318, "<module>", "main()"),
        ("/data/job/train.py", 274, "main", "for raw in stream:"),
        (f"{SITE}/torch/utils/data/dataloader.py", 733, "__next__", "data = self._next_data()"),
    )
    shm = "RuntimeError: unable to write to file </torch_1187_2871930455_9>: No space left on device (28)"
    log = job.log(paths[one])
    log.add(raised, utc_style(raised, "INFO", "data.loader", "rank 2: epoch 1, 8 workers, prefetch 4"))
    log.add(
        after(raised, 0.1),
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).",
    )
    log.add(after(raised, 0.3), *traceback(2, frames, shm))
    log.add(after(raised, 2), *child_failed(one, 2, after(raised, 2), 1))
    timed_out(job, two, paths[two], (4, 6), after(raised, 601.2), 4120, 2097152)
    for path in paths.values():
        as_container(job.log(path))
    return job


def model_hub_unreachable() -> Job:
    """No pod can resolve the model hub's name, so none can load the tokenizer."""
    job = Job(
        "model-hub-unreachable",
        5190,
        utc("2026-05-29T10:05:00"),
        utc("2026-05-29T10:06:31"),
        machines(2, 4, 71),
        POD_FAILED,
        scheduler="kubernetes",
        pod="finetune-worker",
    )
    quiet_nodes(job, 15)
    failed = utc("2026-05-29T10:06:02.337")
    frames = (
        ("/data/job/finetune.py", 160, "<module>", "main()"),
        ("/data/job/finetune.py", 88, "main", "tokenizer = AutoTokenizer.from_pretrained(config.model)"),
        (
            f"{SITE}/transformers/models/auto/tokenization_auto.py",
            950,
            "from_pretrained",
            "config = AutoConfig.from_pretrained(",
        ),
        (f"{SITE}/transformers/utils/hub.py", 543, "cached_files", "raise OSError("),
    )
    inner = (
        "(MaxRetryError('HTTPSConnectionPool(host=\\'huggingface.co\\', port=443): Max retries exceeded with url: "
        '/team/model-7b/resolve/main/config.json (Caused by NameResolutionError("<urllib3.connection.HTTPSConnection '
        "object at 0x7f20c4d1b5b0>: Failed to resolve \\'huggingface.co\\' ([Errno -3] Temporary failure in name "
        "resolution)\"))'), '(Request ID: 5b1c2a90-7f4e-4d34-b0a2-1f9f8e2b6d55)')"
    )
    for machine in job.machines:
        path = f"applog/{job.pod_of(machine)}.log"
        starting(job, path, machine, ())
        log = job.log(path)
        for n in range(1, 4):
            at = after(failed, -24 + 7 * n)
            log.add(
                at,
                f"'{inner}' thrown while requesting HEAD https://huggingface.co/team/model-7b/resolve/main/config.json",
                f"Retrying in {2**n}s [Retry {n}/5].",
            )
        for n, rank in enumerate(machine.ranks):
            at = after(failed, 0.11 * n + 0.05 * machine.ranks[0])
            log.add(
                at,
                *traceback(
                    rank,
                    frames,
                    "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find "
                    "them in the cached files.",
                    "Check your internet connection or see how to run the library in offline mode.",
                ),
            )
        done = after(failed, 4)
        log.add(done, *child_failed(machine, machine.ranks[0], done, 1))
        as_container(log)
    job.log("scheduler/events.txt").add(
        job.end,
        "LAST SEEN   TYPE      REASON                 OBJECT                  MESSAGE",
        "91s         Normal    Started                pod/finetune-worker-0   Started container trainer",
        "90s         Normal    Started                pod/finetune-worker-1   Started container trainer",
        "2s          Warning   BackoffLimitExceeded   job/finetune            Job has reached the specified "
        "backoff limit",
    )
    return job


def gpu_memory_exceeded() -> Job:
    """A longer batch does not fit into the memory of rank 6's GPU; its peers wait until their watchdogs fire."""
    job = Job(
        "gpu-memory-exceeded",
        418850,
        utc("2026-05-30T16:00:00"),
        utc("2026-05-30T17:21:40"),
        machines(2, 8, 37120),
        FAILED,
    )
    one, two = job.machines
    raised = utc("2026-05-30T17:11:22.904")
    paths = {m: running(job, m, after(raised, -1), "log" if m is one else "log.zst") for m in job.machines}
    quiet_nodes(job)
    frames = (
        ("/data/job/train.py", 318, "<module>", "main()"),
        ("/data/job/train.py", 291, "main", "loss = run_step(model, batch, state)"),
        ("/data/job/train.py", 198, "run_step", "loss.backward()"),
        (f"{SITE}/torch/_tensor.py", 648, "backward", "torch.autograd.backward("),
    )
    message = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.25 GiB. GPU 6 has a total capacity of "
        "79.11 GiB of "
        "which 3.41 GiB is free. Process 37137 has 75.69 GiB memory in use. Of the allocated memory 70.02 GiB is "
        "allocated "
        "by PyTorch, and 4.11 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is "
        "large try "
        "setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
    )
    log = job.log(paths[one])
    log.add(raised, utc_style(raised, "INFO", "trainer", "window schedule: entering phase 2, sequence length 32768"))
    log.add(after(raised, 0.4), *traceback(6, frames, message))
    log.add(after(raised, 2.5), *child_failed(one, 6, after(raised, 2.5), 1), exited(one, 0))
    timed_out(job, two, paths[two], (8, 11, 15), after(raised, 601), 51830, 25165824)
    job.log(paths[two]).add(after(raised, 607), exited(two, 1))
    return job


def internal_assert() -> Job:
    """A library breaks its own promise on one rank: nothing in the job's code, data or nodes is wrong."""
    job = Job(
        "internal-assert",
        418871,
        utc("2026-06-01T08:30:00"),
        utc("2026-06-01T08:58:44"),
        machines(2, 4, 15488),
        FAILED,
    )
    one, two = job.machines
    raised = utc("2026-06-01T08:48:31.226")
    paths = {m: running(job, m, after(raised, -1), "log.gz" if m is one else "log") for m in job.machines}
    quiet_nodes(job)
    frames = (
        ("/data/job/train.py", 318, "<module>", "main()"),
        ("/data/job/train.py", 291, "main", "loss = run_step(model, batch, state)"),
        ("/data/job/train.py", 198, "run_step", "loss.backward()"),
        (
            f"{SITE}/torch/autograd/graph.py",
            824,
            "_engine_run_backward",
            "return Variable._execution_engine.run_backward(",
        ),
    )
    message = (
        "RuntimeError: handles_.at(i) INTERNAL ASSERT FAILED at "
        '"/pytorch/c10/cuda/CUDACachingAllocator.cpp":3208, please '
        "report a bug to PyTorch. "
    )
    log = job.log(paths[two])
    log.add(raised, utc_style(raised, "WARNING", "trainer", "last step took 1.31 x the median"))
    log.add(after(raised, 0.2), *traceback(6, frames, message))
    log.add(after(raised, 2), *child_failed(two, 6, after(raised, 2), 1), exited(two, 1))
    timed_out(job, one, paths[one], (0, 3), after(raised, 601.5), 9914, 4194304)
    return job


def layout_does_not_fit() -> Job:
    """The launch line asks for a layout that so many ranks cannot have; all ranks say so within a second."""
    job = Job(
        "layout-does-not-fit",
        418890,
        utc("2026-06-02T12:10:00"),
        utc("2026-06-02T12:10:52"),
        machines(3, 4, 44021),
        FAILED,
    )
    quiet_nodes(job, 12)
    raised = utc("2026-06-02T12:10:37.660")
    frames = (
        ("/data/job/pretrain.py", 212, "<module>", "main()"),
        ("/data/job/pretrain.py", 180, "main", "initialize_megatron(args_defaults=DEFAULTS)"),
        (
            f"{SITE}/megatron/training/arguments.py",
            387,
            "validate_args",
            "assert args.world_size % total_model_size == 0, (",
        ),
    )
    message = "AssertionError: world size (12) is not divisible by total_model_size (encoder_model_size=0 + "
    message += "decoder_model_size=8)"
    for task, machine in enumerate(job.machines):
        path = f"applog/{machine.name}.log"
        starting(job, path, machine, ())
        log = job.log(path)
        for n, rank in enumerate(machine.ranks):
            at = after(raised, 0.04 * n + 0.21 * task)
            log.add(at, *traceback(rank, frames, message))
        done = after(raised, 2 + 0.2 * task)
        log.add(done, *child_failed(machine, machine.ranks[0], done, 1), exited(machine, task))
    return job


def corrupt_shard() -> Job:
    """A shard of the data set is damaged; the rank that draws it fails, and the others wait for it."""
    job = Job(
        "corrupt-shard",
        418903,
        utc("2026-06-03T19:00:00"),
        utc("2026-06-03T20:47:15"),
        machines(2, 4, 27711),
        FAILED,
    )
    one, two = job.machines
    raised = utc("2026-06-03T20:37:04.118")
    paths = {m: running(job, m, after(raised, -1), "log.zst" if m is one else "log") for m in job.machines}
    quiet_nodes(job)
    frames = (
        ("/data/job/train.py", 318, "<module>", "main()"),
        ("/data/job/train.py", 274, "main", "for raw in stream:"),
        (f"{SITE}/torch/utils/data/dataloader.py", 733, "__next__", "data = self._next_data()"),
        (f"{SITE}/torch/_utils.py", 750, "reraise", "raise exception"),
    )
    nested = (
        "pyarrow.lib.ArrowInvalid: Caught ArrowInvalid in DataLoader worker process 3.",
        "Original Traceback (most recent call last):",
        f'  File "{SITE}/torch/utils/data/_utils/worker.py", line 349, in _worker_loop',
        "    data = fetcher.fetch(index)",
        '  File "/data/job/corpus.py", line 58, in __getitem__',
        "    table = pq.read_table(self._paths[shard])",
        "pyarrow.lib.ArrowInvalid: Parquet magic bytes not found in footer. Either the file is corrupted or this "
        "is not a "
        "parquet file.",
    )
    log = job.log(paths[two])
    log.add(raised, utc_style(raised, "INFO", "data.loader", "rank 7: next shard /data/corpus/part-00417.parquet"))
    log.add(after(raised, 0.1), *traceback(7, frames, *nested))
    log.add(after(raised, 2.2), *child_failed(two, 7, after(raised, 2.2), 1), exited(two, 1))
    timed_out(job, one, paths[one], (0, 1, 2, 3), after(raised, 600.8), 33210, 8388608)
    return job


def collective_order_differs() -> Job:
    """Half of the ranks gather what the others reduce: a branch of the program that differs between ranks."""
    job = Job(
        "collective-order-differs",
        418922,
        utc("2026-06-04T06:00:00"),
        utc("2026-06-04T06:41:05"),
        machines(2, 4, 60918),
        FAILED,
    )
    stuck = utc("2026-06-04T06:30:49.777")
    quiet_nodes(job)
    for machine in job.machines:
        path = running(job, machine, stuck, "log.zst")
        for rank in machine.ranks:
            expired = after(stuck, 600.1 + 0.017 * rank)
            op, numel = ("ALLREDUCE", 1) if rank % 4 == 0 else ("_ALLGATHER_BASE", 2097152)
            stderr = job.log(f"applog/{machine.name}.rank{rank}.stderr.log")
            stderr.add(expired, *watchdog_timeout(rank, expired, 7144, numel, 600011 + 2 * rank, op))
        ended = after(stuck, 607)
        job.log(path).add(ended, *child_failed(machine, machine.ranks[1], ended, -6))
    return job


SAMPLES = (
    node_lost,
    time_limit,
    preempted_by_queue,
    image_pull_denied,
    mount_source_missing,
    model_hub_unreachable,
    gpu_memory_exceeded,
    shared_memory_small,
    internal_assert,
    layout_does_not_fit,
    corrupt_shard,
    collective_order_differs,
)
