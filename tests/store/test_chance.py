"""The chances are those of counting it out, and small numbers are never alarming."""

from fractions import Fraction
from math import comb, exp, factorial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attribution.store.chance import at_least, at_least_of_many, somewhere


@given(tries=st.integers(1, 60), failures=st.integers(0, 61), hundredths=st.integers(1, 99))
def test_the_binomial_tail_is_that_of_whole_numbers(tries: int, failures: int, hundredths: int) -> None:
    rate = Fraction(hundredths, 100)
    exact = sum(comb(tries, n) * rate**n * (1 - rate) ** (tries - n) for n in range(failures, tries + 1))
    assert at_least(failures, tries, float(rate)) == pytest.approx(float(exact), rel=1e-9, abs=1e-300)


@given(failures=st.integers(1, 30), expected=st.floats(0.01, 20))
def test_the_poisson_tail_is_one_less_the_rest(failures: int, expected: float) -> None:
    rest = sum(exp(-expected) * expected**n / factorial(n) for n in range(failures))
    assert at_least_of_many(failures, expected) == pytest.approx(1 - rest, rel=1e-6, abs=1e-12)


def test_the_ends() -> None:
    assert at_least(0, 0, 0.5) == at_least_of_many(0, 0.0) == at_least(3, 3, 1.0) == 1.0
    assert at_least(1, 0, 0.5) == at_least(1, 5, 0.0) == at_least_of_many(1, 0.0) == 0.0
    assert at_least(400, 100_000, 0.001) < 1e-100
    assert at_least(3, 10**6, 0.5) == at_least_of_many(3, 5_000.0) == 1.0
    assert at_least(900, 1_000, 0.001) < 1e-290 > at_least_of_many(900, 1.0)
    assert at_least(1, 10**6, 1e-12) == pytest.approx(1e-6, rel=1e-3)
    assert somewhere(0.001, 2_000) == 1.0 and somewhere(1e-6, 100) == pytest.approx(1e-4) and somewhere(0.5, 0) == 0.5
