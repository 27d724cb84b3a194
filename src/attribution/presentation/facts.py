"""Facts are the short labelled statements below the evidence, in the order in which a reader asks."""

from dataclasses import dataclass

from attribution.contracts.diagnosis import Cause, Untestable
from attribution.contracts.vocabulary import Action, Role, Source, Status, SubDomain
from attribution.presentation import words
from attribution.presentation.answer import Answer, since
from attribution.presentation.groups import by_source, grouped, losses, rivals, set_aside, standing

SHOWN = 3
"""Groups and gaps that are shown unless all is asked for."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A label and what it says; each text begins a line of its own."""

    label: str
    texts: tuple[str, ...]


def facts(answer: Answer, everything: bool = False) -> list[Fact]:
    """What now, how sure, how it unfolded, what was set aside, what was not seen, and where to read on.

    With `everything`, what has a section of its own is not listed here.
    """
    found = [
        _fact("next", _next(answer)),
        _fact("would decide", _would_decide(answer)),
        _fact("exclude", _exclude(answer)),
        _fact("why", _why(answer)),
        Fact("note", tuple(() if everything else _shortened([words.sentence(n) for n in answer.diagnosis.notes]))),
        _fact("first failure", _first_failure(answer)),
        _fact("impact", _impact(answer)),
        _fact("device", _device(answer) if everything else ""),
        Fact("also seen", tuple(_also_seen(answer))),
        _fact("survived", _survived(answer)),
        Fact("set aside", tuple(() if everything else _set_aside(answer))),
        _fact("inferred", _inferred(answer)),
        _fact("partial", answer.diagnosis.partial or ""),
        _fact("examined", "" if everything else _examined(answer)),
        _fact("not examined", _not_examined(answer)),
        _fact("more", _more(answer)),
    ]
    return [fact for fact in found if fact.texts]


def _fact(label: str, text: str) -> Fact:
    return Fact(label, (text,) if text else ())


# --- what now -----------------------------------------------------------------------------------------------------


def _next(answer: Answer) -> str:
    return "; ".join(steps(answer)) or "nothing is proposed"


def steps(answer: Answer) -> list[str]:
    """What to do next, one step after the other, said to the reader."""
    actions = answer.diagnosis.actions
    phrases = [words.ACTIONS[action] + _meant(answer, action) for action in actions]
    if Action.COLLECT_MORE in actions and answer.diagnosis.would_decide:
        phrases[actions.index(Action.COLLECT_MORE)] = "collect what would decide, then diagnose again"
    return phrases


def _meant(answer: Answer, action: Action) -> str:
    """What is to be examined, where several causes fit and the headline names more places than one."""
    if action is Action.NONE and any(item.role is Role.CAUSE and item.device for item in answer.diagnosis.symptoms):
        return " for the attempt; it survived what may be worth a look"
    if answer.diagnosis.sub_domain is not SubDomain.AMBIGUOUS or action is not Action.RUN_DIAGNOSTICS:
        return ""
    asking = (cause for cause in answer.causes if action in cause.actions)
    places = dict.fromkeys(answer.where_of(cause.node, cause.device, None) for cause in asking)
    named = words.listed([place for place in places if place], 3)
    return f" ({named})" if named else ""


def _would_decide(answer: Answer) -> str:
    return answer.diagnosis.would_decide or ""


def _exclude(answer: Answer) -> str:
    """The nodes to avoid; or why none is, where some were in question."""
    if answer.diagnosis.exclude_nodes:
        return ", ".join(answer.node(name) for name in words.natural(answer.diagnosis.exclude_nodes))
    held_back = (e.reason for e in answer.diagnosis.trace if e.rule == "exclude-nodes" and e.reason)
    reason = next(held_back, "")
    return f"none; {reason}" if reason else ""


# --- how sure, and how it unfolded --------------------------------------------------------------------------------


def _why(answer: Answer) -> str:
    """Why the cause is held to be it; of several the first, which is named."""
    if not answer.causes:
        return ""
    first = answer.causes[0]
    where = answer.where_of(first.node, first.device, None)
    named = words.sentence(words.symptom(first.symptom)) + (f" on {where}" if where else "")
    return f"{named} – {first.why}" if len(answer.causes) > 1 else first.why


