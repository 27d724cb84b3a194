"""A token stands for a tenant. Tokens are kept and compared as hashes, in constant time."""

import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from attribution.contracts.errors import ConfigurationError, Place, Problem

MIN_TOKEN = 16
"""Characters of a token; a shorter one is refused since it could be guessed."""

_TENANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HASHED = re.compile(r"sha256:([0-9a-f]{64})")
_PLAIN = re.compile(r"[A-Za-z0-9._~+/=-]+")


@dataclass(frozen=True, slots=True)
class Token:
    """The SHA-256 of a token, and whose it is."""

    hash: bytes
    tenant: str


@dataclass(frozen=True, slots=True)
class Tokens:
    """All tokens that are accepted. None at all means that nobody needs one."""

    known: tuple[Token, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.known)

    def tenant_of(self, token: str) -> str | None:
        """Whose token it is, or None. Takes the same time for every token."""
        given = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        found: str | None = None
        for token_ in self.known:
            if hmac.compare_digest(given, token_.hash):
                found = token_.tenant
        return found


def load_tokens(path: Path) -> Tokens:
    """The tokens of a file: a line `token tenant` each, `#` begins a comment, `sha256:<hex>` hides the token.

    Raises ConfigurationError (V001 to V004) with every line that is wrong, and never shows a token.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        raise _wrong(path, 0, "V001", message, "check the path of tokens_file and its permissions") from None
    except UnicodeDecodeError:
        raise _wrong(path, 0, "V001", "is not UTF-8 text", "write a line `token tenant` for each token") from None
    problems: list[Problem] = []
    known: list[Token] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            token = _token(words)
        except ValueError as error:
            message, _, remedy = str(error).partition("|")
            problems.append(Problem(Place(str(path), number, 1), "V002", message, remedy))
            continue
        if any(other.hash == token.hash and other.tenant != token.tenant for other in known):
            problems.append(
                Problem(Place(str(path), number, 1), "V003", "gives one token to two tenants", "make a token for each")
            )
        known.append(token)
    if problems:
        raise ConfigurationError(problems)
    if not known:
        raise _wrong(path, 0, "V004", "holds no token", "write a line `token tenant` for each token")
    return Tokens(tuple(known))


def _token(words: Sequence[str]) -> Token:
    if len(words) != 2:
        raise ValueError("is not a token and a tenant|write `token tenant`, parted by a blank")
    token, tenant = words
    if not _TENANT.fullmatch(tenant):
        raise ValueError("has a tenant that is no plain name|use letters, digits, `.`, `_` and `-`, 64 at most")
    hashed = _HASHED.fullmatch(token)
    if hashed:
        return Token(bytes.fromhex(hashed[1]), tenant)
    if len(token) < MIN_TOKEN or not _PLAIN.fullmatch(token):
        needed = f"{MIN_TOKEN} or more letters, digits and `._~+/=-`"
        raise ValueError(f"has a token that is not {needed}|make one with: openssl rand -hex 24")
    return Token(hashlib.sha256(token.encode()).digest(), tenant)


def _wrong(path: Path, line: int, code: str, message: str, remedy: str) -> ConfigurationError:
    return ConfigurationError([Problem(Place(str(path), line), code, message, remedy)])
