"""Rules about container runtimes: images, entrypoints, hooks, and the Slurm container plug-in."""
