"""What a watcher keeps for its connectors: how far each was asked, and texts by key."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import delete, func, select

from attribution.store.database import Store
from attribution.store.schema import watch_marks, watch_memory
from attribution.store.statements import upsert

MAX_KEY, MAX_VALUE_BYTES = 160, 64 << 10


@dataclass(frozen=True, slots=True)
class Marks:
    """How far connectors were asked without an error."""

    store: Store

    def get(self, name: str) -> datetime | None:
        """The mark of a connector; None if it was never asked."""
        with self.store.read() as connection:
            return connection.execute(select(watch_marks.c.until).where(watch_marks.c.name == name)).scalar()

    def advance(self, name: str, until: datetime) -> None:
        """Set a mark. It never goes back, also if several watchers set it."""
        with self.store.write() as connection:
            statement = upsert(connection, watch_marks).values(name=name, until=until)
            later = watch_marks.c.until < statement.excluded.until
            changed = {"until": statement.excluded.until}
            connection.execute(statement.on_conflict_do_update(index_elements=["name"], set_=changed, where=later))

    def earliest(self, since: datetime) -> datetime | None:
        """The mark that is farthest behind, of those that were set since: others are nobody's any more."""
        c = watch_marks.c
        with self.store.read() as connection:
            found: datetime | None = connection.execute(select(func.min(c.until)).where(c.until >= since)).scalar()
        return found


@dataclass(frozen=True, slots=True)
class Keepsakes:
    """Texts by key that one connector keeps; what several watchers of a store keep for it, they share."""

    store: Store
    owner: str

    def get(self, key: str) -> str | None:
        """The value of a key; None if there is none, or if its time is over."""
        c = watch_memory.c
        query = select(c.value).where(c.owner == self.owner, c.key == _checked(key), c.until > datetime.now(UTC))
        with self.store.read() as connection:
            return connection.execute(query).scalar()

    def put(self, key: str, value: str, keep_secs: float) -> None:
        """Keep a value for so long, in place of the one before."""
        if len(value.encode("utf-8", "surrogatepass")) > MAX_VALUE_BYTES:
            raise ValueError(f"a value has more than {MAX_VALUE_BYTES} bytes")
        until = datetime.now(UTC) + timedelta(seconds=keep_secs)
        row = {"owner": self.owner, "key": _checked(key), "value": value, "until": until}
        with self.store.write() as connection:
            statement = upsert(connection, watch_memory).values(row)
            changed = {"value": statement.excluded.value, "until": statement.excluded.until}
            connection.execute(statement.on_conflict_do_update(index_elements=["owner", "key"], set_=changed))

    def items(self, prefix: str = "") -> Iterator[tuple[str, str]]:
        """Keys that begin so, in order, each with its value."""
        c = watch_memory.c
        mine = (c.owner == self.owner, c.until > datetime.now(UTC), c.key.startswith(prefix, autoescape=True))
        with self.store.read() as connection:
            rows = connection.execute(select(c.key, c.value).where(*mine).order_by(c.key)).all()
        yield from ((row.key, row.value) for row in rows if row.key.startswith(prefix))

    def forget(self, key: str) -> None:
        """Keep the value no longer."""
        c = watch_memory.c
        with self.store.write() as connection:
            connection.execute(delete(watch_memory).where(c.owner == self.owner, c.key == _checked(key)))


def expire(store: Store, now: datetime) -> int:
    """Delete the texts whose time is over; how many that were."""
    with store.write() as connection:
        return connection.execute(delete(watch_memory).where(watch_memory.c.until <= now)).rowcount


def _checked(key: str) -> str:
    if not key or len(key) > MAX_KEY:
        raise ValueError(f"a key has between 1 and {MAX_KEY} characters")
    return key
