"""The closed vocabularies of a diagnosis. Adding a value is an API change; renaming one is not allowed."""

from enum import StrEnum


class TerminalState(StrEnum):
    """How the workload attempt ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    PREEMPTED = "preempted"
    NODE_FAILED = "node_failed"
    OUT_OF_MEMORY = "out_of_memory"
    LAUNCH_FAILED = "launch_failed"
    RUNNING = "running"
    UNKNOWN = "unknown"


class Domain(StrEnum):
    """The coarse place of a cause; always derived from the sub_domain."""

    HARDWARE = "hardware"
    PLATFORM = "platform"
    WORKLOAD = "workload"
    NONE = "none"
    UNKNOWN = "unknown"


class SubDomain(StrEnum):
    """Where the root cause lies."""

    GPU_HARDWARE = "gpu_hardware"
    NVLINK_FABRIC = "nvlink_fabric"
    NETWORK_FABRIC = "network_fabric"
    HOST_HARDWARE = "host_hardware"
    GPU_DRIVER = "gpu_driver"
    HOST_OS = "host_os"
    STORAGE = "storage"
    SCHEDULER = "scheduler"
    CONTAINER_RUNTIME = "container_runtime"
    EXTERNAL_SERVICE = "external_service"
    RESOURCE_LIMIT = "resource_limit"
    FRAMEWORK = "framework"
    USER_CODE = "user_code"
    USER_CONFIG = "user_config"
    DATA = "data"
    NONE = "none"
    AMBIGUOUS = "ambiguous"
    INSUFFICIENT_EVIDENCE = "insufficient_evidence"


_DOMAINS = {
    Domain.HARDWARE: (
        SubDomain.GPU_HARDWARE,
        SubDomain.NVLINK_FABRIC,
        SubDomain.NETWORK_FABRIC,
        SubDomain.HOST_HARDWARE,
    ),
    Domain.PLATFORM: (
        SubDomain.GPU_DRIVER,
        SubDomain.HOST_OS,
        SubDomain.STORAGE,
        SubDomain.SCHEDULER,
        SubDomain.CONTAINER_RUNTIME,
        SubDomain.EXTERNAL_SERVICE,
    ),
    Domain.WORKLOAD: (
        SubDomain.RESOURCE_LIMIT,
        SubDomain.FRAMEWORK,
        SubDomain.USER_CODE,
        SubDomain.USER_CONFIG,
        SubDomain.DATA,
    ),
    Domain.NONE: (SubDomain.NONE,),
    Domain.UNKNOWN: (SubDomain.AMBIGUOUS, SubDomain.INSUFFICIENT_EVIDENCE),
}
_DOMAIN_OF = {sub_domain: domain for domain, members in _DOMAINS.items() for sub_domain in members}


def domain_of(sub_domain: SubDomain) -> Domain:
    """The domain that a sub_domain belongs to."""
    return _DOMAIN_OF[sub_domain]


CAUSE_SUB_DOMAINS = tuple(
    s for s in SubDomain if s not in {SubDomain.NONE, SubDomain.AMBIGUOUS, SubDomain.INSUFFICIENT_EVIDENCE}
)
"""The sub_domains that name a place, so those that a cause may have."""


class Action(StrEnum):
    """What to do next."""

    NONE = "none"
    RESTART = "restart"
    RESTART_ELSEWHERE = "restart_elsewhere"
    RETRY_LATER = "retry_later"
    FIX_USER_CODE = "fix_user_code"
    FIX_USER_CONFIG = "fix_user_config"
    FIX_DATA = "fix_data"
    RAISE_LIMIT = "raise_limit"
    RESET_GPU = "reset_gpu"
    DRAIN_NODE = "drain_node"
    REBOOT_NODE = "reboot_node"
    RESTART_FABRIC_MANAGER = "restart_fabric_manager"
    UPDATE_DRIVER = "update_driver"
    INSPECT_LINK = "inspect_link"
    INSPECT_CABLE = "inspect_cable"
    INSPECT_HARDWARE = "inspect_hardware"
    REPLACE_PART = "replace_part"
    RUN_DIAGNOSTICS = "run_diagnostics"
    CONTACT_VENDOR = "contact_vendor"
    COLLECT_MORE = "collect_more"


GATED_ACTIONS = frozenset(
    {
        Action.RESTART_ELSEWHERE,
        Action.RESET_GPU,
        Action.DRAIN_NODE,
        Action.REBOOT_NODE,
        Action.RESTART_FABRIC_MANAGER,
        Action.UPDATE_DRIVER,
        Action.INSPECT_LINK,
        Action.INSPECT_CABLE,
        Action.INSPECT_HARDWARE,
        Action.REPLACE_PART,
    }
)
"""Actions never proposed on sympathetic or ambiguous evidence."""


class Status(StrEnum):
    """What came of asking one source for evidence."""

    OK = "ok"
    EMPTY = "empty"
    PARTIAL = "partial"
    ERROR = "error"
    SKIPPED = "skipped"


class Confidence(StrEnum):
    """How a cause stands among the others."""

    SINGLE = "single"
    ONE_OF_SEVERAL = "one_of_several"
    COMPOUND = "compound"


class Role(StrEnum):
    """Whether a symptom may be a root."""

    CAUSE = "cause"
    EFFECT = "effect"
    CONTEXT = "context"


class SymptomStatus(StrEnum):
    """Whether a symptom still stands or was set aside."""

    ACTIVE = "active"
    DEMOTED = "demoted"


class DeviceKind(StrEnum):
    """The kind of thing a finding is about."""

    GPU = "gpu"
    NVLINK = "nvlink"
    NVSWITCH = "nvswitch"
    NIC = "nic"
    SWITCH_PORT = "switch_port"
    DISK = "disk"
    CPU = "cpu"
    DIMM = "dimm"
    FILESYSTEM = "filesystem"


class Source(StrEnum):
    """Where evidence comes from, in the words of a cluster and not of a connector."""

    APPLOG = "applog"
    SYSLOG = "syslog"
    SCHEDULER = "scheduler"
    NODE_METRICS = "node_metrics"
    NETWORK_METRICS = "network_metrics"
    FABRIC_MANAGER = "fabric_manager"
    BMC = "bmc"
    FLIGHT_RECORDER = "flight_recorder"


METRIC_SOURCES = frozenset({Source.NODE_METRICS, Source.NETWORK_METRICS})
"""Sources whose bodies are time series, not lines."""


class Format(StrEnum):
    """How the body of an observation is written."""

    TEXT = "text"
    RAW_LOKI_STREAMS = "raw_loki_streams"
    JOURNAL_JSON = "journal_json"
    KUBERNETES_JSON = "kubernetes_json"
    PROMETHEUS_METRICS = "prometheus_metrics"
    SACCT_JSON = "sacct_json"
    SACCT_PARSABLE2 = "sacct_parsable2"
    KUBERNETES_OBJECTS = "kubernetes_objects"
    NCCL_FLIGHT_RECORDER = "nccl_flight_recorder"


class Scheduler(StrEnum):
    """What placed the workload."""

    SLURM = "slurm"
    KUEUE = "kueue"
    KUBERNETES = "kubernetes"
    STATIC = "static"
