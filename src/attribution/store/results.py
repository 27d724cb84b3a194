"""A result is written whole, and once more in the pieces that pages ask about; a rerun replaces it."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Table, delete

from attribution.contracts.diagnosis import Device, Diagnosis
from attribution.contracts.result import AttributionBlueprintResult
from attribution.store import days, schema
from attribution.store.codec import pack, to_json
from attribution.store.database import Store
from attribution.store.identity import attempt_key, tenant_key
from attribution.store.schema import results
from attribution.store.statements import insert_rows, one_at_a_time, upsert
from attribution.store.units import unit_rows
from attribution.store.words import keep_nodes, keep_words, searched, words_of

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ResultKey:
    """Names the result of one attempt. `id` is 32 hexadecimal digits, made of tenant, cluster, workload and attempt."""

    id: str

    def __str__(self) -> str:
        return self.id


def result_key(result: AttributionBlueprintResult, tenant: str | None) -> ResultKey:
    """The key under which a result of this tenant is kept."""
    return ResultKey(attempt_key(tenant, result.context))


@dataclass(frozen=True, slots=True)
class Pieces:
    """The rows that a result becomes; those of `children` lack the number of their result."""

    head: Row
    ended: datetime | None
    children: tuple[tuple[Table, list[Row]], ...]
    words: list[str]

    def placed(self, result_id: int, at: datetime) -> Iterator[tuple[Table, list[Row]]]:
        """The rows of each table with their result's number, tenant, cluster and time."""
        cluster = self.head["cluster"] or ""
        place = {"result_id": result_id, "tenant": self.head["tenant"], "cluster": cluster, "at": at}
        for table, rows in self.children:
            known = {name: value for name, value in place.items() if name in table.c and name not in (rows or [{}])[0]}
            yield table, [{**known, **row} for row in rows]

    def facts(self, at: datetime) -> Counter[days.Placed]:
        """What the result adds to the counts of its day."""
        rows = {table.name: held for table, held in self.children}
        found = days.facts(self.head, rows["result_nodes"], rows["result_causes"])
        return days.placed(found, self.head["tenant"], self.head["cluster"], at)

    def nodes(self) -> Iterator[str]:
        """The names of its nodes."""
        return (row["node"] for table, held in self.children if table is schema.result_nodes for row in held)


def pieces_of(result: AttributionBlueprintResult, now: datetime, tenant: str | None = None) -> Pieces:
    """What `write_result` writes, as rows."""
    document = to_json(result).encode()
    words, nodes = words_of(result), _nodes(result)
    head = _head(result, result_key(result, tenant), tenant, now)
    return Pieces(
        head={**head, "search": searched(words, (row["node"] for row in nodes))},
        ended=_ended(result),
        children=(
            (schema.result_documents, [{"raw_size": len(document), "document": pack(document)}]),
            (schema.result_nodes, nodes),
            (schema.result_causes, list(_causes(result.diagnosis))),
            (schema.result_units, unit_rows(result)),
            (schema.result_symptoms, list(_symptoms(result.diagnosis))),
            (schema.result_evidence, list(_evidence(result.diagnosis))),
            (schema.result_reports, list(_reports(result))),
        ),
        words=words,
    )


def write_result(
    store: Store, result: AttributionBlueprintResult, now: datetime, tenant: str | None = None
) -> ResultKey:
    """Keep a result; one of the same tenant, cluster, workload and attempt is replaced. Durable at return."""
    pieces = pieces_of(result, now, tenant)
    key = ResultKey(pieces.head["key"])
    with store.write() as connection:
        one_at_a_time(connection, key.id)
        before = days.facts_held(connection, key.id)
        result_id, at = _write_head(connection, pieces.head, pieces.ended)
        for table in schema.CHILDREN if before is not None else ():
            connection.execute(delete(table).where(table.c.result_id == result_id))
        for table, rows in pieces.placed(result_id, at):
            insert_rows(connection, table, rows)
        keep_words(connection, result_id, pieces.words)
        keep_nodes(connection, pieces.nodes(), pieces.head["cluster"] or "")
        days.recount(connection, before, pieces.facts(at))
    return key


def _write_head(connection: Connection, row: Row, ended: datetime | None) -> tuple[int, datetime]:
    """Insert or replace the row of `results`; answers its number and its time.

    Where the context tells no time, the first writing stands for it, so that a rerun keeps its place in lists.
    """
    statement = upsert(connection, results).values(row)
    changed = {name: statement.excluded[name] for name in row if name not in {"key", "first_written_at"}}
    if ended is None:
        changed["at"] = results.c.first_written_at
    statement = statement.on_conflict_do_update(index_elements=["key"], set_=changed)
    written = connection.execute(statement.returning(results.c.id, results.c.at)).one()
    return written.id, written.at


