"""How many examples a property is tried with: before each commit a third of those that CI tries."""

import os

ALL = bool(os.environ.get("ALL_EXAMPLES"))
"""`make test` sets it; `make check` does not."""


def examples(count: int) -> int:
    """So many with all, else a third."""
    return count if ALL else max(1, count // 3)
