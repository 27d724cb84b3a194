"""A requirement holds, is broken, or is refused where it is written."""

import pytest

from attribution.accuracy.figures import Figure, Share
from attribution.accuracy.requirement import requirements
from attribution.contracts.errors import ConfigurationError

FIGURES = {Figure.ACCEPTED: Share(19, 20), Figure.HARMFUL: Share(0, 20), Figure.NODE: Share()}


@pytest.mark.parametrize("text", ["accepted>=0.95", "accepted >= 95%", "harmful<=0", "ACCEPTED<=1"])
def test_what_holds_is_no_miss(text: str) -> None:
    (requirement,) = requirements([text], "--require")
    assert requirement.broken_by(FIGURES) is None


def test_a_miss_says_what_it_is() -> None:
    (requirement,) = requirements(["accepted>=0.96"], "--require")
    assert requirement.broken_by(FIGURES) == "accepted >= 0.96 is required, and it is 0.9500 (19 of 20)"


@pytest.mark.parametrize("text", ["node>=0.5", "node<=0.5"])
def test_what_was_not_judged_does_not_hold(text: str) -> None:
    (requirement,) = requirements([text], "--require")
    assert requirement.broken_by(FIGURES) == f"node {text[4:6]} 0.5 is required, and nothing could be judged on it"


def test_what_is_no_requirement_is_refused_all_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        requirements(["acepted>=0.9", "accepted", "accepted==1", "xyzzy>=1"], "--require")
    told = [str(problem) for problem in caught.value.problems]
    assert "--require: A003 cannot require `acepted>=0.9` (did you mean `accepted`?)" in told
    assert sum("write a figure, >= or <=, and a share: accepted>=0.95" in text for text in told) == 2
    assert any("`xyzzy>=1` (one of: accepted, shown," in text for text in told)
