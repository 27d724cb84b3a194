"""Opening a store makes it, migrates it once, and refuses what does not fit in a sentence."""

import multiprocessing
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect, text
from sqlalchemy.exc import DBAPIError

from attribution.contracts.errors import ConfigurationError
from attribution.store.address import PostgresAddress, SqliteAddress, address
from attribution.store.database import Store, open_store
from attribution.store.faults import StoreUnavailable
from attribution.store.schema import metadata

from tests.postgres import PASSWORD, URL_PASSWORD, PostgresServer
from tests.store.revisions import at_revision


def refusal(url: str, **more: Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        open_store(url, **more)
    (problem,) = caught.value.problems
    assert problem.remedy
    assert PASSWORD not in str(problem)
    assert URL_PASSWORD not in str(problem)
    return str(problem)


def test_migrations_and_metadata_agree(store: Store) -> None:
    with store.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        assert set(metadata.tables) < set(inspect(connection).get_table_names())


def test_a_second_opening_changes_nothing(store: Store, store_url: str) -> None:
    with store.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = version_num"))
    open_store(store_url).close()
    with store.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM alembic_version")).scalar() == 1


def _open_at(url: str, barrier: Any, answers: Any) -> None:
    barrier.wait(600)
    try:
        store = open_store(url)
        with store.read() as connection:
            answers.put(connection.execute(text("SELECT count(*) FROM alembic_version")).scalar())
        store.close()
    except BaseException as error:
        answers.put(repr(error))


@pytest.mark.slow
def test_processes_that_open_an_empty_database_at_once_migrate_it_once(store_url: str) -> None:
    spawn = multiprocessing.get_context("spawn")
    barrier, answers = spawn.Barrier(4), spawn.Queue()
    children = [spawn.Process(target=_open_at, args=(store_url, barrier, answers)) for _ in range(4)]
    for child in children:
        child.start()
    assert [answers.get(timeout=600) for _ in children] == [1] * 4
    for child in children:
        child.join(600)
        assert child.exitcode == 0


def test_threads_that_open_an_empty_database_at_once_migrate_it_once(store_url: str) -> None:
    barrier, errors = threading.Barrier(4), []

    def opens() -> None:
        barrier.wait(600)
        try:
            open_store(store_url).close()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=opens) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    assert errors == []


def test_a_newer_revision_is_refused(store: Store, store_url: str) -> None:
    with store.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'r9999'"))
    for read_only in (False, True):
        assert "was written by a newer version of this program" in refusal(store_url, read_only=read_only)


def test_tables_of_another_program_are_refused(store_url: str, store: Store) -> None:
    with store.write() as connection:
        connection.execute(text("DROP TABLE alembic_version"))
    assert "has a table `results` that is not of this program" in refusal(store_url)


def test_reading_never_makes_or_migrates(store_url: str, tmp_path: Path) -> None:
    told = refusal(store_url, read_only=True)
    assert "attribution serve" in told
    assert not (tmp_path / "attribution.db").exists()
    open_store(store_url).close()
    store = open_store(store_url, read_only=True)
    with pytest.raises(StoreUnavailable), store.write() as connection:
        connection.execute(text("DELETE FROM results"))
    with pytest.raises(StoreUnavailable), store.read() as connection:
        connection.execute(text("DELETE FROM results"))
    with store.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM results")).scalar() == 0
    store.close()


def test_an_empty_file_or_database_has_no_tables_to_read(store_url: str, tmp_path: Path) -> None:
    (tmp_path / "attribution.db").touch()
    assert "has no tables of this program yet" in refusal(store_url, read_only=True)


def test_an_older_revision_is_brought_up_by_who_writes(store: Store, store_url: str) -> None:
    at_revision(store, "r0001")
    assert "was last written by an older version" in refusal(store_url, read_only=True)
    open_store(store_url).close()
    with store.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_sqlite_keeps_what_it_acknowledged(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "deep" / "er" / "a.db"))
    with store.read() as connection:
        pragma = {p: connection.execute(text(f"PRAGMA {p}")).scalar() for p in ("journal_mode", "synchronous")}
        assert pragma == {"journal_mode": "wal", "synchronous": 2}
        assert connection.execute(text("PRAGMA foreign_keys")).scalar() == 1
    store.close()


def test_paths_with_odd_characters(tmp_path: Path) -> None:
    for name in ("with space?.db", "with#hash%41.db", "ü.db"):
        open_store(f"sqlite:///{tmp_path}/{name}").close()
        assert (tmp_path / name).is_file()


