"""Threads, keys and jobs."""

import sqlalchemy as sa
from alembic import op

from bythebook.database.tables import Moment

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "threads",
        sa.Column("thread_id", sa.String(36), primary_key=True),
        sa.Column("book_id", sa.String(100), nullable=False),
        sa.Column("key_id", sa.String(32)),
        sa.Column("title", sa.Text),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("updated_at", Moment, nullable=False),
        sa.Column("topic_summary", sa.String(200)),
        sa.Column("metadata", sa.JSON, nullable=False),
        sa.Column("turn_count", sa.Integer, nullable=False),
        sa.Column("turn_token", sa.String(36)),
        sa.Column("turn_expires_at", Moment),
    )
    op.create_index("threads_of_a_key", "threads", ["key_id", "updated_at"])
    op.create_index("threads_of_a_book", "threads", ["book_id", "updated_at"])
    op.create_index("threads_in_a_turn", "threads", ["turn_expires_at"])
    op.create_table(
        "messages",
        sa.Column("thread_id", sa.String(36), sa.ForeignKey("threads.thread_id", ondelete="CASCADE"), primary_key=True),
        sa.Column("turn", sa.Integer, primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True),
        sa.Column("role", sa.String(10), nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("tool_name", sa.String(64)),
        sa.Column("tool_calls", sa.JSON(none_as_null=True)),
        sa.Column("tool_call_id", sa.String(64)),
        sa.Column("timestamp", Moment, nullable=False),
        sa.Column("confidence", sa.Float),
        sa.Column("archived", sa.Boolean, nullable=False),
    )
    op.create_table(
        "turns",
        sa.Column("thread_id", sa.String(36), sa.ForeignKey("threads.thread_id", ondelete="CASCADE"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("book_id", sa.String(100), nullable=False),
        sa.Column("refused", sa.Boolean, nullable=False),
        sa.Column("confidence_level", sa.String(12), nullable=False),
        sa.Column("answer", sa.JSON, nullable=False),
        sa.Column("trace", sa.JSON, nullable=False),
        sa.Column("created_at", Moment, nullable=False),
    )
    op.create_index("turns_of_a_book", "turns", ["book_id", "created_at"])
    op.create_table(
        "cited",
        sa.Column("thread_id", sa.String(36), primary_key=True),
        sa.Column("turn", sa.Integer, primary_key=True),
        sa.Column("label", sa.Integer, primary_key=True),
        sa.Column("chunk_id", sa.String(36), primary_key=True),
        sa.Column("book_id", sa.String(100), nullable=False),
        sa.Column("stale_since", Moment),
        sa.ForeignKeyConstraint(["thread_id", "turn"], ["turns.thread_id", "turns.number"], ondelete="CASCADE"),
    )
    op.create_index("cited_chunks", "cited", ["book_id", "chunk_id"])
    op.create_table(
        "keys",
        sa.Column("key_id", sa.String(32), primary_key=True),
        sa.Column("secret_hash", sa.String(64), nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("scopes", sa.JSON, nullable=False),
        sa.Column("book_id", sa.String(100)),
        sa.Column("requests_per_minute", sa.Integer, nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("last_used_at", Moment),
        sa.Column("revoked_at", Moment),
    )
    op.create_table(
        "jobs",
        sa.Column("job_id", sa.Integer, primary_key=True),
        sa.Column("book_id", sa.String(100), nullable=False),
        sa.Column("mode", sa.String(12), nullable=False),
        sa.Column("status", sa.String(10), nullable=False),
        sa.Column("source", sa.JSON, nullable=False),
        sa.Column("host", sa.String(255)),
        sa.Column("files_total", sa.Integer, nullable=False),
        sa.Column("files_processed", sa.Integer, nullable=False),
        sa.Column("files_skipped", sa.Integer, nullable=False),
        sa.Column("chunks_created", sa.Integer, nullable=False),
        sa.Column("chunks_deleted", sa.Integer, nullable=False),
        sa.Column("queued_at", Moment, nullable=False),
        sa.Column("run_after", Moment, nullable=False),
        sa.Column("started_at", Moment),
        sa.Column("completed_at", Moment),
        sa.Column("duration_seconds", sa.Integer),
        sa.Column("error_message", sa.Text),
        sa.Column("failed_files", sa.JSON, nullable=False),
        sa.Column("progress", sa.JSON),
        sa.Column("report", sa.JSON),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("cancel_requested", sa.Boolean, nullable=False),
        sa.Column("owner", sa.String(100)),
        sa.Column("lease_expires_at", Moment),
    )
    op.create_index("jobs_waiting", "jobs", ["status", "run_after", "job_id"])
    op.create_index("jobs_of_a_book", "jobs", ["book_id", "status"])
    running = sa.text("status = 'running'")
    op.create_index("jobs_running", "jobs", ["book_id"], unique=True, sqlite_where=running, postgresql_where=running)
