"""CUDA002: a CUDA or HIP error that no more specific rule reads."""

import re
from collections.abc import Iterator

from attribution.contracts.vocabulary import Source
from attribution.extraction.decoders.results import CUDA
from attribution.rules.api import Finding, Match, PrintedBy, extractor

_NUMBERS = {code.name: str(number) for number, code in CUDA.items()}
_DRIVER_NAME = re.compile(r"^CUDA_ERROR_[A-Z0-9_]+$")

_OWN_RULE = (
    # what codes with a rule of their own say, in lower case
    "out of memory",
    "uncorrectable ecc",
    "uncorrectable nvlink",
    "invalid access of peer gpu memory",
    "system not yet initialized",
    "system has unsupported display driver",
    "cuda driver version is insufficient",
    "the provided ptx was compiled",
    "forward compatibility was attempted",
    "no kernel image is available",
    "device kernel image is invalid",
    "invalid device function",
    "invalid device ordinal",
    "no cuda-capable device",
    "an illegal memory access",
    "misaligned address",
    "device-side assert",
    "cublas_status_",
    "cudnn_status_",
    "cusolver_status_",
)
_OWN_NAMES = frozenset({
    "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY",
    "cudaErrorECCUncorrectable", "CUDA_ERROR_ECC_UNCORRECTABLE",
    "cudaErrorNvlinkUncorrectable", "CUDA_ERROR_NVLINK_UNCORRECTABLE",
    "cudaErrorContained", "CUDA_ERROR_CONTAINED",
    "cudaErrorSystemNotReady", "CUDA_ERROR_SYSTEM_NOT_READY",
    "cudaErrorSystemDriverMismatch", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
    "cudaErrorInsufficientDriver", "cudaErrorUnsupportedPtxVersion", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
    "cudaErrorCompatNotSupportedOnDevice", "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
    "cudaErrorNoKernelImageForDevice", "CUDA_ERROR_NO_BINARY_FOR_GPU", "cudaErrorInvalidDeviceFunction",
    "cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE",
    "cudaErrorNoDevice", "CUDA_ERROR_NO_DEVICE",
    "cudaErrorIllegalAddress", "CUDA_ERROR_ILLEGAL_ADDRESS",
    "cudaErrorMisalignedAddress", "CUDA_ERROR_MISALIGNED_ADDRESS",
    "cudaErrorAssert", "CUDA_ERROR_ASSERT",
    # no errors: asked for in a loop, or said at every exit
    "cudaErrorNotReady", "CUDA_ERROR_NOT_READY", "cudaErrorCudartUnloading", "CUDA_ERROR_DEINITIALIZED",
    "cudaErrorPeerAccessAlreadyEnabled", "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
})  # fmt: skip


@extractor(
    id="CUDA002",
    name="cuda-error",
    since="0.1.0",
    literals=(
        "CUDA error", "CUDA driver error", "HIP error", "CUDART Error", "Cuda error", "cuda runtime error",
        "THCudaCheck FAIL", "cudaError", "CUDA_ERROR_", "CUDA-capable device", "CUDA call failed lazily", "NVML_SUCCESS == ",
    ),
    pattern=(
        r"THCudaCheck FAIL .{0,200}error=(?P<code>\d{1,4}) : (?P<error>.{3,120})",
        r"cuda runtime error \((?P<code>\d{1,4})\) : (?P<error>.{3,120})",
        r"CUDART Error: .{1,200} = (?P<code>\d{1,4}) \((?P<error>[^()]{3,120})\)",
        r"(?:CUDA driver error|CUDA error|Cuda error|HIP error)(?:[ (]{1,2}(?P<code>\d{1,4})\)?)?: (?P<error>[^:].{2,200})",
        r"(?P<error>(?:all )?CUDA-capable devices? ?(?:\(s\) )?(?:is/are|are|is) busy or unavailable)",
        r"DeferredCudaCallError: (?P<error>CUDA call failed lazily at initialization)",
        r"(?P<error>NVML_SUCCESS == \w{1,20}) INTERNAL ASSERT FAILED",
        r"\b(?P<name>cudaError[A-Z][A-Za-z]{3,60}|CUDA_ERROR_[A-Z0-9_]{3,60})\b(?:\)?: (?P<error>.{3,120}))?",
    ),
    emits=("CUDA_ERROR",),
    printed_by=PrintedBy("CUDA, PyTorch, TensorFlow, JAX", ">=9", "cudaGetErrorString; c10/cuda/CUDAException.cpp"),
    sources=(Source.APPLOG, Source.SCHEDULER),
)  # fmt: skip
def cuda_error(match: Match) -> Iterator[Finding]:
    """A CUDA call failed with a result that does not say why.

    Why: it dates the moment at which a GPU's context broke, and it names the rank; the reason is elsewhere.
    Misses: errors that programs print in words of their own.
    Next step: look for an Xid of this node's GPU at that time, and for an earlier line of the same rank.
    """
    error, name = (match["error"] or "").strip(), match["name"]
    lowered = error.lower()
    if name in _OWN_NAMES or error in _OWN_NAMES or any(text in lowered for text in _OWN_RULE):
        return
    if any(own in match.text for own in _OWN_NAMES):
        return
    if name is None and _DRIVER_NAME.match(error):
        name = error
    yield Finding(
        "CUDA_ERROR",
        fields={"error": error or None, "name": name, "code": match["code"] or _NUMBERS.get(name or "")},
        discriminator=(name or lowered)[:60],
    )


