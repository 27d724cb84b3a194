"""CUDA, its libraries and NVML, as programs report their errors."""
