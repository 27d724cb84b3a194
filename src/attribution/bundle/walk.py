"""Every file under a folder is found once, in one order, and what is passed over is told."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from attribution.bundle.faults import reason
from attribution.contracts.vocabulary import Source

METRICS = "metrics"
SOURCE_FOLDERS = frozenset({*(source.value for source in Source), METRICS})
"""Folder names that say what lies in them. `metrics` holds both kinds."""

README = "README"
"""A file of this name at the root of a bundle tells people about it; it is no part of the evidence."""

_NOT_EVIDENCE_FOLDERS = frozenset({"__pycache__", "node_modules"})
_NOT_EVIDENCE_NAMES = frozenset(
    {"readme", "license", "licence", "notice", "changelog", "makefile", "dockerfile", "requirements.txt", "thumbs.db"}
)
_NOT_EVIDENCE_SUFFIXES = (
    *(".py", ".pyc", ".sh", ".bash", ".sbatch", ".slurm", ".ipynb", ".so", ".a", ".o", ".whl", ".lock"),
    *(".yaml", ".yml", ".toml", ".cfg", ".ini", ".conf", ".md", ".rst", ".html", ".css", ".js", ".swp", ".tmp"),
    *(".png", ".jpg", ".jpeg", ".gif", ".svg", ".pdf"),
    *(".pt", ".pth", ".ckpt", ".safetensors", ".npy", ".npz", ".h5", ".hdf5", ".parquet", ".onnx"),
)


@dataclass(frozen=True, slots=True)
class Found:
    """One file: where it is, its path in the bundle, the source folder it lies in, and why it is passed over."""

    path: Path
    name: str
    folder: str | None = None
    skip: str | None = None
    error: str | None = None


def walk(root: Path, reserved: frozenset[str]) -> Iterator[Found]:
    """The files under `root`, sorted by path within each folder. `reserved` names of the root are left out.

    Links to files and folders within `root` are passed over (they are found where they are), others are followed;
    each folder is entered once, so loops end.
    """
    real_root = os.path.realpath(root)
    entered = {real_root}
    pending: list[tuple[str, str, str | None]] = [(str(root), "", None)]
    names: dict[str, int] = {}
    while pending:
        folder, prefix, source = pending.pop()
        try:
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            yield Found(Path(folder), printable(prefix.rstrip("/")), source, error=reason(error))
            continue
        deeper: list[tuple[str, str, str | None]] = []
        for entry in listed:
            name = prefix + entry.name
            if name in reserved:
                continue
            found = Found(Path(entry.path), _unique(printable(name), names), source)
            skip, broken, mode = _look(entry, source, real_root)
            if skip or broken:
                yield Found(found.path, found.name, source, skip, broken)
            elif stat.S_ISDIR(mode):
                real = os.path.realpath(entry.path)
                if real in entered:
                    yield Found(found.path, found.name, source, "is a link to a folder that is read already")
                    continue
                entered.add(real)
                inner = entry.name.lower() if entry.name.lower() in SOURCE_FOLDERS else source
                deeper.append((entry.path, name + "/", inner))
            else:
                yield found
        pending.extend(reversed(deeper))


def _look(entry: os.DirEntry[str], source: str | None, real_root: str) -> tuple[str | None, str | None, int]:
    """Why an entry is passed over, or why it cannot be read, and its mode."""
    if entry.name.startswith("."):
        return "is hidden", None, 0
    try:
        mode = entry.stat().st_mode
        if entry.is_symlink():
            real = os.path.realpath(entry.path)
            if real == real_root or real.startswith(real_root + os.sep):
                return "is a link to something that is read already", None, mode
    except OSError as error:
        return None, reason(error), 0
    if stat.S_ISDIR(mode):
        return ("is not evidence" if entry.name in _NOT_EVIDENCE_FOLDERS else None), None, mode
    if not stat.S_ISREG(mode):
        return "is no regular file", None, mode
    return (why_not_evidence(entry.name) if source is None else None), None, mode


def why_not_evidence(file_name: str) -> str | None:
    """Why a file that lies in no source folder is passed over for its name alone."""
    name = file_name.lower()
    known = name in _NOT_EVIDENCE_NAMES or name.partition(".")[0] in _NOT_EVIDENCE_NAMES - {"requirements.txt"}
    if known or name.endswith(_NOT_EVIDENCE_SUFFIXES) or name.startswith("events.out.tfevents."):
        return "is not evidence, by its name"
    return None


def printable(name: str) -> str:
    """A path as text that can be shown and sent: bytes that are no UTF-8 and control characters become `?`."""
    text = name.encode("utf-8", "replace").decode("utf-8", "replace")
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def _unique(name: str, names: dict[str, int]) -> str:
    """The name, with a number behind it if another file is shown by the same one."""
    names[name] = names.get(name, 0) + 1
    return name if names[name] == 1 else f"{name}~{names[name]}"
