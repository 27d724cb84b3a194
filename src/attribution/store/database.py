"""A Store is an open database whose tables are those of this program."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DBAPIError, DisconnectionError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from attribution.store.address import Address, PostgresAddress, SqliteAddress, address
from attribution.store.faults import DatabaseDamaged, fault_of, reason_of, refused, told
from attribution.store.migrate import is_at_head, require_head, upgrade

_PATIENCE_SECS = 30.0
"""How long a statement may wait: for another writer, or for the server."""
_GRACE_SECS = 10.0
"""How much longer a silent server is waited for."""
_MIGRATION_SECS = 3600.0
"""How long one step of a migration may take."""
_POOL: Any = {"pool_size": 5, "max_overflow": 15, "pool_timeout": _PATIENCE_SECS, "hide_parameters": True}
"""Connections that are kept open, and that are opened beyond them when threads need more."""
_WRITE = "BEGIN IMMEDIATE"


@dataclass(frozen=True, slots=True)
class Store:
    """A handle that threads share. `place` names the database in messages, without secrets."""

    engine: Engine
    place: str
    read_only: bool = False

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that only reads."""
        with self._faults(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that writes; what it did is durable when the block is left, or did not happen."""
        with self._faults(), self.engine.execution_options(begin=_WRITE).begin() as connection:
            yield connection

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            fault = fault_of(self.place, error)
            if fault is None:
                raise
            raise fault from None
        except PoolTimeout:
            raise told(self.place, "has too many users at once") from None
        except OSError as error:
            raise told(self.place, f"cannot be used now: {error.strerror or error}") from None

    def close(self) -> None:
        """Give back every connection."""
        self.engine.dispose()


def open_store(url: str, *, read_only: bool = False) -> Store:
    """Open a database, make it if it is missing, and bring its tables up to date.

    `url` is `sqlite:///path`, a bare path, or `postgresql://user:password@host:port/database`. With `read_only`
    nothing is made or changed. Raises ConfigurationError when the URL, the database or its revision does not fit.
    """
    where = address(url)
    if isinstance(where, SqliteAddress):
        _file_ready(where, read_only)
    store = Store(_engine(where, read_only, _PATIENCE_SECS), where.shown, read_only)
    try:
        _prepare(store, where)
    except DBAPIError as error:
        store.close()
        raise _cannot_open(where, error) from None
    except BaseException:
        store.close()
        raise
    return store


def _file_ready(where: SqliteAddress, read_only: bool) -> None:
    if where.path.is_dir():
        raise refused(where.shown, "T004", "is a folder", "give the path of a file")
    if read_only and not where.path.exists():
        raise refused(where.shown, "T006", "does not exist yet", "run `attribution run` or `attribution serve` first")
    if not read_only:
        try:
            where.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"cannot be made: {error.strerror or error}"
            raise refused(str(where.path.parent), "T004", message, "give a folder that may be written") from None


def _prepare(store: Store, where: Address) -> None:
    if isinstance(where, SqliteAddress) and not store.read_only:
        _use_wal(store.engine)
    with store.engine.begin() as connection:
        if isinstance(where, PostgresAddress):
            _require_utf8(connection, where)
        if store.read_only:
            require_head(connection, where.shown)
            return
        if is_at_head(connection, where.shown):
            return
    patient = _engine(where, read_only=False, patience_secs=_MIGRATION_SECS)
    try:
        with patient.execution_options(begin=_WRITE).begin() as connection:
            upgrade(connection, where.shown)
    finally:
        patient.dispose()


def _require_utf8(connection: Connection, where: Address) -> None:
    encoding = connection.execute(text("SHOW server_encoding")).scalar()
    if encoding != "UTF8":
        remedy = "create the database with ENCODING 'UTF8'"
        raise refused(where.shown, "T009", f"keeps text as {encoding}, not as UTF8", remedy)


def _use_wal(engine: Engine) -> None:
    """Readers and the writer do not wait for each other. The switch does not queue behind a lock, so it is retried."""
    give_up = time.monotonic() + _PATIENCE_SECS
    while True:
        try:
            with engine.execution_options(begin=None).connect() as connection:
                connection.exec_driver_sql("PRAGMA journal_mode=WAL")
            return
        except OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > give_up:
                raise
            time.sleep(0.02)


def _cannot_open(where: Address, error: DBAPIError) -> Exception:
    fault = fault_of(where.shown, error)
    if isinstance(fault, DatabaseDamaged) and "malformed" in str(fault):
        return fault
    reason, code = reason_of(error)
    if isinstance(where, SqliteAddress):
        return refused(
            where.shown,
            "T004",
            f"cannot be opened as a SQLite database: {reason}",
            "check the path and its permissions",
        )
    if code in {"28P01", "28000"}:
        return refused(where.shown, "T004", "refused the user or the password", "check both in the database URL")
    if code:
        return refused(where.shown, "T004", f"refused: {reason}", "check the database URL and the user's rights")
    cause = error.orig.__cause__ if error.orig else None
    why = getattr(cause, "strerror", None) or (str(cause) if cause else reason)
    remedy = "check host and port in the database URL, and that the server runs"
    return refused(where.shown, "T004", f"cannot be reached: {' '.join(why.split())}", remedy)


def _engine(where: Address, read_only: bool, patience_secs: float) -> Engine:
    if isinstance(where, SqliteAddress):
        return _sqlite(where, read_only, patience_secs)
    return _postgres(where, read_only, patience_secs)


def _sqlite(where: SqliteAddress, read_only: bool, patience_secs: float) -> Engine:
    file = where.path.as_uri()
    url = URL.create("sqlite", database=file, query={"mode": "ro" if read_only else "rwc", "uri": "true"})
    engine = create_engine(url, connect_args={"timeout": patience_secs}, **_POOL)

    @event.listens_for(engine, "connect")
    def connected(connection: Any, record: Any) -> None:
        record.info["file"] = _identity(where.path)
        connection.isolation_level = None  # the driver would begin transactions at its own time
        for pragma in ("foreign_keys=ON", "synchronous=FULL", f"query_only={'ON' if read_only else 'OFF'}"):
            connection.execute(f"PRAGMA {pragma}")

    if read_only:

        @event.listens_for(engine, "checkout")
        def taken(_connection: Any, record: Any, _proxy: Any) -> None:
            # A file that was moved away, or put in the place of it from a backup, must not be shown on and on.
            if record.info["file"] != _identity(where.path):
                raise DisconnectionError

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        # A writer takes its lock first: one that has read before cannot wait for it and fails.
        begin = connection.get_execution_options().get("begin", "BEGIN")
        if begin:
            connection.exec_driver_sql(begin)

    return engine


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file stands at a path; None for none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _postgres(where: PostgresAddress, read_only: bool, patience_secs: float) -> Engine:
    url = URL.create("postgresql+pg8000", where.user, where.password, where.host, where.port, where.database)
    options: dict[str, Any] = {"timeout": patience_secs + _GRACE_SECS, "ssl_context": where.ssl_context()}
    options["application_name"] = "attribution"
    engine = create_engine(url, connect_args=options, pool_pre_ping=True, pool_recycle=3600, **_POOL)

    @event.listens_for(engine, "connect")
    def connected(connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        cursor.execute("SET TIME ZONE 'UTC'")
        cursor.execute("SET synchronous_commit = on")
        cursor.execute(f"SET default_transaction_read_only = {'on' if read_only else 'off'}")
        cursor.execute(f"SET statement_timeout = {int(patience_secs * 1000)}")
        connection.commit()

    return engine
