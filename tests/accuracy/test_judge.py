"""Each figure counts what its meaning says, and is not judged where the label says nothing."""

import pytest

from attribution.accuracy.figures import Figure, Share, total
from attribution.accuracy.judge import crashed, judged
from attribution.accuracy.truth import ABSTENTIONS, Kind, Shown
from attribution.contracts.vocabulary import SubDomain, TerminalState

from tests.accuracy.builders import diagnosis, truth

HIT, MISS = Share(1, 1), Share(0, 1)


def test_an_answer_is_accepted_or_harmful_by_the_label() -> None:
    label = truth(never=frozenset({SubDomain.USER_CODE}))
    right, wrong = judged(label, diagnosis()).scores, judged(label, diagnosis(SubDomain.USER_CODE)).scores
    assert (right[Figure.ACCEPTED], right[Figure.SHOWN], right[Figure.HARMFUL]) == (HIT, HIT, MISS)
    assert (wrong[Figure.ACCEPTED], wrong[Figure.SHOWN], wrong[Figure.HARMFUL]) == (MISS, MISS, HIT)


def test_what_is_not_shown_counts_as_shown_nowhere() -> None:
    scores = judged(truth(shown=Shown.PARTIAL), diagnosis()).scores
    assert Figure.SHOWN not in scores and scores[Figure.FORCED] == MISS


@pytest.mark.parametrize(
    ("answer", "forced", "abstained"),
    [
        (SubDomain.GPU_HARDWARE, HIT, MISS),
        (SubDomain.INSUFFICIENT_EVIDENCE, MISS, HIT),
        (SubDomain.AMBIGUOUS, MISS, HIT),
        (SubDomain.NONE, MISS, MISS),
    ],
)
def test_a_cause_is_forced_where_none_is_shown(answer: SubDomain, forced: Share, abstained: Share) -> None:
    label = truth(SubDomain.INSUFFICIENT_EVIDENCE, shown=Shown.NO, kind=Kind.WITHHELD)
    scores = judged(label, diagnosis(answer)).scores
    assert (scores[Figure.FORCED], scores[Figure.ABSTAINED]) == (forced, abstained)
    assert scores[Figure.WITHHELD_ABSTAINED] == (HIT if answer in ABSTENTIONS else MISS)


@pytest.mark.parametrize(
    ("answer", "false"),
    [
        (SubDomain.SCHEDULER, MISS),
        (SubDomain.INSUFFICIENT_EVIDENCE, MISS),
        (SubDomain.GPU_HARDWARE, HIT),
        (SubDomain.AMBIGUOUS, HIT),
    ],
)
def test_blame_on_a_negative_is_false(answer: SubDomain, false: Share) -> None:
    label = truth(SubDomain.SCHEDULER, kind=Kind.NEGATIVE)
    assert judged(label, diagnosis(answer)).scores[Figure.FALSE_ATTRIBUTION] == false


def test_only_negatives_and_withheld_ones_are_judged_as_such() -> None:
    scores = judged(truth(), diagnosis()).scores
    assert Figure.FALSE_ATTRIBUTION not in scores and Figure.WITHHELD_ABSTAINED not in scores


def test_the_decisive_line_is_cited_by_the_first_cause() -> None:
    label = truth(root_texts=("nothing of the sort", "has fallen off the bus"))
    assert judged(label, diagnosis()).scores[Figure.ROOT_LINE] == HIT
    assert judged(label, diagnosis(text="another line")).scores[Figure.ROOT_LINE] == MISS
    assert judged(label, diagnosis(named=False)).scores[Figure.ROOT_LINE] == MISS


def test_a_decisive_line_with_quotes_is_found() -> None:
    label = truth(root_texts=('file "train.py", line 3',))
    assert judged(label, diagnosis(text='  File "train.py", line 3, in step')).scores[Figure.ROOT_LINE] == HIT


