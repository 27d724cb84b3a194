"""The collector of garbage is kept out of requests: a diagnosis of a thousand nodes is half a million objects."""

import gc

_OFTEN, _SELDOM, _HARDLY = 10_000, 20, 1_000
"""New objects that are looked at together, which takes a millisecond or two; rounds until what is left of them is
looked at again; and rounds of those until all is. What no cycle holds is freed at once all the same.
"""


def settle() -> None:
    """What is loaded now stays: the collector never walks over it, and over what comes in small steps."""
    gc.freeze()
    gc.set_threshold(_OFTEN, _SELDOM, _HARDLY)
