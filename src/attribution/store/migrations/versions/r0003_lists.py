"""What makes lists, searches and histories quick: words, units, counts of each day, indexes by time."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "r0003"
down_revision = "r0002"

_SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_TIME = sa.DateTime().with_variant(sa.DateTime(timezone=True), "postgresql")

_FACETS = ("terminal_state", "domain", "sub_domain", "cluster", "user")
_AT_ONCE = 1000


def upgrade() -> None:
    """Make the tables, fill them from what is there, and order the indexes by time."""
    connection = op.get_bind()
    _make()
    _place(connection)
    _reorder()
    _fill_nodes(connection)
    _fill_words(connection)
    _fill_units(connection)
    _fill_days(connection)


def _make() -> None:
    op.create_table(
        "words",
        sa.Column("id", _SERIAL, nullable=False),
        sa.Column("word", _TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("word", name="words_word"),
    )
    op.create_table(
        "result_words",
        sa.Column("result_id", _SERIAL, nullable=False),
        sa.Column("word_id", _SERIAL, nullable=False),
        sa.ForeignKeyConstraint(["result_id"], ["results.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("result_id", "word_id", name="result_words_key"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "node_names",
        sa.Column("name", _TEXT, nullable=False),
        sa.Column("cluster", _TEXT, nullable=False),
        sa.Column("folded", _TEXT, nullable=False),
        sa.PrimaryKeyConstraint("name", "cluster", name="node_names_key"),
    )
    op.create_table(
        "result_units",
        sa.Column("result_id", _SERIAL, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("node", _TEXT, nullable=False),
        sa.Column("unit", _TEXT, nullable=False),
        sa.Column("tenant", _TEXT, nullable=False),
        sa.Column("cluster", _TEXT, server_default="", nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("part", sa.String(length=16), nullable=False),
        sa.Column("blamed", sa.Boolean(), nullable=False),
        sa.Column("symptom", _TEXT, nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("first_at", _TIME),
        sa.ForeignKeyConstraint(["result_id"], ["results.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("result_id", "position", name="result_units_key"),
    )
    op.create_table(
        "result_days",
        sa.Column("facet", sa.String(length=16), nullable=False),
        sa.Column("value", _TEXT, nullable=False),
        sa.Column("tenant", _TEXT, nullable=False),
        sa.Column("cluster", _TEXT, nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("results", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("facet", "value", "tenant", "cluster", "day", name="result_days_key"),
        sqlite_with_rowid=False,
    )


def _place(connection: sa.Connection) -> None:
    """Nodes and causes know their cluster, so that nodes of one name are told apart."""
    for table in ("result_nodes", "result_causes"):
        op.add_column(table, sa.Column("cluster", _TEXT, server_default="", nullable=False))
        of_result = f"SELECT cluster FROM results WHERE results.id = {table}.result_id"  # noqa: S608
        connection.execute(sa.text(f"UPDATE {table} SET cluster = coalesce(({of_result}), '')"))  # noqa: S608


def _reorder() -> None:
    """The time comes before the tenant, so that who may see all tenants gets the newest first from an index too."""
    for name in ("cause", "cluster", "sub_domain", "tenant", "terminal_state", "time", "user", "workload"):
        op.drop_index(f"results_{name}", "results")
    op.create_index("results_time", "results", ["at", "id", "tenant", *_FACETS])
    op.create_index("results_tenant", "results", ["tenant", "at", "id", *_FACETS])
    for name in _FACETS:
        others = [other for other in _FACETS if other != name]
        op.create_index(f"results_{name}", "results", [name, "at", "id", "tenant", *others])
    op.create_index("results_workload", "results", ["workload_id", "at", "id", "tenant"])
    op.drop_index("result_causes_symptom", "result_causes")
    op.create_index("result_causes_symptom", "result_causes", ["symptom", "at", "result_id", "tenant"])
    op.drop_index("result_causes_node", "result_causes")
    op.create_index("result_causes_node", "result_causes", ["node", "at", "result_id", "tenant", "cluster", "symptom"])
    op.drop_index("result_nodes_history", "result_nodes")
    parts = ["allocated", "affected", "interesting", "excluded"]
    op.create_index("result_nodes_history", "result_nodes", ["node", "at", "result_id", "tenant", "cluster", *parts])
    affected: Any = {"sqlite_where": sa.text("affected = 1"), "postgresql_where": sa.text("affected")}
    op.create_index("result_nodes_affected", "result_nodes", ["result_id", "node"], **affected)
    op.create_index("result_words_word", "result_words", ["word_id", "result_id"])
    units = ["node", "unit", "at", "result_id", "tenant", "cluster", "part"]
    op.create_index("result_units_history", "result_units", units)
    blamed_by = ["kind", "cluster", "node", "unit", "tenant", "at", "blamed"]
    blamed: Any = {"sqlite_where": sa.text("blamed = 1"), "postgresql_where": sa.text("blamed")}
    op.create_index("result_units_blamed", "result_units", blamed_by, **blamed)


# --- nodes and words ------------------------------------------------------------------------------------------------

_names = sa.table("node_names", *(sa.column(name, _TEXT) for name in ("name", "cluster", "folded")))
_words = sa.table("words", sa.column("id", _SERIAL), sa.column("word", _TEXT))
_result_words = sa.table("result_words", sa.column("result_id", _SERIAL), sa.column("word_id", _SERIAL))
_MOST_WORDS, _LONGEST_WORD = 200, 160


def _fill_nodes(connection: sa.Connection) -> None:
    found = connection.execute(sa.text("SELECT DISTINCT node, cluster FROM result_nodes")).all()
    _insert(connection, _names, ({"name": row[0], "cluster": row[1], "folded": row[0].lower()} for row in found))


def _fill_words(connection: sa.Connection) -> None:
    """The text that was searched becomes its words, each of which is kept once, and the names of the nodes."""
    numbers: dict[str, int] = {}
    for rows in _portions(connection, "SELECT id, search FROM results WHERE id > :after ORDER BY id LIMIT :most"):
        found = {row.id: _words_of(row.search) for row in rows}
        new = list(dict.fromkeys(word for words in found.values() for word in words if word not in numbers))
        numbers |= {word: number for number, word in enumerate(new, len(numbers) + 1)}
        _insert(connection, _words, ({"id": numbers[word], "word": word} for word in new))
        _insert(
            connection,
            _result_words,
            ({"result_id": key, "word_id": numbers[word]} for key, words in found.items() for word in words),
        )
        nodes = _nodes_of(connection, min(found), max(found))
        connection.execute(
            sa.text("UPDATE results SET search = :search WHERE id = :id"),
            [{"id": key, "search": "\n".join([*words, *nodes.get(key, ())])} for key, words in found.items()],
        )
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("SELECT setval('words_id_seq', :last)"), {"last": max(1, len(numbers))})


def _nodes_of(connection: sa.Connection, first: int, last: int) -> dict[int, list[str]]:
    """The names of the nodes of each result, in lower case."""
    query = sa.text(
        "SELECT result_id, node FROM result_nodes WHERE result_id BETWEEN :first AND :last ORDER BY result_id, node"
    )
    found: dict[int, list[str]] = {}
    for number, node in connection.execute(query, {"first": first, "last": last}):
        found.setdefault(number, []).append(node.lower())
    return found


def _words_of(search: str) -> list[str]:
    words = dict.fromkeys(word[:_LONGEST_WORD] for word in search.split())
    return list(words)[:_MOST_WORDS]


# --- units ----------------------------------------------------------------------------------------------------------

_units = sa.table(
    "result_units",
    *(sa.column(name, _SERIAL) for name in ("result_id", "position", "count")),
    *(sa.column(name, _TEXT) for name in ("node", "unit", "tenant", "cluster", "kind", "part", "symptom")),
    *(sa.column(name) for name in ("at", "first_at")),
    sa.column("blamed", sa.Boolean()),
)
_ID = re.compile(r"(?:^| )(pci|uuid|name|serial|index|link|port)=")
_KINDS = {"nvlink": "gpu", "switch_port": "switch"}
_BLAMED = (
    *("gpu_hardware", "nvlink_fabric", "network_fabric", "host_hardware"),
    *("gpu_driver", "host_os"),
)
_FOUND = """
SELECT c.result_id, 0 AS kind, c.position, c.symptom, c.node, c.device_kind, c.device, c.sub_domain, c.confidence,
       '' AS status, 1 AS count, c.caused_at AS first_at, r.tenant,
       coalesce(r.cluster, '') AS cluster, r.at
