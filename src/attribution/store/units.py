"""A part of a node has one name, however a log called it, so that its history can be asked for."""

from collections import Counter
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from attribution.contracts.context import ExecutionContext, Node
from attribution.contracts.diagnosis import Device
from attribution.contracts.result import AttributionBlueprintResult
from attribution.contracts.vocabulary import Confidence, DeviceKind, SymptomStatus
from attribution.store.columns import shortened
from attribution.store.days import is_blamed

_WORDS: Mapping[DeviceKind, str] = {
    DeviceKind.GPU: "gpu",
    DeviceKind.NVLINK: "gpu",
    DeviceKind.NVSWITCH: "nvswitch",
    DeviceKind.NIC: "nic",
    DeviceKind.SWITCH_PORT: "switch",
    DeviceKind.DISK: "disk",
    DeviceKind.CPU: "cpu",
    DeviceKind.DIMM: "dimm",
    DeviceKind.FILESYSTEM: "filesystem",
}
_OWN = ("pci", "uuid", "name", "serial", "index")
_PARTS = ("link", "port")
_KNOWN_BY: Mapping[str, tuple[tuple[str, str], ...]] = {
    "gpu": (("uuid", "uuid"), ("serial", "serial"), ("index", "index")),
    "nic": (("name", "nic"),),
}
"""The ids by which the context knows the PCI address of a device, and how they stand in Pcis."""


class Pcis:
    """The PCI address of a GPU or a NIC by its node, a kind of id (`uuid`, `index`, `serial`; `nic`) and that id.

    The parts of a node are looked at when the first of them is asked for: there may be thousands of nodes.
    """

    def __init__(self, context: ExecutionContext) -> None:
        self._nodes: dict[str | None, Node] = {node.name: node for node in context.nodes}
        self._known: dict[str | None, Mapping[tuple[str, str], str]] = {}

    def get(self, node: str | None, kind: str, name: str) -> str | None:
        """The address, where the context tells it."""
        if node not in self._known:
            held = self._nodes.get(node)
            self._known[node] = {**_gpus(held), **_nics(held)} if held else {}
        return self._known[node].get((kind, name))


def _nics(node: Node) -> dict[tuple[str, str], str]:
    """A NIC by what logs call it. Of a card with several functions, each is a NIC of its own and keeps its name."""
    cards = {nic: nic.pci.partition(".")[0] for nic in node.nics if nic.pci is not None}
    held = Counter(cards.values())
    return {
        ("nic", name): pci for nic, pci in cards.items() if held[pci] == 1 for name in (nic.name, nic.netdev) if name
    }


def _gpus(node: Node) -> dict[tuple[str, str], str]:
    return {
        (kind, str(value)): gpu.pci
        for gpu in node.gpus
        if gpu.pci is not None
        for kind, value in (("uuid", gpu.uuid), ("index", gpu.index), ("serial", gpu.serial))
        if value is not None
    }


def units(device: Device | None, node: str | None = None, pcis: Pcis | None = None) -> tuple[str, ...]:
    """The names of a device from the whole to its part: `gpu 0000:1b:00`, `gpu 0000:1b:00 link 8`; none without ids.

    A GPU or NIC that is known by another id is named by its PCI address where `pcis` tells it.
    """
    if device is None:
        return ()
    word, ids = _WORDS[device.kind], device.ids
    own = next((ids[name] for name in _OWN if ids.get(name)), None)
    if pcis and "pci" not in ids:
        names = _KNOWN_BY.get(word, ())
        own = next((pci for name, key in names if (pci := pcis.get(node, key, ids.get(name, "")))), own)
    whole = f"{word} {own}" if own else word
    parts = [f"{name} {ids[name]}" for name in _PARTS if ids.get(name)]
    if not parts:
        return (whole,) if own else ()
    if not own:
        return (" ".join(["nvlink" if device.kind is DeviceKind.NVLINK else word, *parts]),)
    return (whole, " ".join([whole, *parts]))


class UnitKind(StrEnum):
    """What a unit is compared with: its like. A node is one too, without a name of its own."""

    NODE = "node"
    GPU = "gpu"
    LINK = "link"
    NIC = "nic"
    PORT = "port"
    SWITCH = "switch"
    SWITCH_PORT = "switch_port"
    OTHER = "other"


def kind_of(unit: str) -> UnitKind:
    """What kind of thing the name of a unit names."""
    word = unit.split(" ", 1)[0]
    if " link " in unit:
        return UnitKind.LINK
    if " port " in unit:
        return UnitKind.SWITCH_PORT if word == "switch" else UnitKind.PORT
    return UnitKind(word) if word in {UnitKind.GPU, UnitKind.NIC, UnitKind.SWITCH} else UnitKind.OTHER


def place_of(device: Device | None, node: str | None) -> str:
    """The node that a device is kept under; '' for a port of a switch, which belongs to no node."""
    return "" if node is None or (device is not None and device.kind is DeviceKind.SWITCH_PORT) else node


def unit_rows(result: AttributionBlueprintResult) -> list[dict[str, Any]]:
    """A row for each part of a node that a cause or a finding is about; a finding that is a cause stands once.

    What counts against a part counts once, so that its rows are its attempts.
    """
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    counted: set[tuple[str, str]] = set()
    for row in _found(result):
        part = (shortened(row["node"]), shortened(row["unit"]))
        row["blamed"] = row["blamed"] and part not in counted
        if rows.setdefault((*part, shortened(row["symptom"])), row) is row and row["blamed"]:
            counted.add(part)
    return [{"position": position, **row} for position, row in enumerate(rows.values())]


def _found(result: AttributionBlueprintResult) -> Iterator[dict[str, Any]]:
    pcis = Pcis(result.context)
    for cause in result.diagnosis.causes:
        sure = cause.confidence is not Confidence.ONE_OF_SEVERAL
        for unit in units(cause.device, cause.node, pcis):
            yield {
                "node": place_of(cause.device, cause.node),
                "unit": unit,
                "kind": kind_of(unit).value,
                "part": "cause" if sure else "candidate",
                "blamed": is_blamed(cause.confidence.value, cause.sub_domain.value),
                "symptom": cause.symptom,
                "count": 1,
                "first_at": cause.at,
            }
    for symptom in result.diagnosis.symptoms:
        for unit in units(symptom.device, symptom.node, pcis):
            yield {
                "node": place_of(symptom.device, symptom.node),
                "unit": unit,
                "kind": kind_of(unit).value,
                "part": "aside" if symptom.status is SymptomStatus.DEMOTED else "finding",
                "blamed": False,
                "symptom": symptom.symptom,
                "count": symptom.count,
                "first_at": symptom.first_at,
            }
