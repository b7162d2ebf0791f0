"""All tables. Changes here need a migration beside them."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import JSON, Column, DateTime, Dialect, Integer, LargeBinary, MetaData, String, Table, Text
from sqlalchemy.types import TypeDecorator


class Moment(TypeDecorator[datetime]):
    """A time in UTC. SQLite drops the zone, so it is put back on the way out."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is not None and value.tzinfo is None:
            raise ValueError("a time without a zone")
        return value.astimezone(UTC) if value else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value.replace(tzinfo=UTC) if value and value.tzinfo is None else value


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
