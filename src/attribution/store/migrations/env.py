"""Runs the migrations on the connection it is handed, within that connection's transaction."""

from alembic import context

from attribution.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
