"""What a connector is: a settings model, and a class of one of three kinds.

A connector is declared as an entry point of the group `attribution.connectors`; its name there is its key in the
configuration. It is made once with its settings, used for every attempt of a run, by several threads at once, and
closed at the end.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Generic, Protocol, TypeVar

from attribution.blueprint.attempt import Attempt, Found, Query
from attribution.contracts.base import Strict
from attribution.contracts.exchange import CatalogSnapshot
from attribution.contracts.observation import Observation
from attribution.contracts.plan import CollectionPlan
from attribution.contracts.result import AttributionBlueprintResult
from attribution.contracts.vocabulary import Source

S = TypeVar("S", bound=Strict)
Halted = Callable[[], bool]
"""Answers whether collecting must end now."""


def never() -> bool:
    """Nothing halts what is short."""
    return False


DEADLINE = "deadline"
"""Why evidence is missing that was not collected in time."""


class Kind(StrEnum):
    """What connectors are for; also the sections of the configuration that hold them."""

    CONTEXT = "context"
    LOGS = "logs"
    METRICS = "metrics"
    SINKS = "sinks"


class ConnectorError(Exception):
    """A connector cannot do its work. The message is one sentence that fits after the connector's name."""


class SinkBusy(ConnectorError):
    """A sink cannot take a result now. `wait_secs` is how long it asks to be left alone, if it says so."""

    def __init__(self, message: str, wait_secs: float | None = None) -> None:
        self.wait_secs = wait_secs
        super().__init__(message)


class SinkRefused(ConnectorError):
    """A sink will never take this result; trying again is of no use."""


class Memory(Protocol):
    """Texts by key that `attribution run --watch` keeps for one connector, from round to round and across restarts.

    Several watchers of one store share it. A key has at most 160 characters, a value at most 64 KiB.
    """

    def get(self, key: str) -> str | None:
        """The value of a key; None if there is none, or if its time is over."""

    def put(self, key: str, value: str, keep_secs: float) -> None:
        """Keep a value for so long, in place of the one before."""

    def items(self, prefix: str = "") -> Iterator[tuple[str, str]]:
        """Keys that begin so, in order, each with its value."""

    def forget(self, key: str) -> None:
        """Keep the value no longer."""


class Connector(ABC, Generic[S]):
    """What all kinds have in common. Every field of `Settings` has a description and, if at all possible, a default."""

    kind: ClassVar[Kind]
    Settings: ClassVar[type[Strict]]
    by_default: ClassVar[bool] = False
    """Whether the connector is used where the configuration names none of its kind."""

    def __init__(self, settings: S) -> None:
        self.settings = settings

    @abstractmethod
    def check(self) -> str:
        """Do the smallest version of the real work, and say in a few words what was found. Raises ConnectorError."""

    def open(self) -> None:
        """Get ready, before any work is begun. Raises ConnectorError or ConfigurationError if that cannot be.

        What is opened here is found to be wrong while nothing is lost yet; it is cheap, unlike `check`.
        """

    def close(self) -> None:
        """Give back what is held open."""

    def programs(self) -> tuple[str, ...]:
        """The programs that the connector starts, by name or path; `attribution doctor` looks for them."""
        return ()


class ContextConnector(Connector[S]):
    """Finds attempts."""

    kind = Kind.CONTEXT
    is_windowed: ClassVar[bool] = True
    """Whether `--watch` asks for what ran since the last round. If not, it asks for all there is, every time."""

    def observe(self, memory: Memory) -> None:
        """Look at what can be seen only while it lives, such as which node a pod is on, and keep it in `memory`.

        `--watch` calls this at the begin of each round, before `discover`, which may read what is kept. A run without
        `--watch` never does. Raises ConnectorError, which is told and stops nothing.
        """

    @abstractmethod
    def discover(self, query: Query) -> Iterator[Found]:
        """The attempts that the query wants, in an order that does not change, and what was found and is none.

        Raises ConnectorError when nothing more can be found.
        """


@dataclass(frozen=True, slots=True)
class Collected:
    """An observation, and how often calls had to be repeated to get it."""

    observation: Observation
    retries: int = 0


class Collector(Connector[S]):
    """Collects evidence of an attempt: the connectors of the sections `logs` and `metrics`."""

    kind = Kind.LOGS

    @property
    @abstractmethod
    def sources(self) -> frozenset[Source]:
        """The sources that this connector asks for every attempt."""

    @abstractmethod
    def collect(self, attempt: Attempt, plan: CollectionPlan, halted: Halted) -> Iterator[Observation | Collected]:
        """The evidence as bounded observations, at least one for each of the `sources` and each node.

        A connector that repeats calls yields `Collected`, so that its reports say how often; a plain observation
        stands for no repetition.
        What had nothing is an empty body with status `empty`, what was refused `error`, what is not whole `partial`;
        each with a reason. Once `halted` answers true, what was begun is told as `partial`, what was not begun as
        `skipped`, both for the reason `deadline`, and nothing more is read. A connector that raises is told for all
        that it had not delivered.
        """


class Sink(Connector[S]):
    """Takes results away."""

    kind = Kind.SINKS

    def wants(self, result: AttributionBlueprintResult) -> bool:
        """Whether this sink takes such results at all; one that it does not want counts as done."""
        return True

    @abstractmethod
    def write(self, result: AttributionBlueprintResult, catalog: Callable[[], CatalogSnapshot]) -> None:
        """Take one result; the same attempt again replaces what was written before, where that can be.

        `catalog` asks the Service for the rules that made the diagnosis. A sink tries once: what it raises is tried
        again by whoever calls, with growing waits, or as a SinkBusy asks; a SinkRefused is final. Raises
        ConnectorError.
        """
