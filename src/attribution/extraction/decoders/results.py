"""Names the result codes that libraries and the kernel print as bare numbers.

Sources: `enum ibv_wc_status` of rdma-core libibverbs/verbs.h, CQE syndromes of its mlx5 provider as NCCL prints them;
`cudaError_t` of the CUDA runtime; `ncclResult_t` of nccl.h; signal numbers of Linux on x86-64 and arm64.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """A number with its name and what it means."""

    number: int
    name: str
    meaning: str


def _table(rows: tuple[tuple[int, str, str], ...]) -> dict[int, Code]:
    return {number: Code(number, name, meaning) for number, name, meaning in rows}


IBV_STATUS = _table(
    (
        (0, "IBV_WC_SUCCESS", "done"),
        (1, "IBV_WC_LOC_LEN_ERR", "local buffer of the wrong length"),
        (2, "IBV_WC_LOC_QP_OP_ERR", "local queue pair error"),
        (3, "IBV_WC_LOC_EEC_OP_ERR", "local end-to-end context error"),
        (4, "IBV_WC_LOC_PROT_ERR", "local memory not registered for the access"),
        (5, "IBV_WC_WR_FLUSH_ERR", "request flushed because the queue pair had failed before"),
        (6, "IBV_WC_MW_BIND_ERR", "memory window not bound"),
        (7, "IBV_WC_BAD_RESP_ERR", "unexpected response"),
        (8, "IBV_WC_LOC_ACCESS_ERR", "local access not allowed"),
        (9, "IBV_WC_REM_INV_REQ_ERR", "far end found the request invalid"),
        (10, "IBV_WC_REM_ACCESS_ERR", "far end refused the memory access"),
        (11, "IBV_WC_REM_OP_ERR", "far end could not carry out the operation"),
        (12, "IBV_WC_RETRY_EXC_ERR", "no acknowledgement after all retries"),
        (13, "IBV_WC_RNR_RETRY_EXC_ERR", "far end not ready to receive after all retries"),
        (14, "IBV_WC_LOC_RDD_VIOL_ERR", "local reliable-datagram domain violated"),
        (15, "IBV_WC_REM_INV_RD_REQ_ERR", "far end found the datagram request invalid"),
        (16, "IBV_WC_REM_ABORT_ERR", "far end aborted the operation"),
        (17, "IBV_WC_INV_EECN_ERR", "invalid end-to-end context number"),
        (18, "IBV_WC_INV_EEC_STATE_ERR", "invalid end-to-end context state"),
        (19, "IBV_WC_FATAL_ERR", "fatal error of the adapter"),
        (20, "IBV_WC_RESP_TIMEOUT_ERR", "response timed out"),
        (21, "IBV_WC_GENERAL_ERR", "error of no other kind"),
        (22, "IBV_WC_TM_ERR", "tag matching failed"),
    )
)
"""Work completion status of InfiniBand verbs (NCCL: `status=12`)."""

MLX5_VENDOR_ERROR = _table(
    (
        (0x81, "TRANSPORT_RETRY_EXCEEDED", "no acknowledgement after all retries"),
        (0x88, "REMOTE_ACCESS", "far end refused the memory access"),
        (0xF9, "FLUSHED", "request flushed because the queue pair had failed before"),
    )
)
"""Vendor error of mlx5 adapters beside the status (NCCL: `vendor err 129`). Only those that logs tie to one status."""

CUDA = _table(
    (
        (0, "cudaSuccess", "done"),
        (1, "cudaErrorInvalidValue", "argument out of range"),
        (2, "cudaErrorMemoryAllocation", "GPU memory exhausted"),
        (3, "cudaErrorInitializationError", "driver or runtime did not initialise"),
        (4, "cudaErrorCudartUnloading", "runtime is shutting down"),
        (35, "cudaErrorInsufficientDriver", "driver older than the runtime needs"),
        (46, "cudaErrorDevicesUnavailable", "GPU busy or held exclusively"),
        (98, "cudaErrorInvalidDeviceFunction", "kernel not built for this GPU"),
        (100, "cudaErrorNoDevice", "no GPU found"),
        (101, "cudaErrorInvalidDevice", "GPU number does not exist"),
        (201, "cudaErrorDeviceUninitialized", "no valid context"),
        (209, "cudaErrorNoKernelImageForDevice", "no code for this GPU in the binary"),
        (214, "cudaErrorECCUncorrectable", "uncorrectable memory error of the GPU"),
        (217, "cudaErrorPeerAccessUnsupported", "GPUs cannot reach each other's memory"),
        (220, "cudaErrorNvlinkUncorrectable", "uncorrectable NVLink error"),
        (222, "cudaErrorUnsupportedPtxVersion", "PTX newer than the driver"),
        (226, "cudaErrorContained", "contained error of peer access or hardware"),
        (304, "cudaErrorOperatingSystem", "system call failed"),
        (400, "cudaErrorInvalidResourceHandle", "invalid handle"),
        (600, "cudaErrorNotReady", "not finished yet"),
        (700, "cudaErrorIllegalAddress", "kernel accessed an invalid address"),
        (701, "cudaErrorLaunchOutOfResources", "kernel needs more registers or memory than there are"),
        (702, "cudaErrorLaunchTimeout", "kernel ran too long"),
        (704, "cudaErrorPeerAccessAlreadyEnabled", "peer access was enabled before"),
        (709, "cudaErrorContextIsDestroyed", "context is gone"),
        (710, "cudaErrorAssert", "assertion in a kernel"),
        (714, "cudaErrorHardwareStackError", "damaged or overflown stack of a kernel"),
        (715, "cudaErrorIllegalInstruction", "kernel met an illegal instruction"),
        (716, "cudaErrorMisalignedAddress", "kernel accessed a misaligned address"),
        (717, "cudaErrorInvalidAddressSpace", "kernel used an address of the wrong space"),
        (718, "cudaErrorInvalidPc", "kernel jumped to an invalid place"),
        (719, "cudaErrorLaunchFailure", "kernel failed"),
        (800, "cudaErrorNotPermitted", "not permitted"),
        (801, "cudaErrorNotSupported", "not supported on this system"),
        (802, "cudaErrorSystemNotReady", "fabric manager or driver not ready"),
        (803, "cudaErrorSystemDriverMismatch", "driver and its user library differ"),
        (804, "cudaErrorCompatNotSupportedOnDevice", "forward compatibility not possible on this GPU"),
        (805, "cudaErrorMpsConnectionFailed", "no connection to the MPS server"),
        (999, "cudaErrorUnknown", "unknown error"),
    )
)
"""Results of the CUDA runtime; those of the driver API have the same numbers."""

NCCL = _table(
    (
        (0, "ncclSuccess", "done"),
        (1, "ncclUnhandledCudaError", "a CUDA call failed"),
        (2, "ncclSystemError", "a system or network call failed"),
        (3, "ncclInternalError", "NCCL found itself in a wrong state"),
        (4, "ncclInvalidArgument", "wrong argument"),
        (5, "ncclInvalidUsage", "wrong use of NCCL"),
        (6, "ncclRemoteError", "another rank ended or the network failed"),
        (7, "ncclInProgress", "not finished yet"),
    )
)
"""Results of NCCL."""

SIGNALS = {
    1: "SIGHUP",
    2: "SIGINT",
    3: "SIGQUIT",
    4: "SIGILL",
    5: "SIGTRAP",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    10: "SIGUSR1",
    11: "SIGSEGV",
    12: "SIGUSR2",
    13: "SIGPIPE",
    14: "SIGALRM",
    15: "SIGTERM",
    16: "SIGSTKFLT",
    17: "SIGCHLD",
    18: "SIGCONT",
    19: "SIGSTOP",
    20: "SIGTSTP",
    21: "SIGTTIN",
    22: "SIGTTOU",
    23: "SIGURG",
    24: "SIGXCPU",
    25: "SIGXFSZ",
    26: "SIGVTALRM",
    27: "SIGPROF",
    28: "SIGWINCH",
    29: "SIGIO",
    30: "SIGPWR",
    31: "SIGSYS",
}

_LAST_SIGNAL = 64


@dataclass(frozen=True, slots=True)
class Ending:
    """How a process ended: with an exit code or by a signal, never both. `name` is the signal's, if it has one."""

    exit_code: int | None
    signal: int | None
    name: str | None

    @property
    def failed(self) -> bool:
        return self.signal is not None or bool(self.exit_code)


def ending(code: int, signal: int | None = None) -> Ending:
    """How a process ended, from what a launcher prints.

    `code` is 0 to 255 as a shell gives it (128 + n for signal n) or -n as Python and torchrun give it; `signal` is the
    second half of Slurm's `code:signal`, which counts if it is not 0.
    """
    number = signal or (-code if code < 0 else code - 128)
    if 0 < number <= _LAST_SIGNAL:
        return Ending(None, number, SIGNALS.get(number))
    return Ending(code, None, None)
