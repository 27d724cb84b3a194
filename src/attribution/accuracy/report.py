"""A measure as JSON and as text: figures, per sub_domain, confusions, misses."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attribution.accuracy.figures import MEANING, Figure, Scores, Share, total
from attribution.accuracy.judge import Verdict
from attribution.contracts.vocabulary import SubDomain
from attribution.presentation.columns import clip, visible

_MISSES = (
    Figure.CRASHED,
    Figure.ACCEPTED,
    Figure.WRONG_NODES_EXCLUDED,
    Figure.NODE,
    Figure.ROOT_LINE,
    Figure.DEVICE,
    Figure.RANK,
    Figure.TERMINAL_STATE,
)
"""What makes an attempt a miss, worst first."""

_ERROR_COLUMNS = 120


@dataclass(frozen=True, slots=True)
class Measure:
    """What was measured: the verdicts, in order of their names."""

    verdicts: tuple[Verdict, ...]

    def figures(self) -> dict[Figure, Share]:
        """All figures over all verdicts."""
        return total(v.scores for v in self.verdicts)

    def by(self, group: Sequence[str]) -> dict[str, list[Verdict]]:
        """The verdicts by the names that stand beside them, those sorted."""
        found: dict[str, list[Verdict]] = {name: [] for name in sorted(set(group))}
        for name, verdict in zip(group, self.verdicts, strict=True):
            found[name].append(verdict)
        return found

    def by_sub_domain(self) -> dict[str, list[Verdict]]:
        """The verdicts by the best answer, in the order of the vocabulary."""
        order = [sub_domain.value for sub_domain in SubDomain]
        found = self.by([v.truth.best.value for v in self.verdicts])
        return dict(sorted(found.items(), key=lambda item: order.index(item[0])))

    def confusions(self) -> list[tuple[str, str, int]]:
        """Best answer, given answer and how often, for answers that are not accepted; most frequent first."""
        missed = [v for v in self.verdicts if v.misses(Figure.ACCEPTED)]
        counts = Counter((v.truth.best.value, v.answer) for v in missed)
        return [(best, got, n) for (best, got), n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]

    def misses(self) -> list[tuple[Verdict, tuple[Figure, ...]]]:
        """The verdicts that miss something, with what."""
        found = [(v, v.misses(*_MISSES)) for v in self.verdicts]
        return [(v, missed) for v, missed in found if missed]


# --- as JSON ----------------------------------------------------------------------------------------------------


def as_json(measure: Measure, *, broken: int, unreadable: int) -> dict[str, Any]:
    """Everything, misses too."""
    return {
        "attempts": len(measure.verdicts),
        "broken": broken,
        "unreadable": unreadable,
        "figures": _shares(measure.figures()),
        "by_sub_domain": {name: _group(found) for name, found in measure.by_sub_domain().items()},
        "by_kind": {
            name: _group(found) for name, found in measure.by([v.truth.kind for v in measure.verdicts]).items()
        },
        "by_shape": {
            name: _group(found) for name, found in measure.by([v.truth.shape for v in measure.verdicts]).items()
        },
        "confusions": [{"best": best, "answer": got, "count": n} for best, got, n in measure.confusions()],
        "misses": [_miss(verdict, missed) for verdict, missed in measure.misses()],
    }


def _group(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    return {"attempts": len(verdicts), **_shares(total(v.scores for v in verdicts))}


def _shares(figures: Scores) -> dict[str, Any]:
    return {
        figure.value: {"count": share.count, "of": share.of, "share": _rounded(share.value())}
        for figure, share in figures.items()
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _miss(verdict: Verdict, missed: Sequence[Figure]) -> dict[str, Any]:
    truth = verdict.truth
    return {
        "name": truth.name,
        "kind": truth.kind.value,
        "shape": truth.shape,
        "missed": [figure.value for figure in missed],
        "best": truth.best.value,
        "accept": sorted(truth.accept),
        "answer": verdict.answer,
        "symptom": verdict.symptom,
        "node": verdict.node,
        "nodes": sorted(truth.nodes),
        "terminal_state": verdict.terminal_state,
        "terminal_state_accept": sorted(truth.terminal_states),
        "exclude_nodes": list(verdict.excluded),
        "error": verdict.error,
    }


# --- as text ----------------------------------------------------------------------------------------------------


def as_text(measure: Measure, *, broken: int, misses: bool) -> Iterator[str]:
    """The tables in lines; each miss in a line of its own if asked for."""
    left_out = f", {broken} left out as broken by their own label" if broken else ""
    yield f"{len(measure.verdicts)} attempts{left_out}"
    yield ""
    for figure, share in measure.figures().items():
        yield f"  {figure.value:21} {_fraction(share):>13}  {_percent(share):>8}   {MEANING[figure]}"
    yield from _table("sub_domain", measure.by_sub_domain())
    yield from _table("kind", measure.by([v.truth.kind.value for v in measure.verdicts]))
    if {v.truth.shape for v in measure.verdicts} != {v.truth.best.value for v in measure.verdicts}:
        yield from _table("shape", measure.by([v.truth.shape for v in measure.verdicts]))
    yield from _confusions(measure.confusions())
    if misses:
        yield ""
        yield "misses"
        yield from (_missed_line(verdict, missed) for verdict, missed in measure.misses())


_COLUMNS = (Figure.ACCEPTED, Figure.NODE, Figure.ROOT_LINE, Figure.TERMINAL_STATE, Figure.ABSTAINED)


def _table(title: str, groups: Mapping[str, Sequence[Verdict]]) -> Iterator[str]:
    yield ""
    yield f"{title:30}" + "".join(f"{figure.value:>16}" for figure in _COLUMNS)
    for name, verdicts in groups.items():
        figures = total(v.scores for v in verdicts)
        yield f"  {clip(visible(name), 28):28}" + "".join(f"{_fraction(figures[figure]):>16}" for figure in _COLUMNS)


def _confusions(rows: Iterable[tuple[str, str, int]]) -> Iterator[str]:
    rows = list(rows)
    yield ""
    yield "confusions" if rows else "confusions: none"
    yield from (f"  {best:22} answered {got:22} {count:4}" for best, got, count in rows)


def _missed_line(verdict: Verdict, missed: Sequence[Figure]) -> str:
    truth = verdict.truth
    told = [f"{truth.best.value} answered {verdict.answer}"]
    if verdict.symptom:
        told.append(f"{verdict.symptom} on {verdict.node or 'no node'}")
    if Figure.NODE in missed:
        told.append("truth on " + ",".join(sorted(truth.nodes)))
    if Figure.TERMINAL_STATE in missed:
        told.append(f"ended {verdict.terminal_state}, truth " + ",".join(sorted(truth.terminal_states)))
    if Figure.WRONG_NODES_EXCLUDED in missed:
        told.append("excludes " + ",".join(verdict.excluded))
    if verdict.error:
        told.append(clip(verdict.error, _ERROR_COLUMNS))
    return visible(f"  {truth.name}  {truth.shape}  [{', '.join(missed)}]  " + "; ".join(told))


def _fraction(share: Share) -> str:
    return f"{share.count}/{share.of}" if share.of else "-"


def _percent(share: Share) -> str:
    value = share.value()
    return "-" if value is None else f"{value:.2%}"
