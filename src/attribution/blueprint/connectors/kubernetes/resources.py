"""The kinds of objects that are read, and where the API has them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind. `versions` are tried in order; a group that is not installed has none of them."""

    kind: str
    group: str
    versions: tuple[str, ...]
    plural: str
    is_namespaced: bool = True

    def path(self, version: str, namespace: str | None, name: str | None = None, part: str | None = None) -> str:
        """Where the API has the list, or the object of that name, or a part of it such as its log."""
        root = f"/apis/{self.group}/{version}" if self.group else f"/api/{version}"
        scope = f"/namespaces/{namespace}" if namespace and self.is_namespaced else ""
        return "/".join(filter(None, (f"{root}{scope}/{self.plural}", name, part)))

    @property
    def qualified(self) -> str:
        """Its name in `kubectl auth can-i` and in messages: `workloads.kueue.x-k8s.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


POD = Resource("Pod", "", ("v1",), "pods")
EVENT = Resource("Event", "", ("v1",), "events")
NODE = Resource("Node", "", ("v1",), "nodes", is_namespaced=False)
WORKLOAD = Resource("Workload", "kueue.x-k8s.io", ("v1beta2", "v1beta1"), "workloads")
JOB = Resource("Job", "batch", ("v1",), "jobs")
JOB_SET = Resource("JobSet", "jobset.x-k8s.io", ("v1alpha2",), "jobsets")
PYTORCH_JOB = Resource("PyTorchJob", "kubeflow.org", ("v1",), "pytorchjobs")
TRAIN_JOB = Resource("TrainJob", "trainer.kubeflow.org", ("v1alpha1",), "trainjobs")
RAY_JOB = Resource("RayJob", "ray.io", ("v1", "v1alpha1"), "rayjobs")
RAY_CLUSTER = Resource("RayCluster", "ray.io", ("v1", "v1alpha1"), "rayclusters")

JOBS = (JOB, JOB_SET, PYTORCH_JOB, TRAIN_JOB, RAY_JOB)
"""Kinds that stand for a job of a user, where nothing of these kinds owns them."""

BY_KIND = {r.kind: r for r in (POD, EVENT, NODE, WORKLOAD, *JOBS, RAY_CLUSTER)}
