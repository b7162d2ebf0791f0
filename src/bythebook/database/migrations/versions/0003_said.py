"""A digest of what a thread has said, by which clients that keep the conversation themselves find it again."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("threads", sa.Column("said", sa.String(64)))
    op.create_index("threads_that_said", "threads", ["said"])
