"""Keys that end, are rotated and have daily quotas; what they used; and who did what."""

import sqlalchemy as sa
from alembic import op

from bythebook.database.tables import Moment

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for column in (
        sa.Column("expires_at", Moment),
        sa.Column("previous_hash", sa.String(64)),
        sa.Column("previous_until", Moment),
        sa.Column("requests_per_day", sa.Integer),
        sa.Column("tokens_per_day", sa.Integer),
        sa.Column("streams_at_once", sa.Integer),
    ):
        op.add_column("keys", column)
    op.create_index("keys_by_previous_hash", "keys", ["previous_hash"])
    op.create_table(
        "key_usage",
        sa.Column("key_id", sa.String(32), primary_key=True),
        sa.Column("day", sa.String(10), primary_key=True),
        sa.Column("requests", sa.Integer, nullable=False),
        sa.Column("tokens", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "audit_log",
        sa.Column("entry_id", sa.Integer, primary_key=True),
        sa.Column("at", Moment, nullable=False),
        sa.Column("actor", sa.String(64), nullable=False),
        sa.Column("action", sa.String(40), nullable=False),
        sa.Column("subject", sa.String(200), nullable=False),
        sa.Column("details", sa.JSON, nullable=False),
    )
    op.create_index("audit_log_in_time", "audit_log", ["at"])
