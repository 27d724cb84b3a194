"""Rules about the NVIDIA driver beside its Xid lines: loading, versions, helpers, and what its tools report."""