def test_postgresql_commits_synchronously(postgres_server: PostgresServer) -> None:
    store = open_store(postgres_server.url())
    with store.read() as connection:
        assert connection.execute(text("SHOW synchronous_commit")).scalar() == "on"
    store.close()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda url: url.replace(URL_PASSWORD, "wrong"), "refused the user or the password"),
        (lambda url: url.rpartition("/")[0] + "/nowhere", 'refused: database "nowhere" does not exist'),
        (lambda url: url + "?sslmode=require", "cannot be reached: Server refuses SSL"),
        (lambda url: url + "?sslmod=require", "has an option that is not known (did you mean `sslmode`?)"),
        (lambda url: url + "?sslmode=on", "has an sslmode that is not known"),
        (lambda url: url + "?sslmode=verify-full&sslrootcert=/nowhere.pem", "cannot be read as certificates"),
        (lambda url: url.replace(URL_PASSWORD, PASSWORD), "database URL: T001 "),
        (lambda url: url.replace("postgresql:", "postgresql+psycopg:"), "did you mean `postgresql"),
        (lambda url: url.replace("postgresql:", "mysql:"), "has mysql where sqlite or postgresql belongs"),
        (lambda url: url.replace("127.0.0.1:", "127.0.0.1:x"), "has no readable host and port"),
        (lambda url: url.rpartition("/")[0], "lacks a user, a host or a database"),
    ],
)
def test_a_server_that_does_not_fit(postgres_server: PostgresServer, change: Callable[[str], str], told: str) -> None:
    assert told in refusal(change(postgres_server.url()))


def test_a_server_that_is_not_there() -> None:
    told = refusal(f"postgresql://u:{URL_PASSWORD}@127.0.0.1:1/db")
    assert told.startswith("postgresql://127.0.0.1:1/db: T004 cannot be reached: Connection refused")


def test_another_encoding_is_refused(postgres_server: PostgresServer) -> None:
    url = postgres_server.url("ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
    assert "keeps text as SQL_ASCII, not as UTF8" in refusal(url)


def test_files_that_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database " * 100)
    (tmp_path / "file").touch()
    assert "cannot be opened as a SQLite database: file is not a database" in refusal(f"sqlite:///{tmp_path}/text.db")
    assert "is a folder" in refusal(str(tmp_path))
    assert "cannot be made: File exists" in refusal(str(tmp_path / "file" / "a.db"))
    for url in ("", "sqlite://", "sqlite:///", ":memory:", "sqlite:///:memory:", "a\0b"):
        assert "database URL: T001" in refusal(url)


def test_urls_are_read() -> None:
    assert address("sqlite:////var/a.db") == SqliteAddress(Path("/var/a.db"))
    assert address("/var/a.db") == SqliteAddress(Path("/var/a.db"))
    assert address("sqlite:///a.db") == SqliteAddress(Path.cwd() / "a.db")
    read = address("postgres://me:p%40ss@db.example/x?sslmode=disable")
    assert read == PostgresAddress("db.example", 5432, "x", "me", "p@ss", "disable")
    assert "p@ss" not in repr(read)


def test_no_message_holds_the_password_or_a_value(store: Store) -> None:
    assert PASSWORD not in repr(store)
    with pytest.raises(DBAPIError) as caught, store.write() as connection:
        connection.execute(text("INSERT INTO nowhere VALUES (:value)"), {"value": "a secret"})
    assert "a secret" not in str(caught.value)
    assert PASSWORD not in str(caught.value)


def test_a_restarted_server_is_used_again(postgres_server: PostgresServer) -> None:
    store = open_store(postgres_server.url())
    with store.read() as connection:
        connection.execute(text("SELECT 1"))
    postgres_server.restart()
    with store.read() as connection:
        assert connection.execute(text("SELECT 1")).scalar() == 1
    store.close()


def test_a_server_that_dies_within_a_transaction_is_unavailable(postgres_server: PostgresServer) -> None:
    store = open_store(postgres_server.url())
    with pytest.raises(StoreUnavailable) as caught, store.write() as connection:
        connection.execute(text("DELETE FROM results"))
        postgres_server.restart()
        connection.execute(text("DELETE FROM results"))
    assert "cannot be used now" in str(caught.value)
    store.close()


def test_a_locked_file_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attribution.store.database._PATIENCE_SECS", 0.1)
    one, other = open_store(str(tmp_path / "a.db")), open_store(str(tmp_path / "a.db"))
    with one.write(), pytest.raises(StoreUnavailable) as caught, other.write():
        pass
    assert "cannot be used now: database is locked" in str(caught.value)
    one.close()
    other.close()


def test_a_statement_that_takes_too_long_is_ended(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attribution.store.database._PATIENCE_SECS", 0.2)
    store = open_store(postgres_server.url())
    with pytest.raises(StoreUnavailable, match="statement timeout"), store.read() as connection:
        connection.execute(text("SELECT pg_sleep(30)"))
    store.close()


def test_a_silent_server_is_unavailable_and_its_late_answer_is_not_taken_for_another(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres_server.url()
    open_store(url).close()
    monkeypatch.setattr("attribution.store.database._GRACE_SECS", -28.0)
    store = open_store(url)
    with pytest.raises(StoreUnavailable, match="cannot be used now: timed out"), store.read() as connection:
        connection.execute(text("DO $$ BEGIN PERFORM pg_sleep(3); END $$"))
    with store.read() as connection:
        assert connection.execute(text("SELECT 2")).scalar() == 2
    store.close()


def test_too_many_users_at_once_are_told(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {"pool_size": 1, "max_overflow": 0, "pool_timeout": 0.1, "hide_parameters": True}
    monkeypatch.setattr("attribution.store.database._POOL", few)
    store = open_store(store_url)
    with store.read(), pytest.raises(StoreUnavailable, match="has too many users at once"), store.read():
        pass
    store.close()
