"""Labelled attempts and diagnoses made by hand."""

from pathlib import Path
from typing import Any

import yaml

from attribution.accuracy.truth import Kind, Shown, Truth
from attribution.contracts.diagnosis import CatalogIdentity, Cause, Device, Diagnosis, Evidence, FirstFailure
from attribution.contracts.vocabulary import Confidence, DeviceKind, Source, SubDomain, TerminalState, domain_of

OUT_OF_MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
XID = "2026-05-04T03:06:58Z node-02 kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus."


def case(lines: list[str], best: str, *, source: dict[str, Any] | None = None, **expect: Any) -> dict[str, Any]:
    """The content of a case file."""
    return {
        "id": "case-1",
        "source": {"url": "of no interest"},
        "sources": [{"kind": "applog", "node": "node-01", "lines": lines, **(source or {})}],
        "expect": {"accept": [best], "best": best, "determinable": "yes", "quality": "good", "note": "x", **expect},
    }


def write_case(path: Path, lines: list[str], best: str, *, source: dict[str, Any] | None = None, **expect: Any) -> Path:
    """A case file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(case(lines, best, source=source, **expect), sort_keys=False))
    return path


def write_scenario(folder: Path, files: dict[str, str], **truth: Any) -> Path:
    """A scenario folder with the files of its bundle."""
    for name, text in files.items():
        path = folder / "bundle" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    content = {
        "id": folder.name,
        "kind": "single",
        "shape": "toy",
        "nodes_total": 2,
        "sub_domain": "gpu_hardware",
        "accept": ["gpu_hardware"],
        "terminal_state": "failed",
        "metrics": False,
        **truth,
    }
    (folder / "truth.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    return folder


def truth(best: SubDomain = SubDomain.GPU_HARDWARE, **more: Any) -> Truth:
    """A label that accepts one answer."""
    fields: dict[str, Any] = {
        "name": "attempt",
        "kind": Kind.SINGLE,
        "shape": "toy",
        "best": best,
        "shown": Shown.YES,
        "accept": frozenset({best}),
        "exclude": frozenset(),
        **more,
    }
    return Truth(**fields)


def diagnosis(
    sub_domain: SubDomain = SubDomain.GPU_HARDWARE,
    *,
    node: str | None = "node-02",
    rank: int | None = None,
    device: dict[str, str] | None = None,
    text: str = XID,
    state: TerminalState = TerminalState.FAILED,
    exclude: tuple[str, ...] = (),
    first_node: str | None = None,
    named: bool = True,
) -> Diagnosis:
    """A diagnosis with at most one cause, which cites one line."""
    cause = Cause(
        symptom="GPU_OFF_THE_BUS",
        meaning="a lost GPU",
        sub_domain=SubDomain.GPU_HARDWARE,
        node=node,
        rank=rank,
        device=Device(kind=DeviceKind.GPU, ids=device) if device else None,
        confidence=Confidence.SINGLE,
        why="one cause is left",
        rule="XID079",
        evidence_ids=("e1",),
    )
    line = Evidence(id="e1", source=Source.SYSLOG, line=1, offset=0, text=text, rule="XID079")
    return Diagnosis(
        workload_id="w",
        attempt=1,
        terminal_state=state,
        domain=domain_of(sub_domain),
        sub_domain=sub_domain,
        summary="It failed.",
        causes=(cause,) if named else (),
        exclude_nodes=exclude,
        first_failure=FirstFailure(symptom="X", node=first_node, evidence_id="e1"),
        evidence=(line,),
        catalog=CatalogIdentity(version="1", digest="0"),
        input_digest="0",
    )
