"""A labelled case is one YAML file: lines of evidence by source, and what a fair judge accepts from them."""

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator

from attribution.accuracy.truth import ABSTENTIONS, BLAMELESS, Kind, Shown, Truth, some
from attribution.contracts import documents
from attribution.contracts.base import Lenient
from attribution.contracts.vocabulary import Source, SubDomain, TerminalState

_Folder = Literal[
    "applog", "syslog", "scheduler", "metrics", "node_metrics", "network_metrics", "fabric_manager", "bmc",
    "flight_recorder",
]  # fmt: skip
_LOGS = frozenset({Source.APPLOG, Source.SYSLOG})
_BROKEN = "broken"


class CaseSource(Lenient):
    """Lines of one stream; `kind` is the folder of the bundle that they are written to."""

    kind: _Folder = "applog"
    node: str | None = None
    lines: tuple[str | None, ...]


class Expectation(Lenient):
    """What a fair judge makes of the lines. Keys for human readers are passed over."""

    accept: Annotated[frozenset[SubDomain], AfterValidator(some)]
    best: SubDomain
    never: frozenset[SubDomain] = frozenset()
    determinable: Shown
    terminal_state: TerminalState = TerminalState.UNKNOWN
    root_key: str | None = None
    nodes: tuple[str, ...] | None = ()
    devices: tuple[str, ...] | None = ()
    ranks: tuple[int, ...] | None = ()
    quality: str = "good"


class CaseFile(Lenient):
    """The file: evidence and label."""

    sources: tuple[CaseSource, ...]
    expect: Expectation


@dataclass(frozen=True, slots=True)
class Case:
    """A labelled case, read."""

    truth: Truth
    sources: tuple[CaseSource, ...]

    @contextmanager
    def bundle(self) -> Iterator[Path]:
        """The lines as an evidence bundle, in a folder whose name says nothing of the cause."""
        neutral = hashlib.sha256(self.truth.name.encode()).hexdigest()[:10]
        with tempfile.TemporaryDirectory(prefix="attribution-") as work:
            folder = Path(work) / f"case-{neutral}"
            for number, source in enumerate(self.sources, 1):
                _write(source, number, folder)
            yield folder


def _write(source: CaseSource, number: int, folder: Path) -> None:
    words = (source.node or "").split()
    node = words[0].replace("/", "-") if words else "node-01"
    path = folder / source.kind / f"{node}.s{number}.{'log' if source.kind in _LOGS else 'txt'}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(line or "" for line in source.lines) + "\n", encoding="utf-8", errors="surrogatepass")


def read_case(path: Path, name: str) -> Case | None:
    """The case in a file; None if its own label says that it is broken. Raises ConfigurationError (D...)."""
    case = documents.load(path.read_text(encoding="utf-8"), str(path), CaseFile)
    return None if case.expect.quality == _BROKEN else Case(_truth(case.expect, name), case.sources)


def _truth(expect: Expectation, name: str) -> Truth:
    names_place = expect.best not in BLAMELESS
    shown = expect.determinable
    nodes = frozenset(expect.nodes or ())
    root_key = expect.root_key if names_place and shown is not Shown.NO else None
    ranks = expect.ranks or ()
    return Truth(
        name=name,
        kind=_kind(expect),
        shape=expect.best.value,
        best=expect.best,
        shown=shown,
        # Excerpts are short: which of the two ways to abstain fits is a matter of taste.
        accept=expect.accept | ABSTENTIONS if expect.accept & ABSTENTIONS else expect.accept,
        never=expect.never,
        terminal_states=frozenset({expect.terminal_state} - {TerminalState.UNKNOWN}),
        nodes=nodes if names_place and shown is Shown.YES else frozenset(),
        exclude=nodes or None,
        device=tuple(("", text) for text in expect.devices or ()) if names_place and shown is Shown.YES else (),
        rank=ranks[0] if names_place and shown is Shown.YES and len(ranks) == 1 else None,
        root_texts=(root_key.lower(),) if root_key else (),
    )


def _kind(expect: Expectation) -> Kind:
    if expect.best is SubDomain.NONE:
        return Kind.NEGATIVE
    return Kind.WITHHELD if expect.determinable is Shown.NO else Kind.SINGLE
