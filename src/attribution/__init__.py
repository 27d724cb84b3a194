"""Attribution explains why a distributed AI workload failed."""

__version__ = "0.1.0"
