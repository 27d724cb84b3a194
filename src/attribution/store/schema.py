"""The tables, as the migrations leave them."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    UniqueConstraint,
    text,
)

from attribution.store.columns import AnyText, Name, UtcTime, Whole

metadata = MetaData()
_SERIAL = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows by itself only for INTEGER

sessions = Table(
    "sessions",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("key", String(32), nullable=False),  # names tenant, cluster, workload and attempt
    Column("tenant", Name, nullable=False),  # '' for none: NULL is not equal to NULL
    Column("context", AnyText, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime, nullable=False),
    Column("observations", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("largest", BigInteger, nullable=False),  # size of the largest body, which bounds the search for overlaps
    Column("content", String(32), nullable=False),  # digest over the digests accepted, in the order of acceptance
    Column("revision", BigInteger, nullable=False),
    Column("diagnosis_digest", AnyText),
    UniqueConstraint("key", name="sessions_key"),
    Index("sessions_expiry", "expires_at"),
    Index("sessions_tenant", "tenant", "expires_at"),
)

observations = Table(
    "observations",
    metadata,
    Column("session_id", ForeignKey("sessions.id", ondelete="CASCADE", name="observations_session"), nullable=False),
    Column("digest", String(32), nullable=False),
    Column("stream_id", String(32), nullable=False),  # names source, node, rank and stream
    Column("stream_key", LargeBinary, nullable=False),  # the same, in an order that sorts
    Column("start", BigInteger, nullable=False),  # where the body begins in its stream
    Column("end", BigInteger, nullable=False),
    Column("format", String(64), nullable=False),
    Column("description", AnyText, nullable=False),  # the observation without its body, as JSON
    Column("raw_size", BigInteger, nullable=False),  # of the body before compression
    Column("body", LargeBinary, nullable=False),
    PrimaryKeyConstraint("session_id", "digest", name="observations_key"),
    Index("observations_place", "session_id", "stream_id", "start"),
)

_FACETS = ("terminal_state", "domain", "sub_domain", "cluster", "user")


def _others(facet: str) -> list[str]:
    return [name for name in _FACETS if name != facet]


results = Table(
    "results",
    metadata,
    Column("id", _SERIAL, primary_key=True),
    Column("key", String(32), nullable=False),  # names tenant, cluster, workload and attempt
    Column("tenant", Name, nullable=False),
    Column("at", UtcTime, nullable=False),  # when the attempt ended, or the latest that is known of it
    Column("cluster", Name),
    Column("workload_id", Name, nullable=False),
    Column("attempt", Whole, nullable=False),
    Column("scheduler", Name, nullable=False),
    Column("name", Name),
    Column("user", Name),
    Column("framework", Name),
    Column("submitted_at", UtcTime),
    Column("started_at", UtcTime),
    Column("ended_at", UtcTime),
    Column("terminal_state", Name, nullable=False),
    Column("domain", Name, nullable=False),
    Column("sub_domain", Name, nullable=False),
    Column("cause", Name),  # the symptom of the first cause
    Column("cause_meaning", AnyText),
    Column("cause_node", Name),
    Column("causes", Whole, nullable=False),
    Column("nodes", Whole, nullable=False),
    Column("summary", AnyText, nullable=False),
    Column("catalog_version", Name, nullable=False),
    Column("catalog_digest", Name, nullable=False),
    Column("input_digest", Name, nullable=False),
    Column("first_written_at", UtcTime, nullable=False),
    Column("written_at", UtcTime, nullable=False),
    Column("search", AnyText, nullable=False),  # in lower case: its words, then the names of its nodes
    UniqueConstraint("key", name="results_key"),
    # The time stands before the tenant, so that an index gives the newest first also to who may see all tenants. Behind
    # it stands what lists are narrowed and counted by, so that no row has to be read for that.
    Index("results_time", "at", "id", "tenant", *_FACETS),
    Index("results_tenant", "tenant", "at", "id", *_FACETS),
    *(
        Index(f"results_{one}", one, "at", "id", "tenant", *(name for name in _FACETS if name != one))
        for one in _FACETS
    ),
    Index("results_workload", "workload_id", "at", "id", "tenant"),
)


def _of_result() -> Column[int]:
    return Column("result_id", _SERIAL, ForeignKey("results.id", ondelete="CASCADE"), nullable=False)


def _in_cluster() -> Column[str]:
    """Names of nodes are told apart by it; '' for none: NULL is not equal to NULL."""
    return Column("cluster", Name, nullable=False, server_default="")


result_documents = Table(
    "result_documents",
    metadata,
    _of_result(),
    Column("raw_size", BigInteger, nullable=False),
    Column("document", LargeBinary, nullable=False),
    PrimaryKeyConstraint("result_id", name="result_documents_key"),
)

result_nodes = Table(
    "result_nodes",
    metadata,
    _of_result(),
    Column("node", Name, nullable=False),
    Column("tenant", Name, nullable=False),
    _in_cluster(),
    Column("at", UtcTime, nullable=False),
    Column("allocated", Boolean, nullable=False),
    Column("affected", Boolean, nullable=False),
    Column("interesting", Boolean, nullable=False),
    Column("excluded", Boolean, nullable=False),
    PrimaryKeyConstraint("result_id", "node", name="result_nodes_key"),
    Index(
        "result_nodes_history",
        *("node", "at", "result_id", "tenant", "cluster", "allocated", "affected", "interesting", "excluded"),
    ),
    Index(
        "result_nodes_affected",
        "result_id",
        "node",
        sqlite_where=text("affected = 1"),
        postgresql_where=text("affected"),
    ),
)

result_causes = Table(
    "result_causes",
    metadata,
    _of_result(),
    Column("position", Integer, nullable=False),
    Column("tenant", Name, nullable=False),
    _in_cluster(),
    Column("at", UtcTime, nullable=False),
    Column("symptom", Name, nullable=False),
    Column("sub_domain", Name, nullable=False),
    Column("node", Name),
    Column("device_kind", Name),
    Column("device", Name),
    Column("rank", Whole),
    Column("caused_at", UtcTime),
    Column("confidence", Name, nullable=False),
    Column("rule", Name, nullable=False),
    PrimaryKeyConstraint("result_id", "position", name="result_causes_key"),
    Index("result_causes_symptom", "symptom", "at", "result_id", "tenant"),
    Index("result_causes_node", "node", "at", "result_id", "tenant", "cluster", "symptom"),
)

result_units = Table(
    "result_units",
    metadata,
    _of_result(),
    Column("position", Integer, nullable=False),
    Column("node", Name, nullable=False),  # '' where no node is told, as for a port of a switch
    Column("unit", Name, nullable=False),  # `gpu 0000:1b:00`, `gpu 0000:1b:00 link 8`: the whole and each part
    Column("tenant", Name, nullable=False),
    _in_cluster(),
    Column("at", UtcTime, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("part", String(16), nullable=False),  # it had in the attempt: cause, candidate, finding, aside
    Column("blamed", Boolean, nullable=False),  # counts against it, once an attempt: see `days.is_blamed`
    Column("symptom", Name, nullable=False),
    Column("count", Whole, nullable=False),
    Column("first_at", UtcTime),
    PrimaryKeyConstraint("result_id", "position", name="result_units_key"),
    Index("result_units_history", "node", "unit", "at", "result_id", "tenant", "cluster", "part"),
    Index(
        "result_units_blamed",
        *("kind", "cluster", "node", "unit", "tenant", "at", "blamed"),  # SQLite asks for `blamed` though all have it
        sqlite_where=text("blamed = 1"),
        postgresql_where=text("blamed"),
    ),
)

result_words = Table(
    "result_words",
    metadata,
    _of_result(),
    Column("word_id", _SERIAL, nullable=False),
    PrimaryKeyConstraint("result_id", "word_id", name="result_words_key"),
    Index("result_words_word", "word_id", "result_id"),
    sqlite_with_rowid=False,
)

words = Table(
    "words",
    metadata,
    Column("id", _SERIAL, primary_key=True),
    Column("word", Name, nullable=False),  # without blanks, lower case
    UniqueConstraint("word", name="words_word"),
)

node_names = Table(
    "node_names",
    metadata,
    Column("name", Name, nullable=False),
    Column("cluster", Name, nullable=False),
    Column("folded", Name, nullable=False),  # the name in lower case, to search in
    PrimaryKeyConstraint("name", "cluster", name="node_names_key"),
)

result_days = Table(
    "result_days",
    metadata,
    Column("facet", String(16), nullable=False),
    Column("value", Name, nullable=False),
    Column("tenant", Name, nullable=False),
    Column("cluster", Name, nullable=False),  # '' for none
    Column("day", Integer, nullable=False),  # since 1970-01-01, in UTC
    Column("results", BigInteger, nullable=False),
    PrimaryKeyConstraint("facet", "value", "tenant", "cluster", "day", name="result_days_key"),
    sqlite_with_rowid=False,
)

result_symptoms = Table(
    "result_symptoms",
    metadata,
    _of_result(),
    Column("position", Integer, nullable=False),
    Column("symptom", Name, nullable=False),
    Column("role", Name, nullable=False),
    Column("status", Name, nullable=False),
    Column("node", Name),
    Column("device_kind", Name),
    Column("device", Name),
    Column("rank", Whole),
    Column("ranks", Whole, nullable=False),
    Column("count", Whole, nullable=False),
    Column("first_at", UtcTime),
    Column("last_at", UtcTime),
    Column("demoted_by", Name),
    PrimaryKeyConstraint("result_id", "position", name="result_symptoms_key"),
    Index("result_symptoms_symptom", "symptom", "result_id"),
    Index("result_symptoms_node", "node", "result_id"),
)

result_evidence = Table(
    "result_evidence",
    metadata,
    _of_result(),
    Column("position", Integer, nullable=False),
    Column("evidence_id", Name, nullable=False),
    Column("source", Name, nullable=False),
    Column("node", Name),
    Column("rank", Whole),
    Column("stream", Name, nullable=False),
    Column("line", Whole, nullable=False),
    Column("offset", Whole, nullable=False),
    Column("at", UtcTime),
    Column("uncertainty_secs", Float),
    Column("rule", Name, nullable=False),
    Column("text", AnyText, nullable=False),
    PrimaryKeyConstraint("result_id", "position", name="result_evidence_key"),
    Index("result_evidence_id", "result_id", "evidence_id"),
    Index("result_evidence_rule", "rule", "result_id"),
)

result_reports = Table(
    "result_reports",
    metadata,
    _of_result(),
    Column("position", Integer, nullable=False),
    Column("connector", Name, nullable=False),
    Column("source", Name, nullable=False),
    Column("node", Name),
    Column("window_start", UtcTime),
    Column("window_end", UtcTime),
    Column("status", Name, nullable=False),
    Column("reason", AnyText),
    Column("observations", Whole, nullable=False),
    Column("lines", Whole, nullable=False),
    Column("bytes", Whole, nullable=False),
    Column("first_at", UtcTime),
    Column("last_at", UtcTime),
    Column("retries", Whole, nullable=False),
    Column("submitted", Whole, nullable=False),
    Column("accepted", Whole, nullable=False),
    Column("duplicate", Whole, nullable=False),
    Column("rejected", Whole, nullable=False),
    PrimaryKeyConstraint("result_id", "position", name="result_reports_key"),
    Index("result_reports_connector", "connector", "status", "result_id"),
)

catalogs = Table(
    "catalogs",
    metadata,
    Column("digest", Name, nullable=False),
    Column("version", Name, nullable=False),
    Column("first_seen_at", UtcTime, nullable=False),
    Column("raw_size", BigInteger, nullable=False),
    Column("document", LargeBinary, nullable=False),
    PrimaryKeyConstraint("digest", name="catalogs_key"),
)

watch_attempts = Table(
    "watch_attempts",
    metadata,
    Column("key", String(32), nullable=False),  # names tenant, cluster, workload and attempt
    Column("tenant", Name, nullable=False),
    Column("cluster", Name),
    Column("workload_id", Name, nullable=False),
    Column("attempt", Whole, nullable=False),
    Column("origin", AnyText, nullable=False),
    Column("digest", String(32), nullable=False),  # of the document
    Column("raw_size", BigInteger, nullable=False),
    Column("document", LargeBinary, nullable=False),  # what is needed to work on it; empty once it is diagnosed
    Column("state", String(16), nullable=False),
    Column("ready_at", UtcTime, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("losses", Integer, nullable=False),  # workers that vanished with it
    Column("reason", AnyText),
    Column("lease", String(64)),
    Column("lease_until", UtcTime),
    Column("found_at", UtcTime, nullable=False),
    Column("seen_at", UtcTime, nullable=False),
    Column("changed_at", UtcTime, nullable=False),
    PrimaryKeyConstraint("key", name="watch_attempts_key"),
    Index("watch_attempts_ready", "state", "ready_at", "key"),
    Index("watch_attempts_seen", "state", "seen_at"),
    Index("watch_attempts_lease", "lease"),
)


def _of_watched(table: str) -> Column[str]:
    parent = ForeignKey("watch_attempts.key", ondelete="CASCADE", name=f"{table}_attempt")
    return Column("key", String(32), parent, nullable=False)


watch_results = Table(
    "watch_results",
    metadata,
    _of_watched("watch_results"),
    Column("raw_size", BigInteger, nullable=False),
    Column("document", LargeBinary, nullable=False),
    PrimaryKeyConstraint("key", name="watch_results_key"),
)

watch_deliveries = Table(
    "watch_deliveries",
    metadata,
    _of_watched("watch_deliveries"),
    Column("sink", Name, nullable=False),
    Column("state", String(16), nullable=False),
    Column("ready_at", UtcTime, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("reason", AnyText),
    Column("lease", String(64)),
    Column("lease_until", UtcTime),
    Column("made_at", UtcTime, nullable=False),
    Column("changed_at", UtcTime, nullable=False),
    PrimaryKeyConstraint("key", "sink", name="watch_deliveries_key"),
    Index("watch_deliveries_ready", "state", "ready_at", "key"),
    Index("watch_deliveries_lease", "lease"),
)

watch_marks = Table(
    "watch_marks",
    metadata,
    Column("name", String(32), nullable=False),  # names a context connector with its settings
    Column("until", UtcTime, nullable=False),  # how far it was asked without an error
    PrimaryKeyConstraint("name", name="watch_marks_key"),
)

watch_memory = Table(
    "watch_memory",
    metadata,
    Column("owner", String(32), nullable=False),  # names a context connector with its settings
    Column("key", Name, nullable=False),
    Column("value", AnyText, nullable=False),
    Column("until", UtcTime, nullable=False),
    PrimaryKeyConstraint("owner", "key", name="watch_memory_key"),
    Index("watch_memory_until", "until"),
)

CHILDREN = (
    result_documents,
    result_nodes,
    result_causes,
    result_units,
    result_symptoms,
    result_evidence,
    result_reports,
    result_words,
)
"""Tables whose rows belong to one result and are replaced with it."""