def _ended(result: AttributionBlueprintResult) -> datetime | None:
    """When the attempt ended, or the latest that its context knows."""
    context = result.context
    return context.ended_at or context.started_at or context.submitted_at


def _head(result: AttributionBlueprintResult, key: ResultKey, tenant: str | None, now: datetime) -> Row:
    context, diagnosis = result.context, result.diagnosis
    first = diagnosis.causes[0] if diagnosis.causes else None
    return {
        "key": key.id,
        "tenant": tenant_key(tenant),
        "at": _ended(result) or now,
        "cluster": context.cluster,
        "workload_id": context.workload_id,
        "attempt": context.attempt,
        "scheduler": context.scheduler.value,
        "name": context.name,
        "user": context.user,
        "framework": context.framework,
        "submitted_at": context.submitted_at,
        "started_at": context.started_at,
        "ended_at": context.ended_at,
        "terminal_state": result.terminal_state.value,
        "domain": diagnosis.domain.value,
        "sub_domain": result.sub_domain.value,
        "cause": first.symptom if first else None,
        "cause_meaning": first.meaning if first else None,
        "cause_node": first.node if first else None,
        "causes": len(diagnosis.causes),
        "nodes": len(context.nodes),
        "summary": diagnosis.summary,
        "catalog_version": diagnosis.catalog.version,
        "catalog_digest": diagnosis.catalog.digest,
        "input_digest": diagnosis.input_digest,
        "first_written_at": now,
        "written_at": now,
    }


def _nodes(result: AttributionBlueprintResult) -> list[Row]:
    """Each node of the attempt or of a finding, with what the diagnosis says of it; sorted by name."""
    diagnosis = result.diagnosis
    groups = {
        "allocated": {node.name for node in result.context.nodes},
        "affected": set(diagnosis.affected_nodes),
        "interesting": set(diagnosis.interesting_nodes),
        "excluded": set(diagnosis.exclude_nodes),
    }
    found = {symptom.node for symptom in diagnosis.symptoms if symptom.node is not None}
    names = sorted(found.union(*groups.values()))
    return [{"node": name, **{group: name in members for group, members in groups.items()}} for name in names]


def device_words(device: Device | None) -> str | None:
    """The ids of a device on one line, sorted by their kind; the same device always reads the same."""
    return " ".join(f"{key}={value}" for key, value in sorted(device.ids.items())) if device else None


def _device(device: Device | None) -> Row:
    return {"device_kind": device.kind.value if device else None, "device": device_words(device)}


def _causes(diagnosis: Diagnosis) -> Iterable[Row]:
    for position, cause in enumerate(diagnosis.causes):
        yield {
            "position": position,
            "symptom": cause.symptom,
            "sub_domain": cause.sub_domain.value,
            "node": cause.node,
            **_device(cause.device),
            "rank": cause.rank,
            "caused_at": cause.at,
            "confidence": cause.confidence.value,
            "rule": cause.rule,
        }


def _symptoms(diagnosis: Diagnosis) -> Iterable[Row]:
    for position, symptom in enumerate(diagnosis.symptoms):
        yield {
            "position": position,
            "symptom": symptom.symptom,
            "role": symptom.role.value,
            "status": symptom.status.value,
            "node": symptom.node,
            **_device(symptom.device),
            "rank": symptom.rank,
            "ranks": symptom.ranks,
            "count": symptom.count,
            "first_at": symptom.first_at,
            "last_at": symptom.last_at,
            "demoted_by": symptom.demoted_by.rule if symptom.demoted_by else None,
        }


def _evidence(diagnosis: Diagnosis) -> Iterable[Row]:
    for position, item in enumerate(diagnosis.evidence):
        yield {
            "position": position,
            "evidence_id": item.id,
            "source": item.source.value,
            "node": item.node,
            "rank": item.rank,
            "stream": item.stream,
            "line": item.line,
            "offset": item.offset,
            "at": item.at,
            "uncertainty_secs": item.at_uncertainty_secs,
            "rule": item.rule,
            "text": item.text,
        }


def _reports(result: AttributionBlueprintResult) -> Iterable[Row]:
    for position, report in enumerate(result.connector_reports):
        row = report.model_dump(exclude={"window", "source", "status"})
        row |= {"position": position, "source": report.source.value, "status": report.status.value}
        yield row | {
            "window_start": report.window.start if report.window else None,
            "window_end": report.window.end if report.window else None,
        }
