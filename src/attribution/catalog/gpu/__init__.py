"""Rules about GPUs, their driver and NVLink."""
