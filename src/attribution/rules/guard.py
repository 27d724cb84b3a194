"""A rule is somebody's code: whatever it raises, and an answer that is none, becomes one failure that is told."""

from collections.abc import Iterable, Mapping
from typing import Any

from attribution.contracts.vocabulary import SubDomain
from attribution.events.event import Device, Event
from attribution.events.symptom import Symptom
from attribution.rules.api import Absorb, Annotate, Attribute, Demote, Derive, Finding, Keep, Note, SetContext
from attribution.rules.model import Extractor, Filter, Refiner

_Fields = Mapping[str, tuple[type, ...]]
_NONE = type(None)
_ABOUT_AN_EVENT: _Fields = {"event": (Event,), "reason": (str,)}
_ABOUT_A_SYMPTOM: _Fields = {"symptom": (Symptom,), "reason": (str,)}
_FOUND: _Fields = {"symptom": (str,), "fields": (Mapping,), "device": (Device, _NONE), "discriminator": (str,)}
_PLACE: _Fields = {"node": (str, _NONE), "rank": (int, _NONE)}

_ANSWERS: Mapping[type, Mapping[type, _Fields]] = {
    Extractor: {Finding: {**_FOUND, **_PLACE}},
    Filter: {
        Absorb: {**_ABOUT_AN_EVENT, "into": (Event,)},
        SetContext: _ABOUT_AN_EVENT,
        Derive: {**_FOUND, "parts": (tuple,), "reason": (str,)},
        Annotate: {**_ABOUT_AN_EVENT, **_PLACE, "fields": (Mapping,), "device": (Device, _NONE)},
    },
    Refiner: {
        Demote: {**_ABOUT_A_SYMPTOM, "by": (Symptom, _NONE)},
        Keep: _ABOUT_A_SYMPTOM,
        Attribute: {**_ABOUT_A_SYMPTOM, "node": (str, _NONE), "sub_domain": (SubDomain, _NONE)},
        Note: {"symptom": (Symptom, _NONE), "text": (str,)},
    },
}
"""What a rule of each kind may answer, and the types of its parts."""


class RuleFailure(Exception):
    """A rule raised, or answered what it may not. Its text is one sentence without the rule's id."""


def answers(rule: Extractor | Filter | Refiner, given: Any) -> tuple[Any, ...]:
    """What a rule answers to what it is handed, each checked. Raises RuleFailure; Ctrl-C passes through."""
    run = rule.find if isinstance(rule, Extractor) else rule.run
    try:
        found: tuple[Any, ...] = tuple(run(given))
        for answer in found:
            wrong = _wrong(rule, answer)
            if wrong:
                raise RuleFailure(wrong)
    except (KeyboardInterrupt, RuleFailure):
        raise
    except BaseException as error:  # SystemExit and its like too: one rule must not end the program
        raise RuleFailure(f"{type(error).__name__}: {error}") from error
    return found


def _wrong(rule: Extractor | Filter | Refiner, answer: Any) -> str:
    forms = _ANSWERS[type(rule)]
    form = forms.get(type(answer))
    if form is None:
        return f"answered a {type(answer).__name__} instead of {' or '.join(known.__name__ for known in forms)}"
    for name, types in form.items():
        if not isinstance(getattr(answer, name), types):
            return f"answered a {type(answer).__name__} whose `{name}` is a {type(getattr(answer, name)).__name__}"
    if not _are_texts(getattr(answer, "fields", {})):
        return f"answered a {type(answer).__name__} whose `fields` are not all text"
    if isinstance(answer, Derive) and not (answer.parts and all(isinstance(part, Event) for part in answer.parts)):
        return "answered a Derive whose `parts` are not events"
    if isinstance(answer, Finding | Derive) and answer.symptom not in _emits(rule):
        return f"found `{answer.symptom}`, which it does not name under `emits`"
    return ""


def _emits(rule: Extractor | Filter | Refiner) -> Iterable[str]:
    return () if isinstance(rule, Refiner) else rule.emits


def _are_texts(fields: Mapping[Any, Any]) -> bool:
    return all(isinstance(name, str) and isinstance(text, str | None) for name, text in fields.items())
