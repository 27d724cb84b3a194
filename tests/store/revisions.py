"""A store as an older revision of the program left it."""

from alembic import command
from sqlalchemy import text

from attribution.store.database import Store
from attribution.store.migrate import _config
from attribution.store.schema import metadata


def at_revision(store: Store, revision: str) -> None:
    """Empty a store and leave it with the tables of a revision."""
    config = _config()
    with store.write() as connection:
        metadata.drop_all(connection)
        connection.execute(text("DROP TABLE alembic_version"))
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
