"""CUDA101: the driver's bare word that memory ran out does not show that the job outgrew its GPU."""

import re
from collections.abc import Iterator

from attribution.contracts.vocabulary import Role
from attribution.events.event import Event
from attribution.events.symptom import SymptomType
from attribution.rules.api import Derive, EventDecision, EventView, FilterStage, event_filter

_BARE = re.compile(r"[Ee]rror: out of memory\b")
_FRAME = re.compile(rb'File "[^"]{1,300}", line \d')

SYMPTOMS = (
    SymptomType(
        name="CUDA_MEMORY_REFUSED",
        role=Role.EFFECT,
        meaning="GPU memory that the driver refused, with no word of who holds it",
        tags=("app_failure", "cuda_error"),
        ends_job="usually",
    ),
)


@event_filter(
    id="CUDA101",
    name="cuda-memory-refused",
    since="0.1.0",
    stage=FilterStage.MAIN,
    needs=("CUDA_OUT_OF_MEMORY",),
    emits=("CUDA_MEMORY_REFUSED",),
)
def cuda_memory_refused(view: EventView) -> Iterator[EventDecision]:
    """Where all that is seen is the driver's result, without sizes and without the code that asked, no cause is named.

    Why: other processes on the GPU, pages lost to errors and a context that could not be made give the same word.
    Misses: jobs that are too large, and whose log was cut down to this line.
    Next step: look at who holds memory on that GPU, and for the report of the framework's allocator with its sizes.
    """
    events = view.of("CUDA_OUT_OF_MEMORY")
    if all(_is_bare(event) for event in events):
        for event in events:
            yield Derive("CUDA_MEMORY_REFUSED", (event,), "the line says neither who holds the memory nor how much")


def _is_bare(event: Event) -> bool:
    told = any(_FRAME.search(line) for line in event.before)
    return not told and event.get("tried") is None and _BARE.search(event.text) is not None


CASES = r"""
- name: the bare result
  given: |
    node-01 +0.0s applog | RuntimeError: CUDA error: out of memory
  expect: |
    derive node-01 +0.0s CUDA_MEMORY_REFUSED
- name: with the code that asked
  because: the traceback shows what the job was about
  given: |
    node-01 +0.0s applog |   File "/opt/env/lib/python3.11/site-packages/torch/cuda/graphs.py", line 84, in __exit__
    node-01 +0.0s applog | RuntimeError: CUDA error: out of memory
  expect: none
- name: another rank tells sizes
  because: the allocator's report shows how much the job held
  given: |
    node-01.rank0 +0.0s applog | RuntimeError: CUDA error: out of memory
    node-01.rank1 +0.0s applog | torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 79.10 GiB of which 1.10 GiB is free.
  expect: none
"""
