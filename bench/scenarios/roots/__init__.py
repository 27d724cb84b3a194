"""Injected roots, by family; importing this package registers them."""

from bench.scenarios.roots import fabric, gpu, host, measured, network, software, storage, workload

__all__ = ["fabric", "gpu", "host", "measured", "network", "software", "storage", "workload"]
