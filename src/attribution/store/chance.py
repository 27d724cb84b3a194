"""How often chance alone would give as many failures, or more, to some unit of a fleet."""

from collections.abc import Callable
from math import exp, lgamma, log, log1p

_NEGLIGIBLE = 1e-17


def at_least(failures: int, tries: int, rate: float) -> float:
    """The chance of so many failures or more in so many tries, each of which fails at a rate: the binomial tail."""
    if failures <= 0:
        return 1.0
    if failures > tries or rate <= 0.0:
        return 0.0
    if rate >= 1.0:
        return 1.0
    return _tail(failures, tries, lambda n: _binomial(n, tries, rate), tries * rate)


def at_least_of_many(failures: int, expected: float) -> float:
    """The same where tries are not known but how many failures are expected: the tail of Poisson."""
    if failures <= 0:
        return 1.0
    if expected <= 0.0:
        return 0.0
    return _tail(failures, failures + 10_000, lambda n: exp(n * log(expected) - expected - lgamma(n + 1)), expected)


def somewhere(chance: float, units: int) -> float:
    """The chance that it happens to at least one of so many units that are looked at: at most their sum."""
    return min(1.0, chance * max(1, units))


def _tail(first: int, last: int, term: Callable[[int], float], mean: float) -> float:
    """The sum of the terms from `first` on; they fall once they are beyond the mean."""
    total = 0.0
    for n in range(first, last + 1):
        value = term(n)
        total += value
        if n > mean and value < total * _NEGLIGIBLE:
            break
    return min(1.0, total)


def _binomial(n: int, tries: int, rate: float) -> float:
    ways = lgamma(tries + 1) - lgamma(n + 1) - lgamma(tries - n + 1)
    return exp(ways + n * log(rate) + (tries - n) * log1p(-rate))
