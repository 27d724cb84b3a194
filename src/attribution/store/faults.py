"""What is wrong with a database is told in one sentence that never shows a password."""

from sqlalchemy.exc import DBAPIError

from attribution.contracts.errors import ConfigurationError, EvidenceError, Place, Problem

_PASSING = ("08", "25006", "40", "53", "55", "57")
"""PostgreSQL's error codes that say "not now": connection, read-only, conflict, resources, locks, shutdown."""
_SQLITE_PASSING = {5, 6, 8, 10, 13, 14}
"""SQLite's: busy, locked, read-only, disk error, full, cannot open."""
_DAMAGED = ("XX001", "XX002")
"""PostgreSQL's error codes of a damaged table or index."""
_SQLITE_DAMAGED = {11, 26}
"""SQLite's: corrupt, not a database. They do not pass by waiting."""


_RESTORE = "restore the database from a backup, or submit the evidence again"


class StoreUnavailable(ConfigurationError):
    """The database does not answer, is locked, full or read-only now. The same call may succeed later."""


class StoreDamaged(EvidenceError):
    """The database holds something that this program did not write."""


class DatabaseDamaged(StoreDamaged):
    """The database itself is damaged: what it holds may be anything."""


class SessionGone(LookupError):
    """The session was ended, or has expired, while it was used."""


def refused(place: str, code: str, message: str, remedy: str = "") -> ConfigurationError:
    """The error with one problem, ready to be raised."""
    return ConfigurationError([Problem(Place(place), code, message, remedy)])


def damaged(what: str) -> StoreDamaged:
    """What was stored cannot be read back."""
    return StoreDamaged([Problem(Place("database"), "T010", f"{what} is damaged", _RESTORE)])


def told(place: str, message: str) -> StoreUnavailable:
    """What keeps the database from being used now."""
    remedy = "see that the database runs and has room, then try again"
    return StoreUnavailable([Problem(Place(place), "T011", message, remedy)])


def fault_of(place: str, error: DBAPIError) -> StoreUnavailable | DatabaseDamaged | None:
    """The database's own words as one problem, if it is damaged or the error is one that may pass; else None."""
    reason, code = reason_of(error)
    number = getattr(error.orig, "sqlite_errorcode", None)
    if code in _DAMAGED or (number is not None and number & 0xFF in _SQLITE_DAMAGED):
        return DatabaseDamaged([Problem(Place(place), "T010", f"is damaged: {reason}", _RESTORE)])
    if number is not None:
        passing = number & 0xFF in _SQLITE_PASSING
    else:
        passing = code.startswith(_PASSING) if code else type(error.orig).__name__ == "InterfaceError"
    if not passing and not error.connection_invalidated:
        return None
    return told(place, f"cannot be used now: {reason}")


def reason_of(error: DBAPIError) -> tuple[str, str]:
    """Why the database refused, on one line, and PostgreSQL's error code if there is one."""
    given = error.orig.args[0] if error.orig and error.orig.args else ""
    if isinstance(given, dict):
        return " ".join(str(given.get("M", "no reason given")).split()), str(given.get("C", ""))
    return " ".join(str(given).split()) or "no reason given", ""
