"""What readers do with a turn: they say whether it was right, and share it by a link."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "ratings",
        sa.Column("thread_id", sa.String(36), primary_key=True),
        sa.Column("turn", sa.Integer, primary_key=True),
        sa.Column("right", sa.Boolean, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("rated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["thread_id", "turn"], ["turns.thread_id", "turns.number"], ondelete="CASCADE"),
    )
    op.create_table(
        "shares",
        sa.Column("thread_id", sa.String(36), primary_key=True),
        sa.Column("turn", sa.Integer, primary_key=True),
        sa.Column("token_hash", sa.String(64), nullable=False, unique=True),
        sa.Column("shared_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["thread_id", "turn"], ["turns.thread_id", "turns.number"], ondelete="CASCADE"),
    )
