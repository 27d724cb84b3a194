"""A private PostgreSQL server on loopback in a temporary folder, and a fresh database for whoever asks."""

import itertools
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pg8000.dbapi
import pytest

USER, PASSWORD = "tester", "p@ss/word#1"
URL_PASSWORD = "p%40ss%2Fword%231"
_ATTEMPTS = 3


def binaries() -> Path | None:
    """The folder that holds `initdb` and `pg_ctl`: the newest that is installed, or that of the PATH."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: float(p.parts[-3]))
    found = str(installed[-1]) if installed else shutil.which("initdb")
    return Path(found).resolve().parent if found else None


@dataclass
class PostgresServer:
    """A running server. `url()` makes a new database and names it, `emptied()` names one for one test at a time."""

    folder: Path
    programs: Path
    port: int = 0
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _shared: str = ""

    def _run(self, program: str, *arguments: str) -> None:
        """Run a program of the server; PostgreSQL refuses to be root."""
        user = _other_user()
        command = [str(self.programs / program), *arguments]
        environ = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "HOME": str(self.folder)}
        log = self.folder / f"{program}.out"
        with log.open("ab") as out:  # a pipe would be kept open by the server
            as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": ()} if user else {}
            done = subprocess.run(command, cwd=self.folder, env=environ, stdout=out, stderr=out, timeout=120, **as_user)  # type: ignore[call-overload]
        if done.returncode:
            raise RuntimeError(f"{program} failed: {log.read_text(errors='replace')[-2000:]}")

    def start(self) -> None:
        """Make the cluster and start the server on a free port."""
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        if user := _other_user():
            for path in (self.folder, secret):
                os.chown(path, user.pw_uid, user.pw_gid)
        data = str(self.folder / "data")
        self._run("initdb", "-D", data, "-U", USER, "-A", "scram-sha-256", "--pwfile", str(secret), "-E", "UTF8", "-N")
        for attempt in range(_ATTEMPTS):
            self.port = _free_port()
            speed = "-c fsync=off -c full_page_writes=off -c max_connections=60"
            options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' {speed}"
            try:
                self._run("pg_ctl", "-D", data, "-w", "-s", "-l", str(self.folder / "log"), "-o", options, "start")
                return
            except RuntimeError:  # somebody else took the port
                if attempt == _ATTEMPTS - 1:
                    raise

    def restart(self) -> None:
        """End every connection, stop, and start again on the same port."""
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-s", "-m", "fast", "restart")

    def stop(self) -> None:
        """Stop the server that the pid file names, and remove everything."""
        try:
            self._run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-s", "-m", "fast", "stop")
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, options: str = "") -> str:
        """The URL of a new database, whose locale sorts as people do and not by code point."""
        name = f"db{next(self._numbers)}"
        connection = self.connect()
        try:
            connection.autocommit = True
            cursor = connection.cursor()
            cursor.execute("SHOW server_version_num")
            if not options and int(cursor.fetchone()[0]) >= 150000:
                options = "LOCALE_PROVIDER icu ICU_LOCALE 'en-US' TEMPLATE template0"
            cursor.execute(f"CREATE DATABASE {name} {options}")
        finally:
            connection.close()
        return f"postgresql://{USER}:{URL_PASSWORD}@127.0.0.1:{self.port}/{name}"

    def emptied(self) -> str:
        """The URL of one database, which is emptied each time: much faster than a new one."""
        if not self._shared:
            self._shared = self.url()
        connection = self.connect(self._shared.rpartition("/")[2])
        try:
            connection.autocommit = True
            cursor = connection.cursor()
            others = "datname = current_database() AND pid <> pg_backend_pid()"
            cursor.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")
            cursor.execute("DROP SCHEMA public CASCADE")
            cursor.execute("CREATE SCHEMA public")
        finally:
            connection.close()
        return self._shared

    def connect(self, database: str = "postgres") -> pg8000.dbapi.Connection:
        """A plain connection, beside the product's own."""
        return pg8000.dbapi.connect(USER, host="127.0.0.1", port=self.port, password=PASSWORD, database=database)


def _other_user() -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    return known.get("postgres") or known["nobody"]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One server for all tests of this process."""
    programs = binaries()
    if programs is None:
        message = "PostgreSQL is not installed: no initdb under /usr/lib/postgresql or on PATH"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    server = PostgresServer(Path(tempfile.mkdtemp(prefix="attribution-pg-")), programs)
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database, once for each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/attribution.db"
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return server.emptied()
