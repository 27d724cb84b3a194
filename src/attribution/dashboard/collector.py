"""The collector of garbage is kept out of requests: a diagnosis of a thousand nodes is half a million objects."""

import gc

_NEW_OBJECTS = 200_000
"""So many more objects than before are made until the collector looks at them: about what a large page takes.

What no cycle holds is freed at once all the same.
"""


def settle() -> None:
    """What is loaded now stays: the collector never walks over it, and over what comes it walks seldom."""
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, 10, 10)
