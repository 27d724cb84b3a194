"""Attempts that are written down: evidence bundles, and files that list contexts."""

import glob
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from attribution.blueprint.attempt import Attempt, Bundle, Found, Query, Unusable
from attribution.blueprint.connectors.base import ConnectorError, ContextConnector
from attribution.bundle.archive import SUFFIXES
from attribution.bundle.context import text_of
from attribution.bundle.faults import must_exist
from attribution.bundle.reader import open_bundle
from attribution.bundle.walk import why_not_evidence
from attribution.contracts import documents
from attribution.contracts.base import Strict
from attribution.contracts.context import ExecutionContext
from attribution.contracts.errors import AttributionError


class StaticSettings(Strict):
    """Where attempts are written down. Paths are relative to the folder in which the command runs."""

    bundles: tuple[str, ...] = Field(
        default=(), description="evidence bundles: folders, archives or log files; `*` and `?` stand for many"
    )
    contexts: tuple[Path, ...] = Field(
        default=(),
        description="YAML or JSON files with a list `attempts` of contexts, each with an optional `evidence`",
    )


class ListedAttempt(ExecutionContext):
    """A context as a file lists it. `evidence` is a bundle, relative to the file."""

    evidence: Path | None = None


class ListedAttempts(Strict):
    """A file that lists contexts."""

    attempts: tuple[ListedAttempt, ...]


class StaticContexts(ContextConnector[StaticSettings]):
    """Finds the attempts of bundles, in the order of the settings and of their names, then those of the files."""

    Settings = StaticSettings
    is_windowed = False  # what is written down late ran long before

    def __init__(self, settings: StaticSettings) -> None:
        super().__init__(settings)
        self._known: _Known = {}

    def open(self) -> None:
        """See that there is something to look at. Raises ConnectorError."""
        if not self.settings.bundles and not self.settings.contexts:
            raise ConnectorError("has neither `bundles` nor `contexts` to look at")

    def check(self) -> str:
        """Read the first attempt that is written down."""
        self.open()
        for found in self.discover(Query()):
            if isinstance(found, Attempt):
                return f"found {found.label} in {found.origin}"
            if found.is_failure:
                raise ConnectorError(f"{found.origin}: {found.reason}")
        raise ConnectorError("finds no attempt where it is told to look")

    def discover(self, query: Query) -> Iterator[Found]:
        """The attempts that are wanted. A bundle or file that cannot be read is told and passed.

        A bundle that has not changed since it was read last is not read again.
        """
        seen: set[Path] = set()
        known, self._known = self._known, {}
        for pattern in self.settings.bundles:
            for found in self._bundles(pattern):
                if isinstance(found, Unusable):
                    yield found
                elif found.resolve() not in seen:
                    seen.add(found.resolve())
                    yield from self._wanted(query, str(found), Bundle(found), known)
        for file in self.settings.contexts:
            yield from self._listed(query, file, known)

    def _bundles(self, pattern: str) -> Iterator[Path | Unusable]:
        """The paths that a pattern names; a file that only the pattern caught, not its writer, must look like one."""
        if not glob.has_magic(pattern) or Path(pattern).exists():
            yield Path(pattern)
            return
        found = sorted(glob.glob(pattern))  # noqa: PTH207  may be absolute or not
        for name in found:
            path = Path(name)
            why = None if path.is_dir() or name.lower().endswith(SUFFIXES) else why_not_evidence(path.name)
            yield Unusable(name, f"is passed over: it {why}", is_failure=False) if why else path
        if not found:
            yield Unusable(pattern, "B001 names nothing that exists (check the path and what `*` and `?` stand for)")

    def _listed(self, query: Query, file: Path, known: "_Known") -> Iterator[Found]:
        try:
            must_exist(file)
            listed = documents.load(text_of(file, str(file)), str(file), ListedAttempts).attempts
        except AttributionError as error:
            yield Unusable(str(file), _told(error, str(file)))
            return
        for number, item in enumerate(listed, 1):
            context = ExecutionContext.model_validate(item.model_dump(exclude={"evidence"}))
            origin = f"{file} ({number})"
            if item.evidence is not None:
                yield from self._wanted(query, origin, Bundle(file.parent / item.evidence, context), known)
            elif query.wants(context):
                yield Attempt(context, origin)

    def _wanted(self, query: Query, origin: str, bundle: Bundle, known: "_Known") -> Iterator[Found]:
        """The attempt of a bundle, if it is asked for. Its context is what the bundle says when it is read whole."""
        if bundle.given is not None and not query.wants(bundle.given):
            return
        signature = _signature(bundle.path)
        before = known.get(origin)
        if before is not None and (before.signature, before.given) == (signature, bundle.given):
            context = before.context
        else:
            try:
                with open_bundle(bundle.path, bundle.given) as evidence:
                    context = evidence.context
            except AttributionError as error:
                yield Unusable(origin, _told(error, origin))
                return
        self._known[origin] = _Read(signature, bundle.given, context)
        if query.wants(context):
            yield Attempt(context, origin, bundle)


@dataclass(frozen=True, slots=True)
class _Read:
    """What a bundle gave when it was read, and what its files looked like."""

    signature: str
    given: ExecutionContext | None
    context: ExecutionContext


_Known = dict[str, _Read]


def _signature(path: Path) -> str:
    """What the files of a bundle look like from outside: names, sizes and times. Other files, another signature."""
    files = [path] if not path.is_dir() else sorted(path.rglob("*"))
    digest = hashlib.blake2b(digest_size=16)
    for file in files:
        try:
            told = file.stat()
        except OSError as error:
            digest.update(repr((str(file), error.errno)).encode())
        else:
            digest.update(repr((str(file), told.st_mode, told.st_size, told.st_mtime_ns, told.st_ino)).encode())
    return digest.hexdigest()


def _told(error: AttributionError, origin: str) -> str:
    """What is wrong, without the name of what it is wrong with where that is said already."""
    return "; ".join(str(problem).removeprefix(f"{origin}: ") for problem in error.problems)
