"""CUDA010: CUDA sees no GPU, which the launch line and the node explain equally well."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import Action, Role, Source, SubDomain
from attribution.events.symptom import SymptomType
from attribution.rules.api import Finding, Match, PrintedBy, extractor

SYMPTOMS = (
    SymptomType(
        name="CUDA_GPUS_HIDDEN",
        role=Role.CAUSE,
        meaning="GPUs that were hidden from the program or not asked for",
        sub_domain=SubDomain.USER_CONFIG,
        actions=(Action.FIX_USER_CONFIG,),
        tags=("app_failure", "cuda_error"),
    ),
    SymptomType(
        name="CUDA_GPUS_MISSING",
        role=Role.CAUSE,
        meaning="GPUs that the node's driver does not offer",
        sub_domain=SubDomain.GPU_DRIVER,
        actions=(Action.RUN_DIAGNOSTICS, Action.RESTART_ELSEWHERE),
        tags=("app_failure", "cuda_error"),
    ),
)


@extractor(
    id="CUDA010",
    name="cuda-no-device",
    since="0.1.0",
    literals=("no CUDA-capable device is detected", "No CUDA GPUs are available", "cudaErrorNoDevice"),
    pattern=(
        r"(?:[Ee]rror|RROR|ailure|ailed)[^\n]{0,80}no CUDA-capable device is detected",
        r"Error: ?No CUDA GPUs are available",
        r"\bcudaErrorNoDevice\b",
    ),
    emits=("CUDA_GPUS_HIDDEN", "CUDA_GPUS_MISSING"),
    printed_by=PrintedBy("CUDA, PyTorch", ">=9", "cudaGetErrorString(100); torch/cuda/__init__.py _lazy_init"),
    sources=(Source.APPLOG, Source.SCHEDULER),
)
def cuda_no_device(match: Match) -> Iterator[Finding]:
    """A program that needs a GPU was offered none.

    Why: an empty CUDA_VISIBLE_DEVICES, a job without GPUs and a node without a working driver all look like this.
    Misses: programs that quietly go on without a GPU.
    Next step: compare CUDA_VISIBLE_DEVICES and the GPUs of the allocation with what nvidia-smi lists on the node.
    """
    if "cuInit" in match.text:
        return  # TensorFlow says so on every node without GPUs and goes on
    yield Finding("CUDA_GPUS_HIDDEN")
    yield Finding("CUDA_GPUS_MISSING")


CASES = """
- name: PyTorch
  given: |
    node-01.rank3 +0.0s applog | RuntimeError: No CUDA GPUs are available
  expect: |
    node-01.rank3 +0.0s CUDA_GPUS_HIDDEN
    node-01.rank3 +0.0s CUDA_GPUS_MISSING
- name: the runtime
  given: |
    node-01 +0.0s applog | RuntimeError: CUDA error: no CUDA-capable device is detected
  expect: |
    node-01 +0.0s CUDA_GPUS_HIDDEN
    node-01 +0.0s CUDA_GPUS_MISSING
- name: TensorFlow without GPUs
  because: it goes on with the CPU
  given: |
    node-01 +0.0s applog | failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected
  expect: none
- name: another form
  given: |
    node-01 +0.0s applog | E0101 init.cc:41] device count returned cudaErrorNoDevice
  expect: |
    node-01 +0.0s CUDA_GPUS_HIDDEN
    node-01 +0.0s CUDA_GPUS_MISSING
"""
