"""TORCH106: errors that a program survived, as a good end is then reported, inform only."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import TerminalState
from attribution.rules.api import EventDecision, EventView, FilterStage, SetContext, event_filter

_ERRORS = ("tag:app_failure", "tag:process_end", "tag:collective_echo")


@event_filter(id="TORCH106", name="finished-after-errors", since="0.1.0", stage=FilterStage.MAIN)
def finished_after_errors(view: EventView) -> Iterator[EventDecision]:
    """An error of the job is set aside where the same stream later reports a good end, and no error after it.

    Why: programs catch exceptions and go on without what failed; what they print then ended nothing.
    Misses: streams that several jobs or attempts share.
    Next step: nothing; the error stays listed as context.
    """
    good_ends = [name for name, kind in view.types.items() if kind.terminal_state is TerminalState.COMPLETED]
    for event in view.outlived(view.of(*_ERRORS), *good_ends):
        yield SetContext(event, "survived: the program ended well later")


CASES = """
- name: an optional module is missing
  given: |
    node-01 +0.0s applog | ModuleNotFoundError: No module named 'fused_ops'
    node-01 +900.0s applog | [default] worker group successfully finished. Waiting 300 seconds for other agents to finish.
  expect: |
    context node-01 +0.0s MODULE_NOT_FOUND
- name: an error after the good end of one node
  because: another node failed, and the job with it
  given: |
    node-01 +0.0s applog | ModuleNotFoundError: No module named 'fused_ops'
    node-01 +900.0s applog | [default] worker group successfully finished. Waiting 300 seconds for other agents to finish.
    node-01 +901.0s applog | ModuleNotFoundError: No module named 'other_ops'
  expect: none
"""
