"""CUDA006: CUDA reports a contained error, which a peer's memory and the GPU itself explain equally well."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import Action, Role, Source, SubDomain
from attribution.events.symptom import SymptomType
from attribution.rules.api import Finding, Match, PrintedBy, extractor

SYMPTOMS = (
    SymptomType(
        name="CUDA_CONTAINED_PEER",
        role=Role.CAUSE,
        meaning="a peer GPU's memory that could not be reached over NVLink",
        sub_domain=SubDomain.NVLINK_FABRIC,
        actions=(Action.INSPECT_LINK, Action.COLLECT_MORE),
        tags=("app_failure", "cuda_error"),
        ends_job="yes",
    ),
    SymptomType(
        name="CUDA_CONTAINED_HARDWARE",
        role=Role.CAUSE,
        meaning="a contained hardware error of a GPU",
        sub_domain=SubDomain.GPU_HARDWARE,
        actions=(Action.RUN_DIAGNOSTICS, Action.COLLECT_MORE),
        tags=("app_failure", "cuda_error"),
        ends_job="yes",
    ),
)


@extractor(
    id="CUDA006",
    name="cuda-contained",
    since="0.1.0",
    literals=("Invalid access of peer GPU memory over nvlink", "cudaErrorContained", "CUDA_ERROR_CONTAINED"),
    pattern=(
        r"(?:^|[:'\"(=] ?)Invalid access of peer GPU memory over nvlink or a hardware error",
        r"\b(?:cudaErrorContained|CUDA_ERROR_CONTAINED)\b",
    ),
    emits=("CUDA_CONTAINED_PEER", "CUDA_CONTAINED_HARDWARE"),
    printed_by=PrintedBy("CUDA driver and runtime", ">=12.5", "cudaGetErrorString and cuGetErrorName of code 226"),
    sources=(Source.APPLOG, Source.SCHEDULER),
)
def cuda_contained(match: Match) -> Iterator[Finding]:
    """The access of a peer's memory failed, or the GPU contained an error of its own; CUDA has one code for both.

    Why: a peer that died, a link and the GPU's own memory look alike from the process that was hit.
    Misses: which of them it was; only the Xid lines of all nodes of the NVLink domain tell.
    Next step: read the Xid lines of this GPU and of its NVLink peers, the earliest first.
    """
    yield Finding("CUDA_CONTAINED_PEER")
    yield Finding("CUDA_CONTAINED_HARDWARE")


CASES = """
- name: PyTorch
  given: |
    node-01 +0.0s applog | torch.AcceleratorError: CUDA error: Invalid access of peer GPU memory over nvlink or a hardware error
  expect: |
    node-01 +0.0s CUDA_CONTAINED_PEER
    node-01 +0.0s CUDA_CONTAINED_HARDWARE
- name: a manual
  because: nothing says that it happened
  given: |
    node-01 +0.0s applog | retry after an Invalid access of peer GPU memory over nvlink or a hardware error
  expect: none
- name: another form
  given: |
    node-01 +0.0s applog | jaxlib.xla_extension.XlaRuntimeError: INTERNAL: CUDA_ERROR_CONTAINED
  expect: |
    node-01 +0.0s CUDA_CONTAINED_HARDWARE
    node-01 +0.0s CUDA_CONTAINED_PEER
"""
