"""Rules about NCCL and the process groups of PyTorch."""
