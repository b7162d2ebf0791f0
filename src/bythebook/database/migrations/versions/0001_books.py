"""Books, what was ingested of them, and the embedding cache."""

import sqlalchemy as sa
from alembic import op

from bythebook.database.tables import Moment

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "books",
        sa.Column("book_id", sa.String(100), primary_key=True),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("language", sa.String(20), nullable=False),
        sa.Column("collection_name", sa.String(64), nullable=False),
        sa.Column("source_root", sa.Text, nullable=False),
        sa.Column("last_full_ingest", Moment),
        sa.Column("last_incremental_update", Moment),
        sa.Column("total_chunks", sa.Integer, nullable=False),
    )
    op.create_table(
        "ingestion_records",
        sa.Column("book_id", sa.String(100), primary_key=True),
        sa.Column("collection_name", sa.String(64), primary_key=True),
        sa.Column("source_file", sa.String(1000), primary_key=True),
        sa.Column("file_hash", sa.String(64), nullable=False),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("id_base", sa.String(1000), nullable=False),
        sa.Column("claim", sa.JSON, nullable=False),
        sa.Column("chunk_ids", sa.JSON, nullable=False),
        sa.Column("chunk_count", sa.Integer, nullable=False),
        sa.Column("ingested_at", Moment, nullable=False),
        sa.Column("module", sa.String(200), nullable=False),
        sa.Column("chapter", sa.Integer, nullable=False),
        sa.Column("lesson", sa.Integer, nullable=False),
        sa.Column("warnings", sa.JSON, nullable=False),
    )
    op.create_table(
        "reservations",
        sa.Column("book_id", sa.String(100), primary_key=True),
        sa.Column("collection_name", sa.String(64), primary_key=True),
    )
    op.create_table(
        "embeddings",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("vector", sa.LargeBinary, nullable=False),
    )
