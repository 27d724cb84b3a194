"""K8S101: what kept a pod from starting, and no longer does, informs only."""

from collections.abc import Iterator

from attribution.rules.api import EventDecision, EventView, FilterStage, SetContext, event_filter

_OVERCOME = {
    "POD_PLACED": ("K8S_UNSCHEDULABLE", "KUEUE_NO_QUOTA"),
    "CONTAINER_STARTED": (
        "K8S_UNSCHEDULABLE",
        "KUEUE_NO_QUOTA",
        "IMAGE_PULL_FAILED",
        "K8S_MOUNT_FAILED",
        "POD_SANDBOX_FAILED",
    ),
}


@event_filter(id="K8S101", name="k8s-recovered", since="0.1.0", stage=FilterStage.MAIN)
def k8s_recovered(view: EventView) -> Iterator[EventDecision]:
    """An obstacle before the start is set aside where the same stream later shows the start, and no obstacle after it.

    Why: pods wait for nodes, quota, images and volumes every day and then run; such a wait is no reason of a failure.
    Misses: one pod that never started beside others that did, in one stream that names no pods.
    Next step: nothing; the obstacle stays listed as context.
    """
    for start, obstacles in _OVERCOME.items():
        for event in view.outlived(view.of(*obstacles), start):
            yield SetContext(event, "overcome: the start came later")


CASES = """
- name: placed after waiting
  given: |
    node-01 +0.0s scheduler | Warning  FailedScheduling  default-scheduler  0/4 nodes are available: 4 Insufficient nvidia.com/gpu.
    node-01 +60.0s scheduler | Normal  Scheduled  default-scheduler  Successfully assigned team/train-0 to node-02
  expect: |
    context node-01 +0.0s K8S_UNSCHEDULABLE
- name: never placed
  because: no start came later
  given: |
    node-01 +0.0s scheduler | Normal  Scheduled  default-scheduler  Successfully assigned team/train-0 to node-02
    node-01 +60.0s scheduler | Warning  FailedScheduling  default-scheduler  0/4 nodes are available: 4 Insufficient nvidia.com/gpu.
  expect: none
"""
