"""A secret comes from the environment or from a file of its own, and is never shown."""

import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated

from pydantic import SecretStr

from attribution.contracts.errors import Place, Problem

HIDDEN = "***"
"""What is shown in place of a secret."""

_NAMES = (
    r"[^=&#]*(?:token|passw|secret|signature|credential|api-?key)[^=&#]*",
    r"(?:[^=&#]*[-_.])?(?:key|auth|sig|pwd|code)",
)
"""Parameters whose value is a secret by their name, such as `access_token`, `X-Amz-Signature`, `key` or `sig`."""
_SECRET = re.compile(
    rf"(?<=://)([^/@?#:]*:)(.+)(?=@)|([?&#](?:{'|'.join(_NAMES)})=)([^&#]+)", re.DOTALL | re.IGNORECASE
)
"""What stands between the user and the last `@`, as a password may hold anything; or in a parameter."""


class Secrecy(Enum):
    """What of a setting must not be shown, nor be written into a configuration file or on a command line."""

    NONE = "none"
    PART = "part"
    WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class _MayHoldSecret:
    """Marks an address that may carry `user:password@` or `?token=`."""


Secret = SecretStr
"""A setting that is a secret as a whole, such as a token. Its file is given by the key with `_file` behind it."""

Address = Annotated[str, _MayHoldSecret()]
"""A URL that may carry a password or a token. With one it is a secret, without one an ordinary setting."""


def is_address(metadata: object) -> bool:
    """Whether an annotation's metadata is that of an Address."""
    return isinstance(metadata, _MayHoldSecret)


def without_secrets(address: str) -> str:
    """The address as it may be shown."""
    return _SECRET.sub(lambda found: (found[1] or found[3]) + HIDDEN, address)


def holds_secret(address: str) -> bool:
    """Whether an address carries a password or a token."""
    return _SECRET.search(address) is not None


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
