"""A secret comes from the environment or from a file of its own, and is never shown."""

import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote, unquote_plus, urlsplit

from pydantic import AfterValidator, SecretStr

from attribution.contracts.errors import Place, Problem

HIDDEN = "***"
"""What is shown in place of a secret."""


class Secrecy(Enum):
    """What of a setting must not be shown, nor be written into a configuration file or on a command line."""

    NONE = "none"
    PART = "part"
    WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class _MayHoldSecret:
    """Marks an address that may carry `user:password@` or `?token=`."""


def http_address(value: str) -> str:
    """The value, which is an address of a server. ValueError if it is none."""
    try:
        parts = urlsplit(value)
        is_one = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:  # brackets that do not close, a port that is no number or too large
        is_one = False
    if not is_one or not value.isprintable() or " " in value:
        raise ValueError("is no address such as https://host.example:8000")
    return value


Secret = SecretStr
"""A setting that is a secret as a whole, such as a token. Its file is given by the key with `_file` behind it."""

Address = Annotated[str, _MayHoldSecret()]
"""A URL that may carry a password or a token. With one it is a secret, without one an ordinary setting."""

HttpAddress = Annotated[Address, AfterValidator(http_address)]
"""The same, of a server that is asked over HTTP."""


def is_address(metadata: object) -> bool:
    """Whether an annotation's metadata is that of an Address."""
    return isinstance(metadata, _MayHoldSecret)


# --- names ------------------------------------------------------------------------------------------------------------

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[A-Z]")
_ANYWHERE = re.compile(
    r"passw|passphrase|secret(?!ar)|credential|signature|api[-_.]?key|(?:private|access|signing|encryption|account)[-_.]?key"
    r"|jwt$|tokens?$|pwd$",
    re.IGNORECASE,
)
"""What makes a name one of a secret wherever it stands, or where the name ends with it: `PGPASSWORD`, `hftoken`."""
_LAST = frozenset({"auth", "bearer", "jwt", "key", "pass", "pwd", "sig", "token"})
"""Words that make a name one of a secret where they are its last."""
_BEHIND = frozenset({"file", "path", "value", "env", "prod", "dev", "test", "read", "write"})
"""Words that may follow them."""
_HARMLESS = frozenset(
    {
        *("max", "min", "num", "n", "total", "new", "per", "of", "no", "by"),
        *("pad", "eos", "bos", "unk", "mask", "sep", "cls", "special", "stop", "image", "audio", "video", "prompt"),
        *("sort", "primary", "public", "foreign", "partition", "cache", "group", "order", "join", "metric", "monitor"),
        *(
            "text",
            "input",
            "output",
            "target",
            "label",
            "data",
            "batch",
            "column",
            "field",
            "state",
            "feature",
            "lookup",
        ),
        *("one", "two", "single", "multi", "forward", "backward", "first", "second"),
    }
)
"""Words before which these are no secrets: `--sort-key`, `--pad-token`, `max_tokens`."""


def names_secret(name: str) -> bool:
    """Whether a flag, a variable or a parameter is named as one whose value is a secret."""
    words = [word.lower() for word in _WORDS.findall(name)]
    while len(words) > 1 and words[-1] in _BEHIND:
        words.pop()
    if not words:
        return False
    is_harmless = len(words) > 1 and words[-2] in _HARMLESS
    if words[-1] in {"token", "tokens", "key", "pass"} and is_harmless:
        return False
    if words == ["tokens"] or name in {"PWD", "OLDPWD"}:
        return False
    return words[-1] in _LAST or _ANYWHERE.search(name.rstrip("_-0123456789")) is not None


# --- addresses --------------------------------------------------------------------------------------------------------

_PARAMETER = re.compile(r"(?<=[?&#;])([^=&#;?]*)=")
_USER = re.compile(r"[^/@?#:\[\]\s]*")
_PORT = re.compile(r":\d*(?=[/?#]|$)")


def without_secrets(address: str) -> str:
    """The address as it may be shown."""
    shown, at = [], 0
    for begin, end in _spans(address):
        shown += [address[at:begin], HIDDEN]
        at = end
    return "".join(shown) + address[at:]


def holds_secret(address: str) -> bool:
    """Whether an address carries a password or a token."""
    return next(_spans(address), None) is not None


def secrets_of(address: str) -> tuple[str, ...]:
    """What an address carries in confidence, in each form in which a server may repeat it."""
    found = [address[begin:end] for begin, end in _spans(address)]
    if not found:
        return ()
    forms = [address, *found, *map(unquote, found), *map(unquote_plus, found)]
    user, at, _ = address.partition("://")[2].rpartition("@")
    if at:
        name, _, password = user.partition(":")
        sent = f"{unquote(name)}:{unquote(password)}"
        forms += [user, sent, b64encode(sent.encode("utf-8", "surrogatepass")).decode()]
    return tuple(dict.fromkeys(forms))


def _spans(address: str) -> Iterator[tuple[int, int]]:
    """Where secrets stand in an address, from left to right: between the user and the last `@`, and in parameters."""
    at = 0
    if (user := _user_span(address)) is not None:
        yield user
        at = user[1]
    while (found := _PARAMETER.search(address, at)) is not None:
        at = found.end()
        name = unquote(found[1])
        if names_secret(name) or name.lower() == "code":
            ends = [end for mark in "&#" if (end := address.find(mark, at)) >= 0]
            end = min(ends, default=len(address))
            if end > at:
                yield at, end
            at = end


def _user_span(address: str) -> tuple[int, int] | None:
    """Where a password stands; over HTTP a user without one, as that is a token.

    A password may hold anything, so it goes on to the last `@`. What is a port as far as any server knows is none.
    """
    last = address.rfind("@")
    begin = address.find("://")
    while 0 <= begin < last:
        user = _USER.match(address, begin + 3)
        assert user is not None
        behind = user.end()
        if address.startswith(":", behind) and _PORT.match(address, behind) is None:
            return (behind + 1, last) if behind + 1 < last else None
        if address.startswith("@", behind) and behind > user.start() and address[:begin].lower().endswith(_HTTP):
            return user.start(), behind
        begin = address.find("://", behind)
    return None


_HTTP = ("http", "https")


# --- files ------------------------------------------------------------------------------------------------------------


def read_secret(path: str, place: Place) -> str:
    """The text of a secret's file without the newline at its end. Raises SecretFileError."""
    try:
        text = Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "it is not UTF-8 text"
        raise SecretFileError(
            Problem(place, "K003", f"names `{path}`, which cannot be read: {why}", "check the path and its permissions")
        ) from None
    if not text:
        raise SecretFileError(Problem(place, "K003", f"names `{path}`, which is empty", "write the secret into it"))
    return text


class SecretFileError(Exception):
    """A secret's file cannot be used."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(str(problem))
