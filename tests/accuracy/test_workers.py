"""Whatever work does to its process, each piece has an answer or a reason, and the others are done."""

import pytest

from attribution.accuracy.workers import Failed, spread
from attribution.contracts.errors import ConfigurationError

from tests.accuracy import work

pytestmark = pytest.mark.slow


def test_each_piece_of_work_is_answered_or_named() -> None:
    words = ["a", "raise", "die", "b", "unreadable", "die", "c"]
    found = dict(spread(words, work.prepared, workers=2, timeout_secs=600))
    assert sorted(found) == list(range(7))
    assert [found[number] for number in (0, 3, 6)] == ["A", "B", "C"]
    assert found[1] == Failed("ValueError: no such luck")
    assert found[4] == Failed("there: B001 does not exist")
    assert found[2] == found[5] == Failed("the process ended with -9")


def test_what_takes_too_long_is_ended_and_the_rest_goes_on() -> None:
    found = dict(spread(["hang", "a", "b"], work.prepared, workers=1, timeout_secs=2))
    assert found == {0: Failed("out of time"), 1: "A", 2: "B"}


def test_a_set_up_that_fails_is_an_error_of_the_whole() -> None:
    with pytest.raises(ConfigurationError):
        list(spread(["a", "b"], work.refused, workers=2, timeout_secs=600))