CASES = """
- name: PyTorch
  given: |
    node-01.rank3 +0.0s applog | RuntimeError: CUDA error: unspecified launch failure
  expect: |
    node-01.rank3 +0.0s CUDA_ERROR error="unspecified launch failure"
- name: what() of a C++ exception
  given: |
    node-01 +0.0s applog |   what():  CUDA error: unknown error
  expect: |
    node-01 +0.0s CUDA_ERROR error="unknown error"
- name: old PyTorch
  given: |
    node-01 +0.0s applog | THCudaCheck FAIL file=/pytorch/aten/src/THC/THCGeneral.cpp line=50 error=46 : all CUDA-capable devices are busy or unavailable
  expect: |
    node-01 +0.0s CUDA_ERROR code=46
- name: the name of a code
  given: |
    node-01 +0.0s applog | cudaSetDevice(id) error( cudaErrorDevicesUnavailable): CUDA-capable device(s) is/are busy or unavailable solver.cpp:300
  expect: |
    node-01 +0.0s CUDA_ERROR
- name: HPL
  given: |
    node-01 +0.0s applog | HPL ERROR: CUDART Error: cudaMemcpyAsync(a, b, n) = 719 (unspecified launch failure) on node-01 at (fact.cpp:32)
  expect: |
    node-01 +0.0s CUDA_ERROR code=719
- name: a count of GPUs that changed
  given: |
    node-01 +0.0s applog | torch.cuda.DeferredCudaCallError: CUDA call failed lazily at initialization with error: device < num_gpus INTERNAL ASSERT FAILED at "../aten/src/ATen/cuda/CUDAContext.cpp":50
  expect: |
    node-01 +0.0s CUDA_ERROR
- name: an ECC error
  because: its own rule reads it
  given: |
    node-01 +0.0s applog | RuntimeError: CUDA error: uncorrectable ECC error encountered
  expect: none
- name: a query that is not finished
  because: it is an answer, not an error
  given: |
    node-01 +0.0s applog | cudaEventQuery returned cudaErrorNotReady
  expect: none
- name: its other forms
  given: |
    node-01 +0.0s applog | RuntimeError: cuda runtime error (719) : unspecified launch failure at /pytorch/aten/src/THC/THCStorage.cpp:39
    node-01 +1.0s applog | RuntimeError: NVML_SUCCESS == r INTERNAL ASSERT FAILED at "/pytorch/c10/cuda/CUDACachingAllocator.cpp":1123
    node-01 +2.0s applog | E0101 step.cc:41] stream synchronize returned cudaErrorLaunchFailure
  expect: |
    node-01 +0.0s CUDA_ERROR code=719
    node-01 +1.0s CUDA_ERROR error="NVML_SUCCESS == r"
    node-01 +2.0s CUDA_ERROR code=719 name=cudaErrorLaunchFailure
"""
