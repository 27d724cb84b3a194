"""A small catalog with one rule of every kind, and bundles to try it on."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from attribution.cli import catalog, demo, rules, rules_check, rules_lock
from attribution.extraction.ruleset import RuleSets
from attribution.rules.loader import load_catalog

_HEAD = """\
id: {id}
name: {name}
kind: {kind}
status: {status}
since: 0.1.0
summary: {summary}
why: Because of {name}.
misses: What prints nothing.
next_step: Look at {name}.
"""
_PRINTED = "printed_by: {program: toyd, versions: '>=2', source: toy.c}\n"


def _head(id: str, name: str, kind: str, summary: str, status: str = "stable") -> str:
    return _HEAD.format(id=id, name=name, kind=kind, summary=summary, status=status)


LOST = (
    _head("TOY001", "toy-device-lost", "extractor", "A toy device was lost.")
    + _PRINTED
    + """\
extract:
  from: syslog
  literals: ['toy device ']
  pattern: '^toy device (?P<pci>[0-9a-f:]+) is (?:lost|gone) \\(code (?P<code>\\d+)\\)'
emit: {symptom: TOY_LOST, keep: [code], device: {kind: gpu, ids: {pci: pci}}}
symptom:
  role: cause
  meaning: a lost toy device
  sub_domain: gpu_hardware
  actions: [reset_gpu, drain_node]
  tags: [toy_fault]
  ends_job: 'yes'
  node_scoped: true
  device: gpu
cases:
  - name: lost
    given: |
      node-01 +0.0s syslog | toy device 0000:1b:00 is lost (code 7)
    expect: |
      node-01 +0.0s TOY_LOST gpu:pci=0000:1b:00 code=7
  - name: found
    because: it is there
    given: |
      node-01 +0.0s syslog | toy device 0000:1b:00 is back
    expect: none
"""
)
STALLED = (
    _head("TOY002", "toy-rank-stalled", "extractor", "A rank waits for its peers.", "preview")
    + _PRINTED
    + """\
extract:
  from: applog
  literals: ['toy: rank stalled']
  pattern: 'toy: rank stalled(?: on (?P<pci>[0-9a-f:]+))?'
  follow: {lines: 1, pattern: '^peers: (?P<peers>\\d+)'}
emit: {symptom: TOY_STALLED, keep: [peers], device: {kind: gpu, ids: {pci: pci}}}
symptom: {role: effect, meaning: a stalled rank, tags: [toy_echo]}
cases:
  - name: stalled
    given: |
      node-01 +0.0s applog | toy: rank stalled
      node-01 +0.1s applog | peers: 3
    expect: |
      node-01 +0.0s TOY_STALLED peers=3
  - name: nobody else
    because: it waits for no one
    given: |
      node-01 +0.0s applog | toy: rank stalled
      node-01 +0.1s applog | alone
    expect: none
"""
)
HOT = (
    _head("TOY003", "toy-device-hot", "metric", "A toy device was hot.")
    + _PRINTED
    + """\
extract:
  from: node_metrics
  metric: [toy_temperature, toy_temp]
  where: {sensor: [core, memory]}
  when: {above: 90, for_secs: 60}
  device: {kind: gpu, ids: {index: gpu}}
emit: {symptom: TOY_HOT, keep: [sensor]}
symptom: {role: effect, meaning: a hot toy device}
cases:
  - name: hot
    given: |
      node-01 +0.0s node_metrics | toy_temp{instance="node-01:1",gpu="3",sensor="core"} 91
      node-01 +60.0s node_metrics | toy_temp{instance="node-01:1",gpu="3",sensor="core"} 92
    expect: |
      node-01 +0.0s TOY_HOT gpu:index=3 sensor=core value=92
  - name: warm
    because: it is not above
    given: |
      node-01 +0.0s node_metrics | toy_temp{instance="node-01:1",gpu="3",sensor="core"} 90
    expect: none
"""
)
RELATION = (
    _head("TOY004", "toy-loss-explains-stall", "relation", "A lost device explains stalled ranks.")
    + """\
relation:
  causes: ['tag:toy_fault']
  effects: [TOY_STALLED]
  scope: same_node
  order: earlier
  within_secs: 60
  reason: it waits for {cause}
cases:
  - name: lost, then stalled
    given: |
      node-01 +0.0s TOY_LOST gpu:pci=0000:1b:00
      node-01 +9.0s TOY_STALLED
    expect: |
      demote node-01 TOY_STALLED by node-01 TOY_LOST
  - name: stalled, then lost
    because: what came later explains nothing
    given: |
      node-01 +0.0s TOY_STALLED
      node-01 +9.0s TOY_LOST gpu:pci=0000:1b:00
    expect: none
"""
)
TAGS = """\
tags: {toy_fault: what can stop a rank, toy_echo: what a rank says when another stopped}
symptoms:
  TOY_UNSEEN: {role: context, meaning: something that no rule finds}
"""
REFINER = '''\
"""TOY005: a lost device is kept where ranks stalled."""

from collections.abc import Iterator

from attribution.rules.api import Decision, JobView, Keep, RefineStage, refiner


@refiner(id="TOY005", name="toy-keep-lost", since="0.1.0", stage=RefineStage.FINAL, needs=("TOY_LOST", "tag:toy_echo"))
def keep_lost(job: JobView) -> Iterator[Decision]:
    """A lost device that a rank of its node waits for is kept.

    Why: It is what the ranks wait for.
    Misses: Ranks that say nothing.
    Next step: Look at the device.
    """
    stalled = {symptom.node for symptom in job.all("tag:toy_echo")}
    for symptom in job.all("TOY_LOST"):
        if symptom.node in stalled:
            yield Keep(symptom, "a rank waits for it")


CASES = """
- name: both
  given: |
    node-01 +0.0s TOY_LOST gpu:pci=0000:1b:00
    node-01 +9.0s TOY_STALLED
  expect: |
    keep node-01 TOY_LOST
- name: another node
  because: nobody of its node waits
  given: |
    node-01 +0.0s TOY_LOST gpu:pci=0000:1b:00
    node-02 +9.0s TOY_STALLED
  expect: none
"""
'''
FILES = {
    "lost.yaml": LOST,
    "stalled.yaml": STALLED,
    "hot.yaml": HOT,
    "relation.yaml": RELATION,
    "symptoms.yaml": TAGS,
    "keep_lost.py": REFINER,
}


def write_rules(folder: Path, files: Mapping[str, str] = FILES) -> Path:
    """A folder of toy rules."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def toy_rules(folder: Path, files: Mapping[str, str] = FILES) -> RuleSets:
    """The toy catalog, without the shipped rules."""
    return RuleSets(load_catalog([write_rules(folder, files)], version="0.1.0"))


def shipped_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a small catalog that needs nothing, partly in a folder `nccl`, in the place of the shipped one."""
    assert demo and rules  # imported later, their modules would keep this folder for good
    tags = TAGS.partition("symptoms:")[0]
    write_rules(folder, {"nccl/stalled.yaml": STALLED, "lost.yaml": LOST, "symptoms.yaml": tags + "symptoms: {}\n"})
    for module in (catalog, rules_check, rules_lock):
        monkeypatch.setattr(module, "SHIPPED", folder)


def write_bundle(folder: Path, **files: str) -> Path:
    """A bundle; a key is a path with `__` for `/`, `_` for `-`: `syslog__node_01` is `syslog/node-01.log`."""
    context = files.pop("context", "")
    for key, text in files.items():
        source, _, name = key.partition("__")
        path = folder / source / (name.replace("_", "-") + ".log")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if context:
        (folder / "context.yaml").write_text(context)
    return folder
