"""The rulebook is the catalog in use: verified before it is used, and replaced only by one that is verified too."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from attribution.contracts.diagnosis import CatalogIdentity
from attribution.contracts.errors import AttributionError, ConfigurationError, Problem
from attribution.contracts.exchange import CatalogReload, CatalogSnapshot, CatalogState, ProblemItem
from attribution.contracts.plan import CollectionPlan
from attribution.diagnosis.settings import DEFAULTS
from attribution.diagnosis.verify import verify
from attribution.extraction.ruleset import RuleSets
from attribution.rules.snapshot import snapshot
from attribution.service.problems import items_of, printable

LoadRules = Callable[[], RuleSets]
"""Loads the rules anew from where they stand. Raises ConfigurationError."""

VerifyRules = Callable[[RuleSets], Sequence[Problem]]
"""Answers the cases that do not hold."""


@dataclass(frozen=True, slots=True)
class Rules:
    """A catalog whose cases all hold, and what the API tells of it."""

    sets: RuleSets
    snapshot: CatalogSnapshot
    plan: CollectionPlan

    @property
    def identity(self) -> CatalogIdentity:
        """Version and digest."""
        return self.snapshot.catalog


class Rulebook:
    """Holds the rules in use. Loading is slow, so callers run it in a thread."""

    def __init__(self, load: LoadRules, verify_rules: VerifyRules = verify) -> None:
        """Raises ConfigurationError if the rules cannot be loaded, or a case does not hold (R022, R023, R035)."""
        self._load = load
        self._verify = verify_rules
        self._lock = threading.Lock()
        self.rules = self._verified()
        self.last_reload: CatalogReload | None = None
        self.reloads = 0

    def reload(self, now: datetime) -> CatalogReload:
        """Take the rules as they stand now, if they load and every case holds; else keep those in use."""
        with self._lock:
            self.reloads += 1
            try:
                self.rules = self._verified()
            except AttributionError as error:
                self.last_reload = CatalogReload(at=now, ok=False, problems=items_of(error))
            except Exception as error:  # a rule's own code may raise anything
                message = f"cannot be used: {type(error).__name__}: {printable(error)}"
                item = ProblemItem(place="rules", code="V005", message=message, remedy="see: attribution rules check")
                self.last_reload = CatalogReload(at=now, ok=False, problems=(item,))
            else:
                self.last_reload = CatalogReload(at=now, ok=True)
            return self.last_reload

    def state(self) -> CatalogState:
        """What is in use, and what came of the last attempt to replace it."""
        told = self.rules.snapshot
        return CatalogState(
            catalog=told.catalog,
            rules=told.rules,
            symptoms=told.symptoms,
            tags=told.tags,
            cases=sum(len(rule.info.cases) for rule in self.rules.sets.catalog.rules),
            reloads=self.reloads,
            last_reload=self.last_reload,
        )

    def _verified(self) -> Rules:
        sets = self._load()
        failures = self._verify(sets)
        if failures:
            raise ConfigurationError(failures)
        return Rules(sets, snapshot(sets.catalog), sets.catalog.plan(DEFAULTS.margin_us))
