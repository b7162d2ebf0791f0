"""Whose a thread is, where its client said so."""

import sqlalchemy as sa
from alembic import op

from bythebook.database.tables import Words

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("threads", sa.Column("user_id", sa.String(200)))
    op.create_index("threads_of_a_user", "threads", ["user_id"])
    threads = sa.table("threads", sa.column("thread_id"), sa.column("metadata", sa.JSON), sa.column("user_id", Words(200)))
    connection = op.get_bind()
    for row in connection.execute(sa.select(threads.c.thread_id, threads.c.metadata)).all():
        if user_id := row.metadata.get("user_id"):
            of_this = sa.update(threads).where(threads.c.thread_id == row.thread_id)
            connection.execute(of_this.values(user_id=str(user_id)))
