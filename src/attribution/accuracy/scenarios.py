"""A scenario is a folder with an evidence bundle and, beside it, `truth.yaml`: what was made to fail there."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from attribution.accuracy.truth import BLAMELESS, Kind, Shown, Truth, some
from attribution.contracts import documents
from attribution.contracts.base import Instant, Strict
from attribution.contracts.vocabulary import SubDomain, TerminalState

TRUTH_FILE = "truth.yaml"
BUNDLE_FOLDER = "bundle"


class FirstFailure(Strict):
    """Where trouble was first to be seen."""

    node: str | None = None
    at: Instant | None = None


class TruthFile(Strict):
    """The truth file. `accept` holds every answer that a fair judge takes from what the bundle holds."""

    id: str
    kind: Kind
    shape: str
    nodes_total: int = Field(ge=1)
    sub_domain: SubDomain
    accept: Annotated[frozenset[SubDomain], AfterValidator(some)]
    terminal_state: TerminalState
    terminal_state_accept: frozenset[TerminalState] = frozenset()
    nodes: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    device: dict[str, str] = Field(default_factory=dict)
    rank: int | None = None
    root_lines: tuple[str, ...] = ()
    first_failure: FirstFailure | None = None
    metrics: bool = False


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario, its truth read."""

    truth: Truth
    folder: Path

    @contextmanager
    def bundle(self) -> Iterator[Path]:
        """The bundle as it lies there."""
        yield self.folder / BUNDLE_FOLDER


def is_scenario(folder: Path) -> bool:
    """Whether a folder holds a truth file and a bundle."""
    return (folder / TRUTH_FILE).is_file() and (folder / BUNDLE_FOLDER).is_dir()


def read_scenario(folder: Path, name: str) -> Scenario:
    """The scenario in a folder. Raises ConfigurationError (D...)."""
    path = folder / TRUTH_FILE
    read = documents.load(path.read_text(encoding="utf-8"), str(path), TruthFile)
    return Scenario(_truth(read, name), folder)


def _truth(read: TruthFile, name: str) -> Truth:
    names_place = read.sub_domain not in BLAMELESS and read.kind in {Kind.SINGLE, Kind.TWO_ROOTS}
    return Truth(
        name=name,
        kind=read.kind,
        shape=read.shape,
        best=read.sub_domain,
        shown=_shown(read),
        accept=read.accept,
        terminal_states=read.terminal_state_accept or frozenset({read.terminal_state}),
        nodes=frozenset(read.nodes) if names_place else frozenset(),
        exclude=frozenset(read.exclude),
        device=tuple((k, v) for k, v in sorted(read.device.items()) if k not in {"kind", "rank"})
        if names_place
        else (),
        rank=read.rank if names_place else None,
        root_texts=tuple(line.strip().lower() for line in read.root_lines) if names_place else (),
        first_node=read.first_failure.node if read.first_failure else None,
    )


def _shown(read: TruthFile) -> Shown:
    if read.kind is Kind.WITHHELD:
        return Shown.NO if read.accept <= BLAMELESS else Shown.PARTIAL
    return Shown.PARTIAL if read.kind is Kind.TWO_ROOTS else Shown.YES
