"""What was said of a book at the command line: it holds for later ingestions, too."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("books", sa.Column("options", sa.JSON))
