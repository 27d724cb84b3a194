"""What a cluster answers when it does not answer what was asked."""

import json
import re
from enum import Enum

from attribution.blueprint.connectors.base import ConnectorError
from attribution.blueprint.connectors.commands import ending
from attribution.blueprint.connectors.foreign import one_line

_SHOWN_CHARS = 400


class Why(Enum):
    """Kinds of refusal that ask for different remedies."""

    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    MISSING = "missing"
    EXISTS = "exists"
    EXPIRED = "expired"
    REFUSED = "refused"
    BUSY = "busy"
    UNAVAILABLE = "unavailable"
    LATE = "late"
    TOO_LARGE = "too large"
    UNREADABLE = "unreadable"
    NO_PROGRAM = "no program"
    HALTED = "halted"


PASSING = frozenset({Why.BUSY, Why.UNAVAILABLE, Why.LATE})
"""Refusals that a later try may not meet."""

_BY_REASON = {
    "Unauthorized": Why.UNAUTHORIZED,
    "Forbidden": Why.FORBIDDEN,
    "NotFound": Why.MISSING,
    "AlreadyExists": Why.EXISTS,
    "Expired": Why.EXPIRED,
    "Gone": Why.EXPIRED,
    "TooManyRequests": Why.BUSY,
    "ServiceUnavailable": Why.UNAVAILABLE,
    "InternalError": Why.UNAVAILABLE,
    "ServerTimeout": Why.UNAVAILABLE,
    "Timeout": Why.UNAVAILABLE,
}
_BY_STATUS = {
    401: Why.UNAUTHORIZED,
    403: Why.FORBIDDEN,
    404: Why.MISSING,
    409: Why.EXISTS,
    410: Why.EXPIRED,
    429: Why.BUSY,
}


class ClusterError(ConnectorError):
    """The cluster did not answer what was asked; `said` is what it, or `kubectl`, says of it.

    `wait_secs` is how long a busy server asks to be left alone; `resume` the mark from which an expired list goes on.
    `has_remedy` tells that it also says what to do; `path` is what of the API was asked for, where that is known.
    """

    def __init__(
        self,
        why: Why,
        said: str,
        wait_secs: float | None = None,
        resume: str | None = None,
        has_remedy: bool = False,
    ) -> None:
        self.why = why
        self.said = one_line(said, _SHOWN_CHARS)
        self.has_remedy = has_remedy
        self.wait_secs = wait_secs
        self.resume = resume
        self.path: str | None = None
        super().__init__(self.said)


def of_status(code: int, body: bytes, wait_secs: float | None = None) -> ClusterError:
    """The error that an answer of the API server is: a Status object as a rule, any text where a proxy answers."""
    said, reason, resume = body.decode("utf-8", "replace"), "", None
    try:
        status = json.loads(body)
    except (ValueError, RecursionError):
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status":
        said = str(status.get("message") or status.get("reason") or said)
        reason = str(status.get("reason") or "")
        metadata = status.get("metadata")
        mark = metadata.get("continue") if isinstance(metadata, dict) else None
        resume = mark if isinstance(mark, str) else None
    else:
        said = f"status {code}{f': {said}' if said.strip() else ''}"
    why = _BY_STATUS.get(code) or _BY_REASON.get(reason)
    if why is None:
        why = Why.UNAVAILABLE if code >= 500 else Why.REFUSED
    return ClusterError(why, said, wait_secs, resume)


_SERVER = re.compile(r"(?:error: )?[Ee]rror from server(?: \((\w+)\))?: (.*)", re.DOTALL)
_UNREACHABLE = re.compile(
    r"The connection to the server \S+ was refused|Unable to connect to the server|context deadline exceeded"
    r"|unexpected EOF|connection refused|no such host|i/o timeout|TLS handshake timeout|Client\.Timeout"
)


def of_kubectl(stderr: str, code: int) -> ClusterError:
    """The error of a `kubectl` that ended with an exit code other than 0.

    Its library writes lines of its own log before the message, so the message begins at the last line that begins one.
    """
    lines = [line for line in stderr.splitlines() if line.strip() and not _LOG_LINE.match(line)]
    first = next((n for n in range(len(lines) - 1, -1, -1) if _BEGIN.match(lines[n])), len(lines) - 1)
    message = "\n".join(lines[max(first, 0) :]).strip()
    found = _SERVER.match(message)
    if found is not None:
        reason, said = found[1] or "", found[2]
        if not reason and (_UNREACHABLE.search(said) or "dial tcp" in said):
            return ClusterError(Why.UNAVAILABLE, said)
        return ClusterError(_BY_REASON.get(reason, Why.REFUSED if reason else Why.UNAVAILABLE), said)
    message = message.removeprefix("error: ")
    if "(Unauthorized)" in message or "provide credentials" in message:
        return ClusterError(Why.UNAUTHORIZED, message)
    if message.startswith("the server could not find the requested resource"):
        return ClusterError(Why.MISSING, message)
    if _UNREACHABLE.search(message):
        return ClusterError(Why.UNAVAILABLE, message)
    return ClusterError(Why.REFUSED, message or f"kubectl ended with {ending(code)}")


_LOG_LINE = re.compile(r"[EWIF]\d{4} \d\d:\d\d:\d\d\.\d+ ")
_BEGIN = re.compile(r"error: |Error from server|The connection to the server|Unable to connect|Error: ")
