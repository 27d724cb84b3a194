"""A connector of another package: the lines of an attempt, from a service that keeps them by host."""
