"""Tables are brought to the revision of this program, once, however many processes start at the same time."""

import logging
import threading

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from attribution.store.faults import refused

_LOCK_KEY = 0x6174747269627574
"""Key of PostgreSQL's advisory lock: the word of this program in eight bytes."""
_ONE_AT_A_TIME = threading.Lock()  # alembic keeps its context in module globals


def upgrade(connection: Connection, place: str) -> None:
    """Migrate to head within the connection's open transaction, which on SQLite already holds the write lock."""
    with _ONE_AT_A_TIME:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK_KEY})
        if is_at_head(connection, place):
            return
        logging.getLogger("alembic").setLevel(logging.WARNING)
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def is_at_head(connection: Connection, place: str) -> bool:
    """Whether the tables are those of this program. Refuses what is no database of it."""
    return _current(connection, place) == _head()


def require_head(connection: Connection, place: str) -> None:
    """Return if the tables are those of this program; else say what to do."""
    current = _current(connection, place)
    if current is None:
        raise refused(
            place, "T006", "has no tables of this program yet", "run `attribution run` or `attribution serve`"
        )
    if current != _head():
        remedy = "start `attribution serve` or `attribution run` of this version once; it brings the tables up to date"
        raise refused(place, "T007", "was last written by an older version of this program", remedy)


def _current(connection: Connection, place: str) -> str | None:
    """The revision of the tables; None if there are none. Refuses revisions of a newer program."""
    revision = MigrationContext.configure(connection).get_current_revision()
    if revision is None:
        foreign = sorted({"sessions", "results"} & set(inspect(connection).get_table_names()))
        if foreign:  # unless another has made them since the first look
            revision = MigrationContext.configure(connection).get_current_revision()
        if foreign and revision is None:
            remedy = "give a database of its own"
            raise refused(place, "T008", f"has a table `{foreign[0]}` that is not of this program", remedy)
    if revision is not None and revision not in {
        script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()
    }:
        remedy = "update this program, or give it another database"
        raise refused(place, "T005", "was written by a newer version of this program", remedy)
    return revision


def _head() -> str | None:
    return ScriptDirectory.from_config(_config()).get_current_head()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", "attribution.store:migrations")
    return config
