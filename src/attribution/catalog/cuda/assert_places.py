"""CUDA102: assertions that a GPU kernel prints are of the one rank whose CUDA call then fails of them."""

from collections.abc import Iterator

from attribution.bundle.evidence import StreamKey
from attribution.rules.api import Annotate, EventDecision, EventView, FilterStage, event_filter


@event_filter(
    id="CUDA102",
    name="assert-places",
    since="0.1.0",
    stage=FilterStage.MAIN,
    needs=("CUDA_DEVICE_ASSERT",),
)
def assert_places(view: EventView) -> Iterator[EventDecision]:
    """A failed assertion of a kernel without a writer is given the rank that reports it, if one rank of the log does.

    Why: the driver prints the assertion past the program, so that no prefix says whose it is.
    Misses: logs in which several ranks report one.
    Next step: nothing.
    """
    asserts = view.of("CUDA_DEVICE_ASSERT")
    placed: dict[StreamKey, set[tuple[str | None, int]]] = {}
    for event in asserts:
        if event.rank is not None:
            placed.setdefault(event.key, set()).add((event.node, event.rank))
    for event in asserts:
        places = placed.get(event.key, set())
        if event.rank is None and len(places) == 1:
            ((node, rank),) = places
            if event.node is None or event.node == node:
                yield Annotate(event, "the only rank that reports it", node=node, rank=rank)


CASES = """
- name: of one log
  given: |
    node-02 +0.0s applog | ../aten/src/ATen/native/cuda/Indexing.cu:1146: indexSelectLargeIndex: block: [8,0,0], thread: [96,0,0] Assertion `srcIndex < srcSelectDimSize` failed.
    node-02 +1.0s applog | [rank3]: RuntimeError: CUDA error: device-side assert triggered
  expect: |
    annotate node-02.rank3 +0.0s CUDA_DEVICE_ASSERT
- name: two ranks report one
  because: nothing says whose it is
  given: |
    node-02 +0.0s applog | ../aten/src/ATen/native/cuda/Indexing.cu:1146: indexSelectLargeIndex: block: [8,0,0], thread: [96,0,0] Assertion `srcIndex < srcSelectDimSize` failed.
    node-02 +1.0s applog | [rank3]: RuntimeError: CUDA error: device-side assert triggered
    node-02 +1.0s applog | [rank2]: RuntimeError: CUDA error: device-side assert triggered
  expect: none
"""
