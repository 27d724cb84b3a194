"""What `attribution run --watch` remembers: attempts with leases, results on their way to sinks, marks and texts."""

import sqlalchemy as sa
from alembic import op

revision = "r0002"
down_revision = "r0001"

_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_TIME = sa.DateTime().with_variant(sa.DateTime(timezone=True), "postgresql")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "watch_attempts",
        sa.Column("key", sa.String(length=32), nullable=False),
        sa.Column("tenant", _TEXT, nullable=False),
        sa.Column("cluster", _TEXT),
        sa.Column("workload_id", _TEXT, nullable=False),
        sa.Column("attempt", sa.BigInteger(), nullable=False),
        sa.Column("origin", _TEXT, nullable=False),
        sa.Column("digest", sa.String(length=32), nullable=False),
        sa.Column("raw_size", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("ready_at", _TIME, nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("losses", sa.Integer(), nullable=False),
        sa.Column("reason", _TEXT),
        sa.Column("lease", sa.String(length=64)),
        sa.Column("lease_until", _TIME),
        sa.Column("found_at", _TIME, nullable=False),
        sa.Column("seen_at", _TIME, nullable=False),
        sa.Column("changed_at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("key", name="watch_attempts_key"),
    )
    op.create_index("watch_attempts_ready", "watch_attempts", ["state", "ready_at", "key"])
    op.create_index("watch_attempts_seen", "watch_attempts", ["state", "seen_at"])
    op.create_index("watch_attempts_lease", "watch_attempts", ["lease"])
    op.create_table(
        "watch_results",
        sa.Column("key", sa.String(length=32), nullable=False),
        sa.Column("raw_size", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["key"], ["watch_attempts.key"], name="watch_results_attempt", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("key", name="watch_results_key"),
    )
    op.create_table(
        "watch_deliveries",
        sa.Column("key", sa.String(length=32), nullable=False),
        sa.Column("sink", _TEXT, nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("ready_at", _TIME, nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("reason", _TEXT),
        sa.Column("lease", sa.String(length=64)),
        sa.Column("lease_until", _TIME),
        sa.Column("made_at", _TIME, nullable=False),
        sa.Column("changed_at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(["key"], ["watch_attempts.key"], name="watch_deliveries_attempt", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("key", "sink", name="watch_deliveries_key"),
    )
    op.create_index("watch_deliveries_ready", "watch_deliveries", ["state", "ready_at", "key"])
    op.create_index("watch_deliveries_lease", "watch_deliveries", ["lease"])
    op.create_table(
        "watch_marks",
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("until", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("name", name="watch_marks_key"),
    )
    op.create_table(
        "watch_memory",
        sa.Column("owner", sa.String(length=32), nullable=False),
        sa.Column("key", _TEXT, nullable=False),
        sa.Column("value", _TEXT, nullable=False),
        sa.Column("until", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("owner", "key", name="watch_memory_key"),
    )
    op.create_index("watch_memory_until", "watch_memory", ["until"])
