"""Whose a thread is, where a client says it."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("threads", sa.Column("user_id", sa.String(200)))
    op.create_index("threads_of_a_user", "threads", ["user_id"])
