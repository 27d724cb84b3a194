"""PY070: a Python traceback of which the evidence does not show the end."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import Role, Source
from attribution.events.symptom import SymptomType
from attribution.rules.api import Finding, Match, PrintedBy, extractor

SYMPTOMS = (
    SymptomType(
        name="PYTHON_TRACEBACK_CUT",
        role=Role.EFFECT,
        meaning="a Python traceback of which the end is not shown",
        tags=("process_end",),
        ends_job="usually",
    ),
)


@extractor(
    id="PY070",
    name="traceback-cut",
    since="0.1.0",
    literals=("Traceback (most recent call last)",),
    pattern=r"Traceback \(most recent call last\)",
    emits=("PYTHON_TRACEBACK_CUT",),
    printed_by=PrintedBy("CPython", ">=3.0", "the traceback module: header, frames, exception line"),
    sources=(Source.APPLOG, Source.SCHEDULER, Source.SYSLOG),
    traceback=True,
    generic=True,
)
def traceback_cut(match: Match) -> Iterator[Finding]:
    """A Python program began to print a traceback, and the log ends, or is cut, before the exception.

    Why: it tells that a program failed, and the line that would tell why is the one that is missing.
    Misses: whether the program caught the exception and went on; the lines end here.
    Next step: get the rest of this log: the last line of the traceback names the exception.
    """
    if not match.follow:
        yield Finding("PYTHON_TRACEBACK_CUT")


CASES = r"""
- name: the log ends within the frames
  given: |
    node-01 +0.0s applog | Traceback (most recent call last):
    node-01 +0.0s applog |   File "/data/job/train.py", line 40, in <module>
  expect: |
    node-01 +0.0s PYTHON_TRACEBACK_CUT
- name: behind a progress bar
  given: |
    node-01 +0.0s applog | Tokenizing:  88%|########8 | 383700/433643 [29:55<03:25, 2432.70 examples/s]Traceback (most recent call last):
    node-01 +0.0s applog |   File "/data/job/train.py", line 40, in <module>
  expect: |
    node-01 +0.0s PYTHON_TRACEBACK_CUT
- name: a person pressed Ctrl-C
  because: the traceback is whole
  given: |
    node-01 +0.0s applog | Traceback (most recent call last):
    node-01 +0.0s applog |   File "/data/job/train.py", line 40, in <module>
    node-01 +0.0s applog | KeyboardInterrupt
  expect: none
"""
