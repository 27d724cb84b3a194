"""A database URL says where the tables are; what is shown of it never holds a secret."""

import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from attribution.contracts.errors import nearest
from attribution.store.faults import refused

_EXAMPLE = "write sqlite:////var/lib/attribution/attribution.db or postgresql://user:password@host:5432/database"
_OURS = {"sqlite", "postgresql", "postgres", "postgresql+pg8000"}
_SSL_MODES = ("disable", "prefer", "require", "verify-ca", "verify-full")
_OPTIONS = ("sslmode", "sslrootcert")


@dataclass(frozen=True, slots=True)
class SqliteAddress:
    """One file on this machine."""

    path: Path

    @property
    def shown(self) -> str:
        """How messages name it."""
        return str(self.path)


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """One database of a PostgreSQL server."""

    host: str
    port: int
    database: str
    user: str
    password: str | None = field(default=None, repr=False)
    ssl_mode: str = "prefer"
    ssl_root: Path | None = None

    @property
    def shown(self) -> str:
        """How messages name it."""
        return f"postgresql://{self.host}:{self.port}/{self.database}"

    def ssl_context(self) -> ssl.SSLContext | bool | None:
        """What the driver takes: None uses TLS if the server offers it, False never does."""
        if self.ssl_mode in {"disable", "prefer"}:
            return None if self.ssl_mode == "prefer" else False
        try:
            context = ssl.create_default_context(cafile=str(self.ssl_root) if self.ssl_root else None)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise refused(
                str(self.ssl_root), "T003", f"cannot be read as certificates: {reason}", "check sslrootcert"
            ) from None
        context.check_hostname = self.ssl_mode == "verify-full"
        if self.ssl_mode == "require":
            context.verify_mode = ssl.CERT_NONE
        return context


Address = SqliteAddress | PostgresAddress


def address(url: str) -> Address:
    """Read `sqlite:///path`, a bare path, or `postgresql://user:password@host:port/database`."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return _file(url)
    if scheme not in _OURS:
        near = nearest(scheme, _OURS)
        shown = scheme if scheme.replace("+", "").isalnum() and len(scheme) <= 40 else "this"
        raise refused("database URL", "T001", f"has {shown} where sqlite or postgresql belongs", near or _EXAMPLE)
    return _file(rest.removeprefix("/")) if scheme == "sqlite" else _server(url)


def _file(path: str) -> SqliteAddress:
    if not path or path == ":memory:":
        raise refused("database URL", "T001", "names no file", _EXAMPLE)
    if "\0" in path:
        raise refused("database URL", "T001", "holds a NUL", _EXAMPLE)
    return SqliteAddress(Path(path).expanduser().absolute())


def _server(url: str) -> PostgresAddress:
    """A mistake is told without what stands in the URL: any part of it may be a piece of a password."""
    try:
        parts = urlsplit(url)
        port = parts.port or 5432
    except ValueError:
        remedy = "write a character of the password that is no letter or digit as % and two hexadecimal digits"
        raise refused("database URL", "T001", "has no readable host and port", remedy) from None
    if parts.netloc.count("@") > 1 or parts.fragment:
        raise refused("database URL", "T001", "has an @, # or / within its password", "write %40 for @, %23 for #")
    database = unquote(parts.path.removeprefix("/"))
    if not parts.hostname or not database or "/" in database or not parts.username:
        raise refused("database URL", "T001", "lacks a user, a host or a database", _EXAMPLE)
    options: dict[str, Any] = dict(parse_qsl(parts.query, keep_blank_values=True))
    for key in options:
        if key not in _OPTIONS:
            remedy = nearest(key, _OPTIONS) or f"known: {', '.join(_OPTIONS)}"
            raise refused("database URL", "T002", "has an option that is not known", remedy)
    mode = options.get("sslmode", "prefer")
    if mode not in _SSL_MODES:
        raise refused("database URL", "T002", "has an sslmode that is not known", f"one of: {', '.join(_SSL_MODES)}")
    return PostgresAddress(
        host=parts.hostname,
        port=port,
        database=database,
        user=unquote(parts.username),
        password=unquote(parts.password) if parts.password is not None else None,
        ssl_mode=mode,
        ssl_root=Path(options["sslrootcert"]) if "sslrootcert" in options else None,
    )
