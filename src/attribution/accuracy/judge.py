"""A diagnosis beside the truth: which figures it counts for, and which it misses."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from attribution.accuracy.figures import Figure, Scores, Share
from attribution.accuracy.truth import ABSTENTIONS, BLAMELESS, Kind, Shown, Truth
from attribution.contracts.diagnosis import Cause, Diagnosis
from attribution.contracts.vocabulary import SubDomain
from attribution.events.pci import normal_pci

CRASH = "crash"
"""What stands in the place of an answer where there is none."""

_SAME_ID = {"gpu": "index", "nic": "name", "switch": "name"}
"""What a label calls an identifier, and what a diagnosis does."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was answered, and what that counts for. `error` says why there is no answer."""

    truth: Truth
    answer: str
    scores: Scores
    symptom: str = ""
    node: str = ""
    terminal_state: str = ""
    excluded: tuple[str, ...] = ()
    error: str = ""

    def misses(self, *figures: Figure) -> tuple[Figure, ...]:
        """Those of `figures` that were judged and are not as they should be."""
        return tuple(f for f in figures if (share := self.scores.get(f)) and _is_bad(f, share))


_BAD = frozenset({Figure.HARMFUL, Figure.FORCED, Figure.WRONG_NODES_EXCLUDED, Figure.FALSE_ATTRIBUTION, Figure.CRASHED})
"""Figures that should be zero."""


def _is_bad(figure: Figure, share: Share) -> bool:
    return share.count > 0 if figure in _BAD else share.count < share.of


def crashed(truth: Truth, error: str) -> Verdict:
    """The verdict on an attempt that was not diagnosed: a miss, named as such."""
    scores = {Figure.CRASHED: Share(1, 1), Figure.ACCEPTED: Share(0, 1)}
    if truth.shown is Shown.YES:
        scores[Figure.SHOWN] = Share(0, 1)
    return Verdict(truth, CRASH, scores, error=error)


def judged(truth: Truth, diagnosis: Diagnosis) -> Verdict:
    """The verdict on a diagnosis."""
    first = diagnosis.causes[0] if diagnosis.causes else None
    return Verdict(
        truth=truth,
        answer=diagnosis.sub_domain.value,
        scores=dict(_scores(truth, diagnosis, first)),
        symptom=first.symptom if first else "",
        node=(first.node or "") if first else "",
        terminal_state=diagnosis.terminal_state.value,
        excluded=diagnosis.exclude_nodes,
    )


def _scores(truth: Truth, diagnosis: Diagnosis, first: Cause | None) -> Iterable[tuple[Figure, Share]]:
    answer = diagnosis.sub_domain
    accepted = answer in truth.accept
    yield Figure.CRASHED, _one(False)
    yield Figure.ACCEPTED, _one(accepted)
    yield Figure.HARMFUL, _one(answer in truth.never)
    yield Figure.FORCED, _one(truth.shown is Shown.NO and answer not in BLAMELESS)
    yield Figure.ABSTAINED, _one(answer in ABSTENTIONS)
    yield Figure.WRONG_NODES_EXCLUDED, Share(_wrongly_excluded(truth, diagnosis), 1)
    if truth.shown is Shown.YES:
        yield Figure.SHOWN, _one(accepted)
    if truth.kind is Kind.NEGATIVE:
        yield Figure.FALSE_ATTRIBUTION, _one(not accepted and answer is not SubDomain.INSUFFICIENT_EVIDENCE)
    if truth.kind is Kind.WITHHELD:
        yield Figure.WITHHELD_ABSTAINED, _one(accepted or answer in ABSTENTIONS)
    if truth.terminal_states:
        yield Figure.TERMINAL_STATE, _one(diagnosis.terminal_state in truth.terminal_states)
    if truth.first_node is not None:
        seen = diagnosis.first_failure
        yield Figure.FIRST_NODE, _one(seen is not None and seen.node == truth.first_node)
    if answer in BLAMELESS and accepted and first is None:
        return  # it need not name what it does not blame
    if truth.root_texts and not (answer in BLAMELESS and accepted):
        yield Figure.ROOT_LINE, _one(_cites(truth, diagnosis, first))
    if truth.nodes:
        yield Figure.NODE, _one(first is not None and first.node in truth.nodes)
    if truth.device:
        yield Figure.DEVICE, _one(first is not None and _is_device(truth.device, first))
    if truth.rank is not None:
        yield Figure.RANK, _one(first is not None and first.rank == truth.rank)


def _one(hit: bool) -> Share:
    return Share(int(hit), 1)


def _wrongly_excluded(truth: Truth, diagnosis: Diagnosis) -> int:
    excluded = set(diagnosis.exclude_nodes)
    if truth.exclude is None:
        return len(excluded) if diagnosis.sub_domain in BLAMELESS else 0
    return len(excluded - truth.exclude)


def _cites(truth: Truth, diagnosis: Diagnosis, first: Cause | None) -> bool:
    """Whether the first cause, as it is written out, or one of its evidence lines contains a decisive text."""
    if first is None:
        return False
    texts = {item.id: item.text for item in diagnosis.evidence}
    cited = [texts.get(evidence_id, "") for evidence_id in first.evidence_ids]
    written = json.dumps([cited, first.model_dump(mode="json")], ensure_ascii=False).lower()
    return any(json.dumps(text, ensure_ascii=False)[1:-1] in written for text in truth.root_texts)


def _is_device(wanted: tuple[tuple[str, str], ...], cause: Cause) -> bool:
    """Whether one identifier of the label is named, and none contradicted."""
    if cause.device is None:
        return False
    named = {key: _plain(value) for key, value in cause.device.ids.items()}
    same = False
    for key, text in wanted:
        value, key = _plain(text), _SAME_ID.get(key, key)
        if key in named and named[key] != value:
            return False
        same = same or named.get(key) == value or (not key and value in named.values())
    return same


def _plain(text: str) -> str:
    """An identifier in one form: PCI addresses as Xid lines write them, `Link 08` as `8`."""
    address = normal_pci(text)
    if address:
        return address
    last = text.lower().rsplit(maxsplit=1)[-1] if text.strip() else ""
    return str(int(last)) if last.isascii() and last.isdigit() else last