def test_an_accepted_abstention_need_cite_nothing() -> None:
    accept = frozenset({SubDomain.GPU_HARDWARE, SubDomain.INSUFFICIENT_EVIDENCE})
    label = truth(root_texts=("x",), accept=accept, nodes=frozenset({"node-02"}), rank=3)
    answer = diagnosis(SubDomain.INSUFFICIENT_EVIDENCE, named=False)
    assert not {Figure.ROOT_LINE, Figure.NODE, Figure.RANK} & set(judged(label, answer).scores)
    assert judged(label, diagnosis(SubDomain.AMBIGUOUS, named=False)).scores[Figure.NODE] == MISS


def test_node_rank_end_and_first_node() -> None:
    label = truth(
        nodes=frozenset({"node-02", "node-05"}),
        rank=3,
        terminal_states=frozenset({TerminalState.FAILED}),
        first_node="node-07",
    )
    right = judged(label, diagnosis(rank=3, first_node="node-07")).scores
    wrong = judged(label, diagnosis(node="node-01", state=TerminalState.COMPLETED)).scores
    for figure in (Figure.NODE, Figure.RANK, Figure.TERMINAL_STATE, Figure.FIRST_NODE):
        assert (right[figure], wrong[figure]) == (HIT, MISS)


@pytest.mark.parametrize(
    ("wanted", "named", "hit"),
    [
        ({"pci": "00000000:1B:00.0"}, {"pci": "0000:1b:00"}, True),
        ({"pci": "0000:1b:00", "link": "8"}, {"pci": "0000:1b:00", "link": "08"}, True),
        ({"pci": "0000:1b:00", "link": "8"}, {"pci": "0000:1b:00", "link": "9"}, False),
        ({"gpu": "3"}, {"index": "3"}, True),
        ({"nic": "mlx5_0"}, {"name": "mlx5_1"}, False),
        ({"": "Link 62"}, {"pci": "0000:4c:00", "link": "62"}, True),
        ({"pci": "0000:1b:00"}, {"uuid": "GPU-1"}, False),
        ({"pci": "0000:1b:00"}, None, False),
    ],
)
def test_a_device_is_the_same_by_one_identifier_and_against_none(
    wanted: dict[str, str], named: dict[str, str] | None, hit: bool
) -> None:
    label = truth(device=tuple(wanted.items()))
    assert judged(label, diagnosis(device=named)).scores[Figure.DEVICE] == (HIT if hit else MISS)


def test_wrong_exclusions_are_counted_by_node() -> None:
    label = truth(exclude=frozenset({"node-02"}))
    answer = diagnosis(exclude=("node-01", "node-02", "node-03"))
    assert judged(label, answer).scores[Figure.WRONG_NODES_EXCLUDED] == Share(2, 1)


def test_where_no_node_is_known_only_an_abstention_must_exclude_none() -> None:
    label = truth(exclude=None)
    for sub_domain, wrong in ((SubDomain.GPU_HARDWARE, 0), (SubDomain.INSUFFICIENT_EVIDENCE, 1)):
        answer = diagnosis(sub_domain, exclude=("node-02",))
        assert judged(label, answer).scores[Figure.WRONG_NODES_EXCLUDED] == Share(wrong, 1)


def test_a_crash_is_a_miss_and_named() -> None:
    verdict = crashed(truth(), "out of time")
    assert verdict.misses(Figure.ACCEPTED, Figure.CRASHED, Figure.NODE) == (Figure.ACCEPTED, Figure.CRASHED)
    assert verdict.scores[Figure.SHOWN] == MISS and verdict.error == "out of time"


def test_figures_add_up_and_a_share_of_nothing_is_unknown() -> None:
    figures = total([{Figure.NODE: HIT}, {Figure.NODE: MISS}, {}])
    assert figures[Figure.NODE] == Share(1, 2) and figures[Figure.NODE].value() == 0.5
    assert figures[Figure.DEVICE].value() is None
