"""A metric rule reads the series that its names and labels choose."""

import re
from pathlib import Path

import pytest

from attribution.contracts.errors import ConfigurationError
from attribution.diagnosis.verify import verify
from attribution.extraction.ruleset import RuleSets
from attribution.rules.loader import load_catalog

RULE = """\
id: TOY900
name: toy-recovery
kind: metric
status: stable
since: 0.1.0
summary: A device asked for a reset.
why: It does not work on.
misses: Nothing.
next_step: Reset it.
printed_by: {program: toy_exporter, versions: any, source: toy.go}
extract:
  from: node_metrics
  metric: toy_recovery_action
  where: {state: [reset, drain], pool: ''}
  when: {equals: 1, for_secs: 30}
  device: {kind: gpu, ids: {index: gpu}}
emit: {symptom: TOY_RECOVERY, keep: [state]}
symptom: {role: effect, meaning: a reset that is due}
cases:
  - name: for half a minute
    given: |
      node-01 +0.0s node_metrics | toy_recovery_action{instance="node-01:1",gpu="3",state="reset"} 0
      node-01 +30.0s node_metrics | toy_recovery_action{instance="node-01:1",gpu="3",state="reset"} 1
      node-01 +60.0s node_metrics | toy_recovery_action{instance="node-01:1",gpu="3",state="reset"} 1
      node-01 +90.0s node_metrics | toy_recovery_action{instance="node-01:1",gpu="3",state="reset"} 0
    expect: |
      node-01 +0.0s TOY_RECOVERY gpu:index=3 metric=toy_recovery_action state=reset value=1
  - name: another state
    because: nothing need be done
    given: |
      node-01 +0.0s node_metrics | toy_recovery_action{instance="node-01:1",gpu="3",state="none"} 1
      node-01 +90.0s node_metrics | toy_recovery_action{instance="node-01:1",gpu="3",state="none"} 1
    expect: none
  - name: no state
    because: a series without the label has not one of its values
    given: |
      node-01 +0.0s node_metrics | toy_recovery_action{instance="node-01:1",gpu="3"} 1
      node-01 +90.0s node_metrics | toy_recovery_action{instance="node-01:1",gpu="3"} 1
    expect: none
  - name: a pooled device
    because: an empty value asks for series without the label
    given: |
      node-01 +0.0s node_metrics | toy_recovery_action{instance="node-01:1",gpu="3",state="reset",pool="a"} 1
      node-01 +90.0s node_metrics | toy_recovery_action{instance="node-01:1",gpu="3",state="reset",pool="a"} 1
    expect: none
  - name: not long enough
    because: it was asked for, and taken back
    given: |
      node-01 +0.0s node_metrics | toy_recovery_action{instance="node-01:1",gpu="3",state="reset"} 1
      node-01 +15.0s node_metrics | toy_recovery_action{instance="node-01:1",gpu="3",state="reset"} 2
      node-01 +90.0s node_metrics | toy_recovery_action{instance="node-01:1",gpu="3",state="reset"} 1
    expect: none
"""


def failures(folder: Path, text: str) -> list[str]:
    (folder / "toy.yaml").write_text(text)
    return [str(failure) for failure in verify(RuleSets(load_catalog([folder])))]


def test_labels_and_values_choose_the_series(tmp_path: Path) -> None:
    assert failures(tmp_path, RULE) == []


@pytest.mark.parametrize(
    ("loosened", "case"),
    [
        (RULE.replace("state: [reset, drain], ", ""), "another state"),
        (RULE.replace("[reset, drain]", "[reset, '']"), "no state"),
        (RULE.replace(", pool: ''", ""), "a pooled device"),
        (RULE.replace(", for_secs: 30", ""), "not long enough"),
        (RULE.replace("equals: 1", "above: 0"), "not long enough"),
    ],
)
def test_every_part_of_the_choice_counts(tmp_path: Path, loosened: str, case: str) -> None:
    assert loosened != RULE
    assert any(f"`{case}`" in failure for failure in failures(tmp_path, loosened))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("equals: 1, for", "equals: 1, above: 2, for",
         "needs exactly one of `increase`, `above`, `below`, `equals`, `blank_for_secs`"),
        ("{equals: 1, for_secs: 30}", "{increase: 1, for_secs: 30}",
         "`for_secs` goes with `above`, `below` or `equals`"),
        ("equals: 1", "equals: nan", "finite number"),
        ("equals: 1", "equals: one", "valid number"),
        ("{state: [reset, drain], pool: ''}", "{__name__: x}", "name series under `metric`"),
        ("{state: [reset, drain], pool: ''}", "{'a b': x}", "extract.where.a b"),
        ("{state: [reset, drain], pool: ''}", "{state: []}", "at least 1 item"),
    ],
)  # fmt: skip
def test_a_choice_that_cannot_be_meant_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in RULE
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        failures(tmp_path, RULE.replace(old, new))
