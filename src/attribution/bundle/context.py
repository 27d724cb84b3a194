"""The context of a bundle is read, and what it lacks is inferred and said so."""

import re
from collections.abc import Collection, Mapping
from pathlib import Path

from attribution.bundle.archive import SUFFIXES
from attribution.bundle.faults import CHECK_PERMISSIONS, must_exist, problem, reason
from attribution.bundle.names import short_name
from attribution.contracts import documents
from attribution.contracts.context import ExecutionContext, Node

CONTEXT_NAMES = ("context.yaml", "context.yml", "context.json")
"""What the context may be called at the root of a bundle; the first that exists is read."""


def load_context(
    root: Path | None, shown: Path, given: Path | ExecutionContext | None
) -> tuple[ExecutionContext, frozenset[str]]:
    """The context that was given, or an empty one named after `shown`; and the file name it has in the bundle."""
    name = next((name for name in CONTEXT_NAMES if root is not None and (root / name).is_file()), None)
    workload_id = _workload_id(shown)
    reserved = frozenset({name} if name else ())
    if isinstance(given, ExecutionContext):
        return given, reserved
    if given is not None:
        must_exist(given)
        file, place = given, str(given)
    elif root is not None and name is not None:
        file, place = root / name, f"{shown}/{name}"
    else:
        return ExecutionContext(workload_id=workload_id, inferred=("workload_id",)), reserved
    document = documents.parse(text_of(file, place), place)
    value = {} if document.value is None else document.value
    if isinstance(value, dict) and "workload_id" not in value:
        value = {**value, "workload_id": workload_id}
        context = documents.build(document, value, (), ExecutionContext)
        return context.model_copy(update={"inferred": _with(context.inferred, "workload_id")}), reserved
    return documents.build(document, value, (), ExecutionContext), reserved


def text_of(file: Path, place: str) -> str:
    """The text of a document; `place` is what it is called in an error (B003, B009)."""
    try:
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise problem(place, "B009", "is not UTF-8 text", "save it as UTF-8") from None
    except OSError as error:
        raise problem(place, "B003", f"cannot be read: {reason(error)}", CHECK_PERMISSIONS) from None


def _with(inferred: tuple[str, ...], field: str) -> tuple[str, ...]:
    return inferred if field in inferred else (*inferred, field)


def _workload_id(path: Path) -> str:
    """A workload's name made of a file's or folder's: letters, digits, `.`, `_` and `-`."""
    name = path.resolve().name
    lower = name.lower()
    suffix = next((suffix for suffix in sorted(SUFFIXES, key=len, reverse=True) if lower.endswith(suffix)), "")
    if suffix:
        name = name[: -len(suffix)]
    elif path.is_file():
        name = re.sub(r"(?i)\.(?:gz|zst)$", "", name).rsplit(".", 1)[0]
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "workload"


def infer_nodes(
    context: ExecutionContext, aliases: Mapping[str, Collection[str]], ranks: Collection[tuple[str, int]]
) -> tuple[ExecutionContext, Mapping[str, str]]:
    """The context with the nodes that streams name, and the name that each of them is to have.

    `aliases` holds the names of nodes with what lines call them besides; `ranks` the ranks that names give to nodes.
    A full name and its short form are one node, known by the short form.
    """
    written = {name.lower(): name for name in sorted(aliases, reverse=True)}
    final = {name: written.get(short_name(name.lower()), written[name.lower()]) for name in aliases}
    names: dict[str, set[str]] = {}
    for name, short in final.items():
        names.setdefault(short, set()).update(aliases[name], {name})
    held: dict[str, set[int]] = {}
    for name, rank in ranks:
        held.setdefault(final[name], set()).add(rank)
    nodes = tuple(
        Node(name=name, aliases=tuple(sorted(names[name] - {name})), ranks=tuple(sorted(held.get(name, ()))))
        for name in sorted(names)
    )
    if not nodes:
        return context, final
    return context.model_copy(update={"nodes": nodes, "inferred": _with(context.inferred, "nodes")}), final