def _first_failure(answer: Answer) -> str:
    """Where trouble was first seen, and how long before or after the cause. Empty where it is shown as evidence."""
    first = answer.diagnosis.first_failure
    if first is None or not answer.causes:
        return ""
    where = answer.where_of(first.node, None, first.rank)
    if not is_order_known(answer):
        return f"not known; no order is proven between the {len(answer.causes)} causes"
    if any(first.evidence_id in cause.evidence_ids for cause in answer.causes):
        return (where or "the decisive line") + (", +0.0 s" if len(answer.causes) == 1 else "")
    what = words.symptom(first.symptom) + (f" on {where}" if where else "")
    return f"{what}, {_when(answer)}"


def is_order_known(answer: Answer) -> bool:
    """Whether the first failure is known to be the first: where the cause is in doubt, only if the clocks prove it."""
    diagnosis = answer.diagnosis
    first = diagnosis.first_failure
    if first is None or first.at is not None:
        return True
    if diagnosis.sub_domain is SubDomain.INSUFFICIENT_EVIDENCE:
        return {item.node for item in diagnosis.symptoms if item.role is not Role.CONTEXT} == {first.node}
    return diagnosis.sub_domain is not SubDomain.AMBIGUOUS


def _when(answer: Answer) -> str:
    """The time of the first failure, seen from the one cause where the two clocks can be compared."""
    first = answer.diagnosis.first_failure
    seen = answer.evidence.get(first.evidence_id) if first else None
    if seen is None or seen.at is None:
        return "time not known"
    gap = since(answer.decisive(answer.causes[0]), seen) if len(answer.causes) == 1 else ""
    return gap or words.time(seen.at, seen.at_uncertainty_secs)


def _impact(answer: Answer) -> str:
    if answer.diagnosis.sub_domain is SubDomain.NONE:
        return ""
    impact = answer.diagnosis.impact
    counts = ((impact.nodes, "node"), (impact.ranks, "rank"), (impact.gpus, "GPU"))
    return ", ".join(words.counted(count, noun) for count, noun in counts if count)


def _device(answer: Answer) -> str:
    """The names of the device that its place does not tell, where the cause is one."""
    device = answer.causes[0].device if len(answer.causes) == 1 else None
    if device is None:
        return ""
    own, *parts = words.device(device).split(" · ")
    told = {own.rpartition(" ")[2], *parts}
    more = [f"{name} {value}" for name, value in sorted(device.ids.items()) if not {value, f"{name} {value}"} & told]
    return f"also {', '.join(more)}" if more else ""


# --- what else was found ------------------------------------------------------------------------------------------


def _also_seen(answer: Answer) -> list[str]:
    if answer.diagnosis.sub_domain is SubDomain.NONE:
        return []
    later = [_rival(answer, cause, nodes) for cause, nodes in rivals(answer)]
    left = [words.sentence(group.what) + _on(answer, group.nodes) for group in standing(answer)]
    return _shortened([*later, *left])


def _rival(answer: Answer, cause: Cause, nodes: tuple[str, ...]) -> str:
    gap = since(answer.decisive(answer.causes[0]), answer.decisive(cause)) if len(nodes) == 1 else ""
    return f"{words.sentence(cause.meaning)}{_on(answer, nodes)}" + (f", {gap}" if gap else "")


def _survived(answer: Answer) -> str:
    if answer.diagnosis.sub_domain is not SubDomain.NONE:
        return ""
    groups = [*standing(answer), *set_aside(answer)]
    if not groups:
        return ""
    total = words.counted(sum(group.findings for group in groups), "finding")
    return f"{total} did not end it: " + "; ".join(_shortened([g.what + _on(answer, g.nodes) for g in groups]))


def _set_aside(answer: Answer) -> list[str]:
    late = [text] if (text := out_of_time(answer)) else []
    if answer.diagnosis.sub_domain is SubDomain.NONE:
        return late
    told = [f"{words.sentence(group.what)}{_on(answer, group.nodes)}: {group.reason}" for group in set_aside(answer)]
    return _shortened(told) + late


