"""Dumps of PyTorch's flight recorder as sentences: how far each process group had come on the rank that wrote one."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from attribution.extraction.records.told import Told, Unreadable, mapping, plain, stamp

_NS = 1_000_000_000
_WORD = re.compile(r"\W+")


class _Entry(msgspec.Struct):
    pg_id: Any = None
    process_group: Any = None
    collective_seq_id: Any = None
    profiling_name: Any = None
    state: Any = None
    time_created_ns: Any = None
    input_sizes: Any = None
    is_p2p: Any = None


class _Dump(msgspec.Struct):
    entries: list[_Entry]
    pg_config: Any = None
    pg_status: Any = None


_DECODER = msgspec.json.Decoder(_Dump)


def status_of(body: bytes) -> Iterator[Told]:
    """The sentences of one dump in its JSON form. Raises Unreadable."""
    try:
        dump = _DECODER.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Unreadable(f"cannot be read as a dump of the flight recorder: {error}") from None
    entries: dict[str, list[_Entry]] = {}
    for entry in dump.entries:
        if isinstance(entry.collective_seq_id, int) and not entry.is_p2p:
            entries.setdefault(_group(entry), []).append(entry)
    status = {str(group): mapping(said) for group, said in mapping(dump.pg_status).items()}
    for group in sorted({*entries, *status}):
        told = _status(group, entries.get(group, []), status.get(group, {}), mapping(dump.pg_config))
        if told is not None:
            yield told


def _status(group: str, entries: Sequence[_Entry], said: Mapping[str, Any], config: Mapping[str, Any]) -> Told | None:
    """What is said of one group; where no status is, as newer versions have it, what the entries come to."""
    done = [e.collective_seq_id for e in entries if e.state == "completed"]
    begun = [e.collective_seq_id for e in entries if e.state in ("completed", "started")]
    enqueued = _said(said, "enqueued", [e.collective_seq_id for e in entries])
    started, completed = _said(said, "started", begun), _said(said, "completed", done)
    if enqueued < 0:
        return None
    pending = min((e for e in entries if e.collective_seq_id > completed), key=_number, default=None)
    last = max(entries, key=_number, default=None)
    words = f"Flight recorder of group {_name(group)} ({_described(group, entries, config)}): last enqueued {enqueued}"
    words += f", last started {started}, last completed {completed}"
    if pending is not None:
        words += f"; operation {pending.collective_seq_id} {_name(pending.profiling_name)}{_size(pending)}"
        words += f" is {_name(pending.state)}"
    shown = pending or last
    at = shown.time_created_ns if shown is not None and isinstance(shown.time_created_ns, int) else None
    return Told(words, at=stamp(at / _NS) if at else None)


def _said(status: Mapping[str, Any], what: str, numbers: Sequence[int]) -> int:
    found = status.get(f"last_{what}_collective")
    return found if isinstance(found, int) and not isinstance(found, bool) else max(numbers, default=-1)


def _number(entry: _Entry) -> int:
    number: int = entry.collective_seq_id
    return number


def _group(entry: _Entry) -> str:
    named = entry.process_group
    return str(named[0]) if isinstance(named, list) and named else str(entry.pg_id)


def _described(group: str, entries: Sequence[_Entry], config: Mapping[str, Any]) -> str:
    named = next((e.process_group for e in entries if isinstance(e.process_group, list)), None)
    word = mapping(config.get(group)).get("desc") or (named[1] if named and len(named) > 1 else None)
    return _name(word)


def _size(entry: _Entry) -> str:
    sizes = entry.input_sizes[0] if isinstance(entry.input_sizes, list) and entry.input_sizes else None
    is_shape = isinstance(sizes, list) and all(isinstance(n, int) and 0 <= n < 1 << 48 for n in sizes[:16])
    return f" of {math.prod(sizes[:16])} elements" if is_shape and sizes else ""


def _name(word: Any) -> str:
    """A name as one word."""
    return _WORD.sub("_", plain(str(word), 80)).strip("_") or "unnamed"
