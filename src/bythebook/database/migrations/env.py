"""Alembic runs this. The connection is handed over by `database.engine`; there is no ini file and no offline mode."""

from alembic import context

from bythebook.database.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
