"""Relations that hold between families: which kind of failure explains which echoes."""