def out_of_time(answer: Answer) -> str:
    """What filters took out because it is not of this attempt; empty for nothing."""
    count = sum(line.out_of_window for line in answer.diagnosis.coverage)
    return f"{words.counted(count, 'finding')} from before or after the attempt" if count else ""


def _on(answer: Answer, nodes: tuple[str, ...]) -> str:
    return f" on {answer.nodes(nodes)}" if nodes else ""


def _shortened(texts: list[str]) -> list[str]:
    return texts if len(texts) <= SHOWN + 1 else [*texts[:SHOWN], f"and {len(texts) - SHOWN:,} more kinds"]


# --- what was not seen --------------------------------------------------------------------------------------------


def _examined(answer: Answer) -> str:
    """What was looked at; said only where nothing was found in it."""
    if answer.causes or not answer.diagnosis.coverage:
        return ""
    held = [source for source in by_source(answer.diagnosis.coverage) if source.lines]
    return words.listed([f"{words.SOURCES[s.source]} ({words.counted(s.lines, 'line')})" for s in held], 8)


def _not_examined(answer: Answer) -> str:
    found = gaps(answer)
    shown = found if len(found) <= SHOWN + 1 else [*found[:SHOWN], f"and {len(found) - SHOWN:,} more"]
    return "; ".join(shown)


def gaps(answer: Answer) -> list[str]:
    """What was not examined, or only in part, and why: first what stops a cause from being tested."""
    diagnosis = answer.diagnosis
    found = [_gap(answer, kin) for kin in grouped(diagnosis.untestable, lambda gap: (gap.nodes, gap.reason)).values()]
    named = {gap.source for gap in diagnosis.untestable}
    silent = (line for line in diagnosis.coverage if line.source not in named and line.status in _NOT_READ)
    for (source, status, reason), lines in grouped(silent, lambda x: (x.source, x.status, x.reason)).items():
        nodes = answer.nodes([line.node for line in lines if line.node])
        said = words.STATUSES[status] + (f": {reason}" if reason else "")
        found.append(_source(answer, source) + (f" of {nodes}" if nodes else "") + f" ({said})")
    partial = [line for line in diagnosis.coverage if line.truncated or line.gaps or line.status is Status.PARTIAL]
    if partial:
        found.append(f"parts of {words.counted(len(partial), 'stream')}{_lost(losses(partial))}")
    if not found and not diagnosis.coverage:
        return ["anything; no log and no metric was given"]
    return found


_NOT_READ = frozenset({Status.EMPTY, Status.ERROR, Status.SKIPPED})


def _source(answer: Answer, source: Source) -> str:
    """The name of a source; of the scheduler's, what is left of it where its record of the attempt is cited."""
    cited = source is Source.SCHEDULER and any(item.source is source for item in answer.diagnosis.evidence)
    return "scheduler log" if cited else words.SOURCES[source]


def _gap(answer: Answer, alike: list[Untestable]) -> str:
    sources = list(dict.fromkeys(_source(answer, gap.source) for gap in alike if gap.source))
    if not sources:
        return alike[0].reason
    nodes = answer.nodes(alike[0].nodes)
    return words.listed(sources, 4) + (f" of {nodes}" if nodes else "") + f" ({alike[0].reason})"


def _lost(notes: list[str]) -> str:
    told = [note for note in notes if note.endswith(("cut short", "with gaps"))]
    return f" ({', '.join(told)})" if told else ""


def _inferred(answer: Answer) -> str:
    names = answer.diagnosis.inferred
    return f"{words.listed(names, 4)}, read off the evidence" if names else ""


# --- where to read on ---------------------------------------------------------------------------------------------


def _more(answer: Answer) -> str:
    first = answer.diagnosis.first_failure
    name = answer.causes[0].symptom if answer.causes else first.symptom if first else ""
    if not name or answer.diagnosis.sub_domain is SubDomain.NONE:
        return ""
    code = name.removeprefix("XID_")
    return f"attribution explain {'XID' + code if name.startswith('XID_') and code.isdecimal() else name}"
