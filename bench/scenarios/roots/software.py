"""Libraries, services, containers and the scheduler itself."""

from bench.scenarios import cascades
from bench.scenarios.fleet import iso, utc
from bench.scenarios.roots.common import step_frames
from bench.scenarios.roots.workload import raised
from bench.scenarios.scene import Scene
from bench.scenarios.shapes import shape
from bench.scenarios.truth import Finding

# ---- libraries


@shape("crash-within-nccl", "framework", "framework", needs="syslog applog", weight=1.2)
def crash_within_nccl(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    node = scene.fleet.node_of(rank)
    told = f"pt_main_thread[{scene.pid(rank)}]: segfault at 7f797fe00000 ip 00007f8c6ac8c0f3 sp 00007f8c35ff7a20 error 4 in libnccl.so.2[7f8c6ac00000+9a5000]"
    scene.kernel(node.index, at, told, 6)
    scene.root_ranks.add(rank)
    cascades.crash(scene, [rank], at + 0.5, -11)
    return Finding("framework", ("framework", "insufficient_evidence"), (node,), (), None, None, [told], at)


@shape("internal-assertion", "framework", "framework", weight=1.5)
def internal_assertion(scene: Scene) -> Finding:
    error = """RuntimeError: !block->expandable_segment_ INTERNAL ASSERT FAILED at "../c10/cuda/CUDACachingAllocator.cpp":1519, please report a bug to PyTorch. """
    return raised(
        scene,
        "framework",
        ("framework",),
        step_frames(scene),
        error.rstrip(),
        "INTERNAL ASSERT FAILED",
        everywhere=False,
    )


@shape("compiler-crashes", "framework", "framework", phase="load", weight=1.2)
def compiler_crashes(scene: Scene) -> Finding:
    newer = scene.job.torch_minor >= 6
    error = (
        (
            "torch._inductor.exc.InductorError: "
            if newer
            else "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\n"
        )
        + "LoweringException: AssertionError: \n  target: aten.index_put_.default\n  args[0]: TensorBox(StorageBox(InputBuffer(name='primals_12')))\n\nSet TORCH_LOGS=\"+dynamo\" and TORCHDYNAMO_VERBOSE=1 for more information"
    )
    frames = [
        scene.main,
        scene.frame(144, "main", "loss = model(batch)"),
        scene.library("torch/_dynamo/eval_frame.py", 465, "_fn", "return fn(*args, **kwargs)"),
        scene.library(
            "torch/_inductor/graph.py",
            1003,
            "call_function",
            "raise LoweringException(e, target, args, kwargs).with_traceback(",
        ),
    ]
    return raised(scene, "framework", ("framework", "user_code"), frames, error, "LoweringException")


@shape("optimizer-partition-assertion", "framework", "framework", weight=1)
def optimizer_partition(scene: Scene) -> Finding:
    frames = [
        scene.main,
        scene.frame(150, "main", "engine.step()"),
        scene.library("deepspeed/runtime/engine.py", 2213, "step", "self._take_model_step(lr_kwargs)"),
        scene.library(
            "deepspeed/runtime/zero/stage_1_and_2.py", 1977, "step", "self._average_expert_grad_norms(norm_groups)"
        ),
        scene.library(
            "deepspeed/runtime/zero/stage_1_and_2.py",
            993,
            "buffered_reduce_fallback",
            "assert self.params_already_reduced[param_id] == False, \\",
        ),
    ]
    return raised(
        scene,
        "framework",
        ("framework", "user_code"),
        frames,
        "AssertionError: The parameter 148 has already been reduced.             Gradient computed twice for this partition.             Multiple gradient reduction is currently not supported",
        "has already been reduced",
        everywhere=False,
    )


@shape("engine-process-dies", "framework", "framework", phase="load", weight=1)
def engine_dies(scene: Scene) -> Finding:
    rank, at = scene.pick(), scene.onset
    line = "RuntimeError: vllm::unified_attention_with_output() is missing value for argument 'output_block_scale'"
    body = "\n".join(
        (
            "EngineCore hit an exception.",
            "Traceback (most recent call last):",
            f'  File "{scene.job.site_packages}/vllm/v1/engine/core.py", line 501, in run_engine_core',
            "    engine_core.run_busy_loop()",
            f'  File "{scene.job.site_packages}/vllm/v1/worker/gpu_model_runner.py", line 1336, in execute_model',
            "    model_output = self.model(",
            line,
        )
    )
    moment = scene.wall(scene.fleet.node_of(rank), at)
    scene.raw(rank, at, "\n".join(f"ERROR {moment:%m-%d %H:%M:%S} [core.py:502] {part}" for part in body.split("\n")))
    scene.traceback(
        rank,
        at + 0.5,
        [
            scene.frame(31, "<module>", "engine.generate(prompts)"),
            scene.library(
                "vllm/v1/engine/core_client.py",
                667,
                "_format_exception",
                "return EngineDeadError(suppress_context=True) if self.resources.engine_dead else e",
            ),
        ],
        "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.",
        False,
    )
    cascades.crash(scene, [rank], at + 0.8, 1)
    return Finding("framework", ("framework",), (scene.fleet.node_of(rank),), (), None, rank, [line], at)


# ---- services of others


@shape("model-hub-refuses", "external", "external_service", phase="load", weight=2)
def model_hub(scene: Scene) -> Finding:
    at = scene.onset
    code, phrase = scene.rng.choice(
        ((429, "Too Many Requests"), (503, "Service Unavailable"), (502, "Bad Gateway"), (504, "Gateway Time-out"))
    )
    status = f"{code} {'Client' if code < 500 else 'Server'} Error: {phrase} for url: https://huggingface.co/api/models/org/base-7b/revision/main"
    scene.log(0, at - 40, "WARNING", f"download of org/base-7b failed, trying again in 20s: {status}")
    error = (
        f"huggingface_hub.errors.HfHubHTTPError: {status}"
        if scene.rng.random() < 0.6
        else f"requests.exceptions.HTTPError: {status}"
    )
    frames = [
        scene.main,
        scene.frame(88, "main", "model = AutoModel.from_pretrained(args.model)"),
        scene.library(
            "huggingface_hub/utils/_http.py",
            406,
            "hf_raise_for_status",
            "raise _format(HfHubHTTPError, str(e), response) from e",
        ),
    ]
    if scene.rng.random() < 0.25:
        status = "HTTPSConnectionPool(host='cdn-lfs.huggingface.co', port=443): Read timed out. (read timeout=10)"
        error = f"requests.exceptions.ReadTimeout: (ReadTimeoutError(\"{status}\"), '(Request ID: 9f2c1d)')"
    accept = ("external_service", "user_config") if code == 429 else ("external_service",)
    return raised(scene, "external_service", accept, frames, error, status)


@shape("name-does-not-resolve", "external", "external_service", phase="load", weight=1.2)
def name_resolution(scene: Scene) -> Finding:
    error = "requests.exceptions.ConnectionError: (MaxRetryError(\"HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded with url: /org/base-7b/resolve/main/config.json (Caused by NameResolutionError(\\\"<urllib3.connection.HTTPSConnection object at 0x7f1c5c0b7a90>: Failed to resolve 'huggingface.co' ([Errno -3] Temporary failure in name resolution)\\\"))\"), '(Request ID: 5b1d0c)')"
    frames = [
        scene.main,
        scene.frame(88, "main", "tokenizer = AutoTokenizer.from_pretrained(args.model)"),
        scene.library("requests/adapters.py", 700, "send", "raise ConnectionError(e, request=request)"),
    ]
    return raised(
        scene,
        "external_service",
        ("external_service", "network_fabric", "host_os"),
        frames,
        error,
        "Temporary failure in name resolution",
    )


@shape("experiment-tracker-down", "external", "external_service", phase="load", weight=1.2)
def tracker(scene: Scene) -> Finding:
    at = scene.onset
    scene.raw(0, at - 70, "wandb: Network error (HTTPError), entering retry loop.")
    error = "wandb.errors.errors.CommError: Error communicating with wandb backend: Run initialization has timed out after 90.0 sec. \nPlease refer to the documentation for additional information: https://docs.wandb.ai/guides/track/tracking-faq#initstarterror-error-communicating-with-wandb-process-"
    frames = [
        scene.main,
        scene.frame(66, "main", "wandb.init(project='pretrain')"),
        scene.library("wandb/sdk/wandb_init.py", 1266, "init", "raise"),
    ]
    scene.traceback(0, at, frames, error)
    cascades.crash(scene, [0], at + 0.3, 1)
    return Finding(
        "external_service",
        ("external_service",),
        (scene.fleet.nodes[0],),
        (),
        None,
        0,
        ["wandb.errors.errors.CommError", "entering retry loop"],
        at,
    )


@shape("proxy-refuses", "external", "external_service", phase="load", weight=0.7)
def proxy(scene: Scene) -> Finding:
    error = "requests.exceptions.ProxyError: HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded with url: /api/datasets/org/corpus (Caused by ProxyError('Unable to connect to proxy', OSError('Tunnel connection failed: 503 Service Unavailable')))"
    frames = [
        scene.main,
        scene.frame(90, "main", "data = load_dataset(args.dataset)"),
        scene.library("requests/adapters.py", 694, "send", "raise ProxyError(e, request=request)"),
    ]
    return raised(
        scene, "external_service", ("external_service", "user_config"), frames, error, "requests.exceptions.ProxyError"
    )


# ---- containers


def _not_started(scene: Scene, at: float) -> None:
    scene.started = False
    scene.end.at = at


@shape(
    "image-import-fails",
    "launch",
    "container_runtime",
    needs="applog",
    scheduler="slurm",
    launcher="srun",
    phase="launch",
    weight=1.5,
)
def image_import(scene: Scene) -> Finding:
    at, node = scene.onset, scene.fleet.nodes[scene.rng.randrange(len(scene.fleet.nodes))]
    scene.started = False
    detail = scene.rng.choice(
        (
            "[ERROR] Could not process JSON input\n{p}     curl: (22) The requested URL returned error: 502",
            "[ERROR] Failed to extract layer: zstd: /*stdin*\\: Decoding error (36) : Corrupted block detected",
            "[ERROR] mksquashfs: failed to write output filesystem: Input/output error",
        )
    )
    lines = [
        "pyxis: importing docker image: registry.local/train:1",
        "slurmstepd: error: pyxis: child 41822 failed with error code: 1",
        "slurmstepd: error: pyxis: failed to import docker image",
        "slurmstepd: error: pyxis: printing enroot log file:",
        *(f"slurmstepd: error: pyxis:     {part.format(p='slurmstepd: error: pyxis:')}" if index == 0 else part.replace("{p}", "slurmstepd: error: pyxis:") for index, part in enumerate(detail.split("\n"))),
        "slurmstepd: error: pyxis: couldn't start container",
        "slurmstepd: error: spank: required plugin spank_pyxis.so: task_init() failed with rc=-1",
        "slurmstepd: error: Failed to invoke spank plugin stack",
    ]  # fmt: skip
    for index, line in enumerate(lines):
        scene.step(at + index * 0.01, line)
    cascades.slurm_kill(scene, at + 0.5, node.index, f"task {node.index}", "Exited with exit code 1")
    scene.end.at, scene.end.step_state = at + 8, "FAILED"
    scene.started = False
    return Finding(
        "container_runtime",
        ("container_runtime", "external_service", "user_config"),
        (),
        (node,),
        None,
        None,
        ["pyxis: failed to import docker image", detail.split("\n")[0]],
        None,
        ("launch_failed", "failed"),
    )


@shape(
    "image-cannot-be-pulled",
    "launch",
    "container_runtime",
    needs="scheduler",
    forbid="applog",
    scheduler="kubernetes",
    phase="launch",
    weight=1.5,
)
def image_pull(scene: Scene) -> Finding:
    at = scene.onset
    message = 'Back-off pulling image "registry.local/train:1"'
    why = scene.rng.choice(
        (
            'Failed to pull image "registry.local/train:1": rpc error: code = NotFound desc = failed to pull and unpack image "registry.local/train:1": failed to resolve reference "registry.local/train:1": registry.local/train:1: not found',
            'Failed to pull image "registry.local/train:1": rpc error: code = Unknown desc = failed to pull and unpack image "registry.local/train:1": failed to do request: Head "https://registry.local/v2/train/manifests/1": dial tcp 10.9.0.44:443: i/o timeout',
        )
    )
    for index, _ in enumerate(scene.fleet.nodes):
        scene.pods[index] = {"waiting": "ImagePullBackOff", "message": message}
        pod = f"{scene.job.name}-worker-{index}"
        scene.events.append(
            {
                "at": at + index * 0.1,
                "kind": "Pod",
                "name": pod,
                "type": "Warning",
                "reason": "Failed",
                "message": why,
                "count": 4,
            }
        )
        scene.events.append(
            {
                "at": at + 20 + index * 0.1,
                "kind": "Pod",
                "name": pod,
                "type": "Warning",
                "reason": "BackOff",
                "message": message,
                "count": 9,
            }
        )
    _not_started(scene, at + 900)
    scene.end.state = "PENDING"
    return Finding(
        "container_runtime",
        ("container_runtime", "user_config"),
        (),
        (),
        None,
        None,
        [why[:60], "ImagePullBackOff"],
        None,
        ("launch_failed",),
    )


@shape(
    "gpu-hook-fails",
    "launch",
    "container_runtime",
    needs="scheduler",
    forbid="applog",
    scheduler="kubernetes",
    phase="launch",
    weight=1,
)
def gpu_hook(scene: Scene) -> Finding:
    at, node = scene.onset, scene.fleet.nodes[scene.rng.randrange(len(scene.fleet.nodes))]
    told = "nvidia-container-cli: initialization error: nvml error: driver not loaded"
    message = f"failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: error running prestart hook #0: exit status 1, stdout: , stderr: Auto-detected mode as 'legacy'\n{told}: unknown"
    scene.pods[node.index] = {"exitCode": 128, "reason": "StartError", "message": message, "finished": at}
    scene.events.append(
        {
            "at": at,
            "kind": "Pod",
            "name": f"{scene.job.name}-worker-{node.index}",
            "type": "Warning",
            "reason": "Failed",
            "message": f"Error: {message}",
            "count": 1,
        }
    )
    for index in range(len(scene.fleet.nodes)):
        scene.pods.setdefault(index, {"exitCode": 143, "reason": "Error", "finished": at + 40})
    _not_started(scene, at + 60)
    return Finding(
        "container_runtime",
        ("container_runtime", "gpu_driver"),
        (node,),
        (node,),
        None,
        None,
        [told],
        at,
        ("launch_failed", "failed"),
    )


@shape(
    "entry-script-not-executable",
    "launch",
    "container_runtime",
    needs="applog",
    scheduler="slurm",
    launcher="srun",
    phase="launch",
    weight=0.7,
)
def entry_script(scene: Scene) -> Finding:
    at = scene.onset
    told = "/usr/local/bin/nvidia_entrypoint.sh: line 67: /data/job/run.sh: cannot execute: Permission denied"
    for index in range(min(32, len(scene.fleet.nodes))):
        scene.step(at + index * 0.02, told)
    cascades.slurm_kill(scene, at + 1, 0, "task 0", "Exited with exit code 126")
    scene.end.at, scene.end.code, scene.end.step_state, scene.started = at + 5, 126, "FAILED", False
    return Finding(
        "container_runtime",
        ("container_runtime", "user_config"),
        (),
        (),
        None,
        None,
        [told],
        None,
        ("launch_failed", "failed"),
    )


# ---- the scheduler


@shape("preempted", "maintenance", "scheduler", needs="applog scheduler", scheduler="slurm", weight=1.5)
def preempted(scene: Scene) -> Finding:
    at, job = scene.onset, scene.job
    moment = f"{scene.wall(0, at):%Y-%m-%dT%H:%M:%S}"
    head = scene.fleet.nodes[0].name
    stamp = f"[{moment}.627] error:" if job.slurm == "25.11" else "slurmstepd: error:"
    why = f"ON {head} CANCELLED AT {moment} DUE TO PREEMPTION ***"
    scene.step(at, f"{stamp} *** JOB {job.number} {why}")
    scene.step(at + 0.01, f"{stamp} *** STEP {job.number}.0 {why}")
    cascades.terminated(scene, at + 0.5)
    scene.controller.append(
        (at, f"preempted JobId={job.number} has been killed to reclaim resources for JobId={job.number + 41}")
    )
    scene.end.at, scene.end.state, scene.end.code, scene.end.step_state = at + 5, "PREEMPTED", 0, "CANCELLED"
    decisive = ["DUE TO PREEMPTION", "PREEMPTED", f"preempted JobId={job.number}"]
    return Finding("scheduler", ("scheduler",), (), (), None, None, decisive, None, ("preempted",))


@shape(
    "prolog-fails",
    "launch",
    "scheduler",
    needs="scheduler controller syslog wall",
    forbid="applog",
    scheduler="slurm",
    phase="launch",
    weight=1,
)
def prolog_fails(scene: Scene) -> Finding:
    at, job = scene.onset, scene.job
    node = scene.fleet.nodes[scene.rng.randrange(len(scene.fleet.nodes))]
    told = f"error: [job {job.number}] prolog failed status=1:0"
    scene.daemon(node.index, at, "slurmd", told, 3)
    scene.daemon(node.index, at + 0.1, "slurmd", "error: Prolog launch failure: sending REQUEST_ABORT_JOB", 3)
    scene.controller += [
        (at + 0.2, f"error: prolog_complete: prolog failed on {node.name} for JobId={job.number}"),
        (
            at + 0.3,
            f"error: validate_node_specs: Prolog or job env setup failure on node {node.name}, draining the node",
        ),
        (at + 0.4, f"drain_nodes: node {node.name} state set to DRAIN"),
        (at + 0.5, f"_job_requeue_op: JobId={job.number} state 0x8000 reason 2"),
    ]
    scene.end.at, scene.end.state, scene.end.code, scene.end.reason = (
        at + 2,
        "REQUEUED",
        0,
        "launch_failed_requeued_held",
    )
    scene.started = False
    return Finding(
        "scheduler",
        ("scheduler",),
        (node,),
        (node,),
        None,
        None,
        ["prolog failed", "Prolog or job env setup failure"],
        at,
        ("launch_failed",),
    )


@shape(
    "credential-expired",
    "launch",
    "scheduler",
    needs="applog syslog wall",
    scheduler="slurm",
    launcher="srun",
    phase="launch",
    weight=0.8,
)
def credential_expired(scene: Scene) -> Finding:
    at, job = scene.onset, scene.job
    node = scene.fleet.nodes[scene.rng.randrange(len(scene.fleet.nodes))]
    told = "error: slurm_cred_verify: Credential expired"
    scene.daemon(node.index, at, "slurmd", f"error: Job credential expired\n{told}".split("\n")[1], 3)
    scene.daemon(
        node.index,
        at + 0.01,
        "slurmd",
        f"error: Invalid job {job.number}.0 credential for user 1004: Job credential expired",
        3,
    )
    scene.step(
        at + 0.1,
        f"srun: error: Task launch for StepId={job.number}.0 failed on node {node.name}: Job credential expired",
    )
    scene.step(at + 0.2, "srun: error: Application launch failed: Job credential expired")
    scene.step(at + 0.3, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
    scene.end.at, scene.end.step_state, scene.started = at + 40, "CANCELLED", False
    return Finding(
        "scheduler",
        ("scheduler", "host_os"),
        (node,),
        (node,),
        None,
        None,
        [told, "Job credential expired"],
        at,
        ("launch_failed", "failed"),
    )


@shape("pod-evicted", "maintenance", "scheduler", needs="scheduler applog", scheduler="kubernetes", weight=1.5)
def pod_evicted(scene: Scene) -> Finding:
    at, node = scene.onset, scene.fleet.nodes[scene.rng.randrange(len(scene.fleet.nodes))]
    pod = f"{scene.job.name}-worker-{node.index}"
    if scene.rng.random() < 0.5:
        message = "Preempted by pod 7d1f0c3e-11aa-4000-8000-000000000009 on node " + node.name
        scene.events.append(
            {
                "at": at,
                "kind": "Pod",
                "name": pod,
                "type": "Normal",
                "reason": "Preempted",
                "message": message,
                "by": "default-scheduler",
            }
        )
        told = {
            "evicted": True,
            "reason": "Preempting",
            "condition": "PreemptionByScheduler",
            "message": message,
            "exitCode": 143,
            "finished": at + 2,
        }
        accept: tuple[str, ...] = ("scheduler",)
        states = ("preempted", "failed")
    else:
        message = (
            "The node was low on resource: ephemeral-storage. Threshold quantity: 85899345920, available: 71002344Ki. "
        )
        scene.events.append(
            {"at": at, "kind": "Pod", "name": pod, "type": "Warning", "reason": "Evicted", "message": message}
        )
        told = {
            "evicted": True,
            "reason": "Evicted",
            "condition": "TerminationByKubelet",
            "message": message,
            "finished": at + 2,
        }
        accept, states = ("scheduler", "resource_limit", "host_os", "storage"), ("failed", "preempted")
    scene.pods[node.index] = told
    cascades.signalled(scene, node.index, at + 0.5)
    for rank in scene.rng.sample(scene.others(set(node.ranks)), min(4, scene.fleet.ranks - len(node.ranks))):
        cascades.remote_error(scene, rank, at + 3 + scene.rng.random(), node.ranks[0])
    for index in range(len(scene.fleet.nodes)):
        scene.pods.setdefault(index, {"exitCode": 1, "reason": "Error", "finished": at + 20})
    scene.end.at = at + 25
    return Finding("scheduler", accept, (node,), (), None, None, [message[:50]], at, states)


@shape(
    "volume-does-not-mount",
    "launch",
    "storage",
    needs="scheduler",
    forbid="applog",
    scheduler="kubernetes",
    phase="launch",
    weight=0.8,
)
def volume_mount(scene: Scene) -> Finding:
    at = scene.onset
    node = scene.fleet.nodes[scene.rng.randrange(len(scene.fleet.nodes))]
    pod = f"{scene.job.name}-worker-{node.index}"
    told = 'MountVolume.SetUp failed for volume "datasets" : mount failed: exit status 32'
    scene.events.append(
        {
            "at": at,
            "kind": "Pod",
            "name": pod,
            "type": "Warning",
            "reason": "FailedMount",
            "message": f"{told}\nMounting command: mount\nMounting arguments: -t nfs 10.9.1.5:/export/datasets /var/lib/kubelet/pods/5d1f0c3e/volumes/kubernetes.io~nfs/datasets\nOutput: mount.nfs: Connection timed out",
            "count": 11,
        }
    )
    scene.pods[node.index] = {"waiting": "ContainerCreating", "message": ""}
    for index in range(len(scene.fleet.nodes)):
        scene.pods.setdefault(index, {"exitCode": 143, "reason": "Error", "finished": at + 900})
    scene.started, scene.end.at, scene.end.state = False, at + 900, "PENDING"
    return Finding(
        "storage",
        ("storage", "container_runtime", "scheduler"),
        (node,),
        (node,),
        None,
        None,
        [told],
        at,
        ("launch_failed", "failed"),
    )


@shape(
    "not-enough-gpus-to-place",
    "launch",
    "scheduler",
    needs="scheduler",
    forbid="applog",
    scheduler="kubernetes",
    phase="launch",
    weight=0.8,
)
def unschedulable(scene: Scene) -> Finding:
    at, count = scene.onset, len(scene.fleet.nodes) + 3
    told = f"0/{count} nodes are available: 1 node(s) had untolerated taint {{node-role.kubernetes.io/control-plane: }}, {count - 1} Insufficient nvidia.com/gpu. preemption: 0/{count} nodes are available: 1 Preemption is not helpful for scheduling, {count - 1} No preemption victims found for incoming pod."
    for index in range(len(scene.fleet.nodes)):
        scene.pods[index] = {"unscheduled": True, "message": told}
        scene.events.append(
            {
                "at": at + index * 0.01,
                "kind": "Pod",
                "name": f"{scene.job.name}-worker-{index}",
                "type": "Warning",
                "reason": "FailedScheduling",
                "message": told,
                "count": 14,
                "by": "default-scheduler",
            }
        )
    scene.started, scene.end.at, scene.end.state = False, at + 1800, "PENDING"
    return Finding(
        "scheduler",
        ("scheduler", "user_config"),
        (),
        (),
        None,
        None,
        ["Insufficient nvidia.com/gpu"],
        None,
        ("launch_failed",),
    )


@shape(
    "queue-preempts-workload", "maintenance", "scheduler", needs="scheduler applog", scheduler="kubernetes", weight=1
)
def queue_preempts(scene: Scene) -> Finding:
    at, job = scene.onset, scene.job
    told = f"Preempted to accommodate a workload (UID: 7d1f0c3e-0000-4000-8000-{job.number:012d}) due to prioritization in the ClusterQueue"
    stamp = iso(utc(at), 0)
    conditions = [
        {"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": told, "lastTransitionTime": stamp},
        {"type": "Evicted", "status": "True", "reason": "Preempted", "message": told, "lastTransitionTime": stamp},
        {
            "type": "Preempted",
            "status": "True",
            "reason": "InClusterQueue",
            "message": told,
            "lastTransitionTime": stamp,
        },
        {
            "type": "PodsReady",
            "status": "False",
            "reason": "WaitForStart",
            "message": "Not all pods are ready or succeeded",
            "lastTransitionTime": stamp,
        },
    ]
    scene.objects.append(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta1",
            "kind": "Workload",
            "metadata": {"name": f"pytorchjob-{job.name}", "namespace": "ml"},
            "spec": {"active": True, "queueName": "team"},
            "status": {"conditions": conditions},
        }
    )
    scene.events.append(
        {
            "at": at,
            "kind": "Workload",
            "name": f"pytorchjob-{job.name}",
            "type": "Normal",
            "reason": "EvictedDueToPreempted",
            "message": told,
            "by": "kueue-admission",
        }
    )
    for index in range(len(scene.fleet.nodes)):
        cascades.signalled(scene, index, at + 0.5 + scene.rng.random())
        scene.pods[index] = {"exitCode": 143, "reason": "Error", "finished": at + 6}
    scene.end.at, scene.end.state = at + 8, "PREEMPTED"
    return Finding("scheduler", ("scheduler",), (), (), None, None, [told], None, ("preempted",))


@shape(
    "submission-refused",
    "launch",
    "user_config",
    scheduler="slurm",
    launcher="srun",
    phase="launch",
    forbid="scheduler syslog metrics fabric_manager bmc controller recorder nodes",
    weight=0.7,
)
def submission_refused(scene: Scene) -> Finding:
    told = scene.rng.choice((
        "sbatch: error: Batch job submission failed: Requested node configuration is not available",
        "sbatch: error: invalid partition specified: gpu-a100\nsbatch: error: Batch job submission failed: Invalid partition name specified",
        "sbatch: error: Batch job submission failed: Requested time limit is invalid (missing or exceeds some limit)",
        "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified",
    ))  # fmt: skip
    scene.step(scene.onset, told)
    scene.started, scene.end.at = False, scene.onset
    return Finding(
        "user_config",
        ("user_config", "scheduler"),
        (),
        (),
        None,
        None,
        [told.split("\n")[-1]],
        None,
        ("launch_failed",),
    )
