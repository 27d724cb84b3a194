"""Rules about metrics of GPUs, nodes and networks."""