FROM result_causes c JOIN results r ON r.id = c.result_id
WHERE c.device IS NOT NULL AND c.result_id > :after AND c.result_id <= :last
UNION ALL
SELECT s.result_id, 1, s.position, s.symptom, s.node, s.device_kind, s.device, '', '', s.status, s.count,
       s.first_at, r.tenant, coalesce(r.cluster, '') AS cluster, r.at
FROM result_symptoms s JOIN results r ON r.id = s.result_id
WHERE s.device IS NOT NULL AND s.result_id > :after AND s.result_id <= :last
ORDER BY 1, 2, 3
"""


def _fill_units(connection: sa.Connection) -> None:
    """The devices of causes and findings, by the ids that were kept of them."""
    last = connection.execute(sa.text("SELECT max(id) FROM results")).scalar() or 0
    for after in range(0, last, _AT_ONCE):
        rows = connection.execute(sa.text(_FOUND), {"after": after, "last": after + _AT_ONCE}).all()
        taken: dict[int, set[tuple[str, str, str]]] = {}
        counted: set[tuple[int, str, str]] = set()
        made: list[dict[str, Any]] = []
        for row in rows:
            seen = taken.setdefault(row.result_id, set())
            for unit in _unit_names(row.device_kind, row.device):
                key = (_node_of(row), unit, row.symptom)
                if key not in seen:
                    seen.add(key)
                    made.append(_unit_row(row, unit, len(seen) - 1))
                    once = (row.result_id, *key[:2])
                    made[-1]["blamed"] = made[-1]["blamed"] and once not in counted
                    counted |= {once} if made[-1]["blamed"] else set()
        _insert(connection, _units, made)


def _node_of(row: Any) -> str:
    """A port of a switch belongs to no node."""
    return "" if row.device_kind == "switch_port" else row.node or ""


def _unit_row(row: Any, unit: str, position: int) -> dict[str, Any]:
    sure = row.confidence in {"single", "compound"}
    found = "aside" if row.status == "demoted" else "finding"
    return {
        "result_id": row.result_id,
        "position": position,
        "node": _node_of(row),
        "unit": unit,
        "tenant": row.tenant,
        "cluster": row.cluster,
        "at": row.at,
        "kind": _kind_of(unit),
        "part": found if row.kind else "cause" if sure else "candidate",
        "blamed": not row.kind and sure and row.sub_domain in _BLAMED,
        "symptom": row.symptom,
        "count": row.count,
        "first_at": row.first_at,
    }


def _unit_names(kind: str, device: str) -> list[str]:
    pieces = _ID.split(device)
    ids = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    word = _KINDS.get(kind, kind)
    own = next((ids[name] for name in ("pci", "uuid", "name", "serial", "index") if ids.get(name)), None)
    parts = [f"{name} {ids[name]}" for name in ("link", "port") if ids.get(name)]
    if not own:
        return [" ".join(["nvlink" if kind == "nvlink" else word, *parts])] if parts else []
    whole = f"{word} {own}"
    return [whole, " ".join([whole, *parts])] if parts else [whole]


def _kind_of(unit: str) -> str:
    word = unit.split(" ", 1)[0]
    if " link " in unit:
        return "link"
    if " port " in unit:
        return "switch_port" if word == "switch" else "port"
    return word if word in {"gpu", "nic", "switch"} else "other"


# --- days -----------------------------------------------------------------------------------------------------------


def _fill_days(connection: sa.Connection) -> None:
    """How many results of each day have which value."""
    if connection.dialect.name == "postgresql":
        day = "((at AT TIME ZONE 'UTC')::date - date '1970-01-01')"
    else:
        day = "CAST(julianday(date(at)) - 2440587.5 AS INTEGER)"
    sure = f"confidence IN ('single', 'compound') AND sub_domain IN ({', '.join(map(repr, sorted(_BLAMED)))})"
    distinct = "count(DISTINCT result_id)"
    counted = [
        ("all", "''", "count(*)", "results", "true"),
        ("allocated", "''", "sum(nodes)", "results", "nodes > 0"),
        ("cause", "symptom", distinct, "result_causes", "true"),
        ("node", "node", "count(*)", "result_nodes", "affected"),
        ("allocated_node", "node", "count(*)", "result_nodes", "allocated"),
        ("blamed_node", "node", distinct, "result_causes", f"node IS NOT NULL AND {sure}"),
    ]
    counted += [(name, f'"{name}"', "count(*)", "results", f'"{name}" IS NOT NULL') for name in _FACETS]
    for facet, value, number, table, where in counted:
        # Grouped by places: PostgreSQL takes no constant, such as the empty value, by itself.
        place = "SELECT '{}' AS facet, {} AS value, tenant, coalesce(cluster, '') AS cluster, {} AS day, {} FROM {}"
        rows = f"{place.format(facet, value, day, number, table)} WHERE {where} GROUP BY 2, 3, 4, 5"
        connection.execute(sa.text(f"INSERT INTO result_days (facet, value, tenant, cluster, day, results) {rows}"))


# --- portions -------------------------------------------------------------------------------------------------------


def _portions(connection: sa.Connection, query: str) -> Iterator[Iterable[Any]]:
    after = 0
    while rows := connection.execute(sa.text(query), {"after": after, "most": _AT_ONCE}).all():
        yield rows
        after = rows[-1].id


def _insert(connection: sa.Connection, table: Any, rows: Iterable[dict[str, Any]]) -> None:
    held = list(rows)
    for start in range(0, len(held), _AT_ONCE):
        # With RETURNING, rows are joined into one statement; without, the driver of PostgreSQL sends each alone.
        statement: Any = sa.insert(table).returning(sa.literal_column("1"))
        connection.execute(statement, held[start : start + _AT_ONCE])
