"""The rank that a cause struck first, where the cause names none itself: the one that failed on its node."""

from collections.abc import Iterable

from attribution.contracts.vocabulary import DeviceKind, Role
from attribution.diagnosis.refinement import Refinement
from attribution.events.moment import Order
from attribution.events.symptom import Symptom, symptom_order
from attribution.rules.api import expand
from attribution.rules.model import Catalog

_SIGNS = ("tag:app_failure", "tag:cuda_error", "tag:first_failed_process", "tag:own_exit")
"""What tells of a rank that failed by itself, most telling first."""
_SHARED = frozenset({DeviceKind.NIC, DeviceKind.NVSWITCH, DeviceKind.SWITCH_PORT})
"""Devices that several ranks use: which of them gave up first says nothing of the device."""
_CLAIMS = frozenset({"tag:app_failure"})
"""Those that count only where they might be a cause: peers that lose a rank raise exceptions too."""


class FirstRanks:
    """Finds the rank of a cause. Of several ranks that failed on one node, none is named unless a launcher names it."""

    def __init__(self, refinement: Refinement, catalog: Catalog) -> None:
        self._signs: list[dict[str, list[Symptom]]] = []
        for sign in _SIGNS:
            names = set(expand((sign,), catalog.tags))
            by_node: dict[str, list[Symptom]] = {}
            for symptom in refinement.symptoms.values():
                role = symptom.type.role
                counts = role is Role.CAUSE if sign in _CLAIMS else role is not Role.CONTEXT
                if symptom.name in names and counts and symptom.node is not None and symptom.ranks:
                    by_node.setdefault(symptom.node, []).append(symptom)
            self._signs.append(by_node)

    def of(self, cause: Symptom) -> int | None:
        """The cause's own rank, else that of the only rank that failed on its node and not before it."""
        is_shared = cause.device is not None and cause.device.kind in _SHARED
        if cause.rank is not None or cause.node is None or is_shared:
            return cause.rank
        for by_node in self._signs:
            found = [s for s in by_node.get(cause.node, ()) if symptom_order(s, cause) is not Order.BEFORE]
            ranks = _ranks(found)
            if len(ranks) == 1:
                return ranks.pop()
        return None


def _ranks(symptoms: Iterable[Symptom]) -> set[int]:
    return {rank for symptom in symptoms for rank in symptom.ranks}
