"""The questions worth asking of a book and of each of its lessons, found once."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "worth_asking",
        sa.Column("book_id", sa.String(100), primary_key=True),
        sa.Column("source_file", sa.String(1000), primary_key=True),
        sa.Column("found_in", sa.String(64), nullable=False),
        sa.Column("questions", sa.JSON, nullable=False),
    )
