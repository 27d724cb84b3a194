"""The fault-injection lab: real training jobs on a real Slurm, each broken in one known way, and what is said of it."""
