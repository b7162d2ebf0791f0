"""All tables. A change here needs a migration."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)
from sqlalchemy.types import TypeDecorator, TypeEngine


class Moment(TypeDecorator[datetime]):
    """A time in UTC. SQLite drops the zone, so it is put back on the way out."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is not None and value.tzinfo is None:
            raise ValueError("a time without a zone")
        try:
            return value.astimezone(UTC) if value else None
        except OverflowError:  # the first or last day there is, in another zone
            return (datetime.min if value and value.year == 1 else datetime.max).replace(tzinfo=UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value.replace(tzinfo=UTC) if value and value.tzinfo is None else value


class Words(TypeDecorator[str]):
    """Text that a reader, a book or a model wrote. PostgreSQL takes no NUL in it, neither database takes half a surrogate
    pair, and what is longer than its column is cut."""

    impl = String
    cache_ok = True

    def __init__(self, length: int | None = None) -> None:
        super().__init__(length)
        self.length = length

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[str]:
        return dialect.type_descriptor(String(self.length) if self.length else Text())

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        if value is None:
            return None
        return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")[: self.length]


metadata = MetaData()

# Document D's IngestionState, one row per book; its `records` are the rows of `ingestion_records`.
books = Table(
    "books",
    metadata,
    Column("book_id", String(100), primary_key=True),
    Column("title", Text, nullable=False),
    Column("language", String(20), nullable=False),
    Column("collection_name", String(64), nullable=False),
    Column("source_root", Text, nullable=False),
    Column("last_full_ingest", Moment),
    Column("last_incremental_update", Moment),
    Column("total_chunks", Integer, nullable=False),
    Column("options", JSON(none_as_null=True)),
)

# Document D's IngestionRecord. The collection is part of the key because `recreate` fills a second one beside the first.
ingestion_records = Table(
    "ingestion_records",
    metadata,
    Column("book_id", String(100), primary_key=True),
    Column("collection_name", String(64), primary_key=True),
    Column("source_file", String(1000), primary_key=True),
    Column("file_hash", String(64), nullable=False),
    Column("fingerprint", String(64), nullable=False),
    Column("id_base", String(1000), nullable=False),
    Column("claim", JSON, nullable=False),
    Column("chunk_ids", JSON, nullable=False),
    Column("chunk_count", Integer, nullable=False),
    Column("ingested_at", Moment, nullable=False),
    Column("module", String(200), nullable=False),
    Column("chapter", Integer, nullable=False),
    Column("lesson", Integer, nullable=False),
    Column("warnings", JSON, nullable=False),
)

# Which collections may hold something of a book: written before the first chunk goes in, removed after the last is out.
reservations = Table(
    "reservations",
    metadata,
    Column("book_id", String(100), primary_key=True),
    Column("collection_name", String(64), primary_key=True),
)

# Embeddings by what was embedded and by whom, so that unchanged text is never embedded again.
embeddings = Table(
    "embeddings",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("vector", LargeBinary, nullable=False),
)

# A conversation that is kept. The view `conversation_threads` shows it and its messages as document E has them; the migration
# that makes it also makes its indexes on `created_at` and `updated_at`. `turn_token` and `turn_expires_at` are the lease of the
# turn now running in it. `said` is a digest of the conversation, for clients that keep it themselves and send it whole instead of
# the thread's id.
threads = Table(
    "threads",
    metadata,
    Column("thread_id", String(36), primary_key=True),
    Column("book_id", String(100), nullable=False),
    Column("key_id", String(32)),
    Column("title", Words),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("topic_summary", Words(200)),
    Column("metadata", JSON, nullable=False),
    Column("turn_count", Integer, nullable=False),
    Column("turn_token", String(36)),
    Column("turn_expires_at", Moment),
    Column("said", String(64)),
    Index("threads_that_said", "said"),
    Column("user_id", Words(200)),
    Index("threads_of_a_key", "key_id", "updated_at"),
    Index("threads_of_a_book", "book_id", "updated_at"),
    Index("threads_in_a_turn", "turn_expires_at"),
    Index("threads_of_a_user", "user_id"),
)

# The whole transcript, in the order of turn and position. Archived messages are kept and no longer shown.
messages = Table(
    "messages",
    metadata,
    Column("thread_id", String(36), ForeignKey("threads.thread_id", ondelete="CASCADE"), primary_key=True),
    Column("turn", Integer, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("role", String(10), nullable=False),
    Column("content", Words, nullable=False),
    Column("tool_name", Words(64)),
    Column("tool_calls", JSON(none_as_null=True)),
    Column("tool_call_id", Words(64)),
    Column("timestamp", Moment, nullable=False),
    Column("confidence", Float),
    Column("archived", Boolean, nullable=False),
)

# What a turn ended with, whole, and how it came about.
turns = Table(
    "turns",
    metadata,
    Column("thread_id", String(36), ForeignKey("threads.thread_id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("book_id", String(100), nullable=False),
    Column("refused", Boolean, nullable=False),
    Column("confidence_level", String(12), nullable=False),
    Column("answer", JSON, nullable=False),
    Column("trace", JSON, nullable=False),
    Column("created_at", Moment, nullable=False),
    Index("turns_of_a_book", "book_id", "created_at"),
)

# Which chunk each stored answer cites, so that an edit can name the answers it makes stale.
cited = Table(
    "cited",
    metadata,
    Column("thread_id", String(36), primary_key=True),
    Column("turn", Integer, primary_key=True),
    Column("label", Integer, primary_key=True),
    Column("chunk_id", Words(36), primary_key=True),
    Column("book_id", String(100), nullable=False),
    Column("stale_since", Moment),
    ForeignKeyConstraint(["thread_id", "turn"], ["turns.thread_id", "turns.number"], ondelete="CASCADE"),
    Index("cited_chunks", "book_id", "chunk_id"),
)

# Whether a reader found a turn right, and why not.
ratings = Table(
    "ratings",
    metadata,
    Column("thread_id", String(36), primary_key=True),
    Column("turn", Integer, primary_key=True),
    Column("right", Boolean, nullable=False),
    Column("reason", Words, nullable=False),
    Column("rated_at", Moment, nullable=False),
    ForeignKeyConstraint(["thread_id", "turn"], ["turns.thread_id", "turns.number"], ondelete="CASCADE"),
)

# Turns that their reader shares by a link. Only the hash of its token is here.
shares = Table(
    "shares",
    metadata,
    Column("thread_id", String(36), primary_key=True),
    Column("turn", Integer, primary_key=True),
    Column("token_hash", String(64), nullable=False, unique=True),
    Column("shared_at", Moment, nullable=False),
    ForeignKeyConstraint(["thread_id", "turn"], ["turns.thread_id", "turns.number"], ondelete="CASCADE"),
)

# Questions that the book answers, found for each lesson and, under an empty path, for the whole book. `found_in` is a digest of
# what they were found in.
worth_asking = Table(
    "worth_asking",
    metadata,
    Column("book_id", String(100), primary_key=True),
    Column("source_file", String(1000), primary_key=True),
    Column("found_in", String(64), nullable=False),
    Column("questions", JSON, nullable=False),
)

# API keys. Only the hash of the secret is here.
keys = Table(
    "keys",
    metadata,
    Column("key_id", String(32), primary_key=True),
    Column("secret_hash", String(64), nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("scopes", JSON, nullable=False),
    Column("book_id", String(100)),
    Column("requests_per_minute", Integer, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("last_used_at", Moment),
    Column("revoked_at", Moment),
    Column("expires_at", Moment),
    Column("previous_hash", String(64)),  # of the secret before the last rotation, which is good until then
    Column("previous_until", Moment),
    Column("requests_per_day", Integer),
    Column("tokens_per_day", Integer),
    Column("streams_at_once", Integer),
    Index("keys_by_previous_hash", "previous_hash"),
)

# What a key used on a day (UTC).
key_usage = Table(
    "key_usage",
    metadata,
    Column("key_id", String(32), primary_key=True),
    Column("day", String(10), primary_key=True),
    Column("requests", Integer, nullable=False),
    Column("tokens", BigInteger, nullable=False),
)

# Who did what.
audit_log = Table(
    "audit_log",
    metadata,
    Column("entry_id", Integer, primary_key=True),
    Column("at", Moment, nullable=False),
    Column("actor", Words(64), nullable=False),
    Column("action", String(40), nullable=False),
    Column("subject", Words(200), nullable=False),
    Column("details", JSON, nullable=False),
    Index("audit_log_in_time", "at"),
)

# Document D's IngestionJob, and the lease of the worker that runs it. `host`: the only machine that has its folder.
jobs = Table(
    "jobs",
    metadata,
    Column("job_id", Integer, primary_key=True),
    Column("book_id", String(100), nullable=False),
    Column("mode", String(12), nullable=False),
    Column("status", String(10), nullable=False),
    Column("source", JSON, nullable=False),
    Column("host", String(255)),
    Column("files_total", Integer, nullable=False),
    Column("files_processed", Integer, nullable=False),
    Column("files_skipped", Integer, nullable=False),
    Column("chunks_created", Integer, nullable=False),
    Column("chunks_deleted", Integer, nullable=False),
    Column("queued_at", Moment, nullable=False),
    Column("run_after", Moment, nullable=False),
    Column("started_at", Moment),
    Column("completed_at", Moment),
    Column("duration_seconds", Integer),
    Column("error_message", Text),
    Column("failed_files", JSON, nullable=False),
    Column("progress", JSON),
    Column("report", JSON),
    Column("attempts", Integer, nullable=False),
    Column("cancel_requested", Boolean, nullable=False),
    Column("owner", String(100)),
    Column("lease_expires_at", Moment),
    Index("jobs_waiting", "status", "run_after", "job_id"),
    Index("jobs_of_a_book", "book_id", "status"),
    # At most one running job per book, whatever two workers do at the same moment: the migration makes an index that sees to
    # it. It is not repeated here, where PostgreSQL's condition would import the dialect for all who have none.
)
