"""How often chance alone would give as many failures, or more, to some unit of a fleet."""

from collections.abc import Callable
from math import exp, lgamma, log, log1p

_NEGLIGIBLE = 1e-17

_LEAST = 1e-290
"""A term that is too small to go on from: it lies so far from the mean that all or nothing lies beyond it."""


def at_least(failures: int, tries: int, rate: float) -> float:
    """The chance of so many failures or more in so many tries, each of which fails at a rate: the binomial tail."""
    if failures <= 0:
        return 1.0
    if failures > tries or rate <= 0.0:
        return 0.0
    if rate >= 1.0:
        return 1.0
    ways = lgamma(tries + 1) - lgamma(failures + 1) - lgamma(tries - failures + 1)
    first = exp(ways + failures * log(rate) + (tries - failures) * log1p(-rate))
    odds = rate / (1.0 - rate)
    return _tail(first, failures, tries, lambda n: odds * (tries - n) / (n + 1), tries * rate)


def at_least_of_many(failures: int, expected: float) -> float:
    """The same where tries are not known but how many failures are expected: the tail of Poisson."""
    if failures <= 0:
        return 1.0
    if expected <= 0.0:
        return 0.0
    first = exp(failures * log(expected) - expected - lgamma(failures + 1))
    return _tail(first, failures, failures + 10_000, lambda n: expected / (n + 1), expected)


def somewhere(chance: float, units: int) -> float:
    """The chance that it happens to at least one of so many units that are looked at: at most their sum."""
    return min(1.0, chance * max(1, units))


def _tail(term: float, first: int, last: int, growth: Callable[[int], float], mean: float) -> float:
    """The sum of the terms from that of `first` on, each `growth` times the one before; beyond the mean they fall."""
    if term < _LEAST:
        return 1.0 if first < mean else term
    total = 0.0
    for n in range(first, last + 1):
        total += term
        if n > mean and term <= total * _NEGLIGIBLE:
            break
        term *= growth(n)
    return min(1.0, total)
