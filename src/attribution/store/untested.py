"""Which causes could not be tested in the newest results, for lack of which source, read from their documents."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import msgspec
from sqlalchemy import Connection, select

from attribution.store.codec import unpack
from attribution.store.database import Store
from attribution.store.identity import Tenant, owned_by
from attribution.store.schema import result_documents, results

MOST = 50
"""Documents that are read, at most."""

MOST_BYTES = 4_000_000
"""Bytes of their text after which no other one is begun."""


class _Untestable(msgspec.Struct):
    reason: str
    sub_domains: tuple[str, ...] = ()
    source: str | None = None


class _Diagnosis(msgspec.Struct):
    untestable: tuple[_Untestable, ...] = ()


class _Result(msgspec.Struct):
    """Of a result only what is counted here."""

    diagnosis: _Diagnosis


@dataclass(frozen=True, slots=True)
class Untested:
    """A source that was missing for a reason, in how many results, and the sub_domains that it would have decided."""

    source: str | None
    reason: str
    results: int
    sub_domains: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UntestedIn:
    """What was missing, the commonest first, in `of` results."""

    rows: tuple[Untested, ...]
    of: int


def untested(store: Store, tenant: Tenant, since: datetime, shown: int = 20) -> UntestedIn:
    """Count over the newest results from `since` on. Raises StoreDamaged."""
    counts: Counter[tuple[str | None, str]] = Counter()
    sub_domains: dict[tuple[str | None, str], set[str]] = {}
    of = 0
    with store.read() as connection:
        for found in _newest(connection, tenant, since):
            of += 1
            alike: dict[tuple[str | None, str], set[str]] = {}
            for item in found.diagnosis.untestable:
                alike.setdefault((item.source, item.reason), set()).update(item.sub_domains)
            counts.update(alike.keys())
            for key, names in alike.items():
                sub_domains.setdefault(key, set()).update(names)
    ordered = sorted(counts, key=lambda key: (-counts[key], key[0] or "", key[1]))[:shown]
    return UntestedIn(tuple(Untested(*key, counts[key], tuple(sorted(sub_domains[key]))) for key in ordered), of)


def _newest(connection: Connection, tenant: Tenant, since: datetime) -> Iterator[_Result]:
    c = results.c
    sizes = (
        select(c.id, c.key, result_documents.c.raw_size)
        .join(result_documents, result_documents.c.result_id == c.id)
        .where(c.at >= since, *owned_by(c.tenant, tenant))
        .order_by(c.at.desc(), c.id.desc())
        .limit(MOST)
    )
    held = 0
    for row in connection.execute(sizes).all():
        if held and held + row.raw_size > MOST_BYTES:
            return
        held += row.raw_size
        document = select(result_documents.c.document).where(result_documents.c.result_id == row.id)
        raw = unpack(connection.execute(document).scalar_one(), row.raw_size, f"the result {row.key}")
        yield _read(raw)


def _read(document: bytes) -> _Result:
    try:
        return msgspec.json.decode(document, type=_Result)
    except msgspec.MsgspecError:  # half a surrogate pair, which the slower reader takes
        return msgspec.convert(json.loads(document), _Result)
