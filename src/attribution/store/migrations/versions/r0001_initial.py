"""The first tables: sessions with their observations, results with what is asked about them, catalogs."""

import sqlalchemy as sa
from alembic import op

revision = "r0001"
down_revision = None

_SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_TIME = sa.DateTime().with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    """Make every table."""
    op.create_table(
        "catalogs",
        sa.Column("digest", _TEXT, nullable=False),
        sa.Column("version", _TEXT, nullable=False),
        sa.Column("first_seen_at", _TIME, nullable=False),
        sa.Column("raw_size", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="catalogs_key"),
    )
    op.create_table(
        "results",
        sa.Column("id", _SERIAL, nullable=False),
        sa.Column("key", sa.String(length=32), nullable=False),
        sa.Column("tenant", _TEXT, nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.Column("cluster", _TEXT),
        sa.Column("workload_id", _TEXT, nullable=False),
        sa.Column("attempt", sa.BigInteger(), nullable=False),
        sa.Column("scheduler", _TEXT, nullable=False),
        sa.Column("name", _TEXT),
        sa.Column("user", _TEXT),
        sa.Column("framework", _TEXT),
        sa.Column("submitted_at", _TIME),
        sa.Column("started_at", _TIME),
        sa.Column("ended_at", _TIME),
        sa.Column("terminal_state", _TEXT, nullable=False),
        sa.Column("domain", _TEXT, nullable=False),
        sa.Column("sub_domain", _TEXT, nullable=False),
        sa.Column("cause", _TEXT),
        sa.Column("cause_meaning", _TEXT),
        sa.Column("cause_node", _TEXT),
        sa.Column("causes", sa.BigInteger(), nullable=False),
        sa.Column("nodes", sa.BigInteger(), nullable=False),
        sa.Column("summary", _TEXT, nullable=False),
        sa.Column("catalog_version", _TEXT, nullable=False),
        sa.Column("catalog_digest", _TEXT, nullable=False),
        sa.Column("input_digest", _TEXT, nullable=False),
        sa.Column("first_written_at", _TIME, nullable=False),
        sa.Column("written_at", _TIME, nullable=False),
        sa.Column("search", _TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("key", name="results_key"),
    )
    op.create_index("results_cause", "results", ["cause", "tenant", "at", "id"])
    op.create_index("results_cluster", "results", ["cluster", "tenant", "at", "id"])
    op.create_index("results_sub_domain", "results", ["sub_domain", "tenant", "at", "id"])
    op.create_index("results_tenant", "results", ["tenant", "at", "id"])
    op.create_index("results_terminal_state", "results", ["terminal_state", "tenant", "at", "id"])
    op.create_index("results_time", "results", ["at", "id"])
    op.create_index("results_user", "results", ["user", "tenant", "at", "id"])
    op.create_index("results_workload", "results", ["workload_id", "tenant", "at", "id"])
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=32), nullable=False),
        sa.Column("tenant", _TEXT, nullable=False),
        sa.Column("context", _TEXT, nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("expires_at", _TIME, nullable=False),
        sa.Column("observations", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("largest", sa.BigInteger(), nullable=False),
        sa.Column("content", sa.String(length=32), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("diagnosis_digest", _TEXT),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("key", name="sessions_key"),
    )
    op.create_index("sessions_expiry", "sessions", ["expires_at"])
    op.create_index("sessions_tenant", "sessions", ["tenant", "expires_at"])
    op.create_table(
        "observations",
        sa.Column("session_id", sa.String(length=64), nullable=False),
        sa.Column("digest", sa.String(length=32), nullable=False),
        sa.Column("stream_id", sa.String(length=32), nullable=False),
        sa.Column("stream_key", sa.LargeBinary(), nullable=False),
        sa.Column("start", sa.BigInteger(), nullable=False),
        sa.Column("end", sa.BigInteger(), nullable=False),
        sa.Column("format", sa.String(length=64), nullable=False),
        sa.Column("description", _TEXT, nullable=False),
        sa.Column("raw_size", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name="observations_session", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("session_id", "digest", name="observations_key"),
    )
    op.create_index("observations_place", "observations", ["session_id", "stream_id", "start"])
    op.create_table(
        "result_causes",
        sa.Column("result_id", _SERIAL, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("tenant", _TEXT, nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.Column("symptom", _TEXT, nullable=False),
        sa.Column("sub_domain", _TEXT, nullable=False),
        sa.Column("node", _TEXT),
        sa.Column("device_kind", _TEXT),
        sa.Column("device", _TEXT),
        sa.Column("rank", sa.BigInteger()),
        sa.Column("caused_at", _TIME),
        sa.Column("confidence", _TEXT, nullable=False),
        sa.Column("rule", _TEXT, nullable=False),
        sa.ForeignKeyConstraint(["result_id"], ["results.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("result_id", "position", name="result_causes_key"),
    )
    op.create_index("result_causes_node", "result_causes", ["node", "tenant", "at", "result_id"])
    op.create_index("result_causes_symptom", "result_causes", ["symptom", "tenant", "at", "result_id"])
    op.create_table(
        "result_documents",
        sa.Column("result_id", _SERIAL, nullable=False),
        sa.Column("raw_size", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["result_id"], ["results.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("result_id", name="result_documents_key"),
    )
    op.create_table(
        "result_evidence",
        sa.Column("result_id", _SERIAL, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("evidence_id", _TEXT, nullable=False),
        sa.Column("source", _TEXT, nullable=False),
        sa.Column("node", _TEXT),
        sa.Column("rank", sa.BigInteger()),
        sa.Column("stream", _TEXT, nullable=False),
        sa.Column("line", sa.BigInteger(), nullable=False),
        sa.Column("offset", sa.BigInteger(), nullable=False),
        sa.Column("at", _TIME),
        sa.Column("uncertainty_secs", sa.Float()),
        sa.Column("rule", _TEXT, nullable=False),
        sa.Column("text", _TEXT, nullable=False),
        sa.ForeignKeyConstraint(["result_id"], ["results.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("result_id", "position", name="result_evidence_key"),
    )
    op.create_index("result_evidence_id", "result_evidence", ["result_id", "evidence_id"])
    op.create_index("result_evidence_rule", "result_evidence", ["rule", "result_id"])
    op.create_table(
        "result_nodes",
        sa.Column("result_id", _SERIAL, nullable=False),
        sa.Column("node", _TEXT, nullable=False),
        sa.Column("tenant", _TEXT, nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.Column("allocated", sa.Boolean(), nullable=False),
        sa.Column("affected", sa.Boolean(), nullable=False),
        sa.Column("interesting", sa.Boolean(), nullable=False),
        sa.Column("excluded", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["result_id"], ["results.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("result_id", "node", name="result_nodes_key"),
    )
    op.create_index("result_nodes_history", "result_nodes", ["node", "tenant", "at", "result_id"])
    op.create_table(
        "result_reports",
        sa.Column("result_id", _SERIAL, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("connector", _TEXT, nullable=False),
        sa.Column("source", _TEXT, nullable=False),
        sa.Column("node", _TEXT),
        sa.Column("window_start", _TIME),
        sa.Column("window_end", _TIME),
        sa.Column("status", _TEXT, nullable=False),
        sa.Column("reason", _TEXT),
        sa.Column("observations", sa.BigInteger(), nullable=False),
        sa.Column("lines", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("first_at", _TIME),
        sa.Column("last_at", _TIME),
        sa.Column("retries", sa.BigInteger(), nullable=False),
        sa.Column("submitted", sa.BigInteger(), nullable=False),
        sa.Column("accepted", sa.BigInteger(), nullable=False),
        sa.Column("duplicate", sa.BigInteger(), nullable=False),
        sa.Column("rejected", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["result_id"], ["results.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("result_id", "position", name="result_reports_key"),
    )
    op.create_index("result_reports_connector", "result_reports", ["connector", "status", "result_id"])
    op.create_table(
        "result_symptoms",
        sa.Column("result_id", _SERIAL, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("symptom", _TEXT, nullable=False),
        sa.Column("role", _TEXT, nullable=False),
        sa.Column("status", _TEXT, nullable=False),
        sa.Column("node", _TEXT),
        sa.Column("device_kind", _TEXT),
        sa.Column("device", _TEXT),
        sa.Column("rank", sa.BigInteger()),
        sa.Column("ranks", sa.BigInteger(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("first_at", _TIME),
        sa.Column("last_at", _TIME),
        sa.Column("demoted_by", _TEXT),
        sa.ForeignKeyConstraint(["result_id"], ["results.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("result_id", "position", name="result_symptoms_key"),
    )
    op.create_index("result_symptoms_node", "result_symptoms", ["node", "result_id"])
    op.create_index("result_symptoms_symptom", "result_symptoms", ["symptom", "result_id"])

    if op.get_bind().dialect.name == "postgresql":  # bodies are compressed already
        for table, column in (("observations", "body"), ("result_documents", "document"), ("catalogs", "document")):
            op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE EXTERNAL")
