"""Every error of the Service is one shape, problem details, with a stable type, a place and a remedy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from attribution.contracts.errors import AttributionError, nearest
from attribution.contracts.exchange import MEDIA_PROBLEM, PROBLEM_TYPE, ProblemDetails, ProblemItem

MAX_SHOWN = 50
"""Problems listed in one answer; the detail says how many there were."""

MAX_TEXT = 300
"""Characters of a client's own text that an answer repeats."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of problem: its stable name, status and title."""

    name: str
    status: int
    title: str


MALFORMED = Kind("malformed-body", 400, "The body cannot be read")
UNAUTHORIZED = Kind("unauthorized", 401, "A token is needed")
FORBIDDEN = Kind("forbidden", 403, "This is not allowed")
UNKNOWN_ATTRIBUTOR = Kind("unknown-attributor", 404, "There is no such session")
NOT_FOUND = Kind("not-found", 404, "There is no such thing")
METHOD_NOT_ALLOWED = Kind("method-not-allowed", 405, "The method is not allowed here")
TOO_SLOW = Kind("body-too-slow", 408, "The body did not come in time")
TOO_LARGE = Kind("body-too-large", 413, "The body is too large")
MISDIRECTED = Kind("misdirected", 421, "The Service does not answer to this name")
UNSUPPORTED = Kind("unsupported-media-type", 415, "The body is of a kind that is not read here")
INVALID = Kind("invalid-request", 422, "The request is not valid")
TOO_MANY = Kind("too-many-sessions", 429, "The tenant has too many open sessions")
INTERNAL = Kind("internal-error", 500, "The Service failed")
DAMAGED = Kind("store-damaged", 500, "The session store is damaged")
BUSY = Kind("busy", 503, "The Service is busy")
LATE = Kind("attribution-not-ready", 503, "The attribution takes longer than the limit")
STORE = Kind("store-unavailable", 503, "The session store does not answer")
NOT_READY = Kind("not-ready", 503, "The Service is stopping")

KINDS: tuple[Kind, ...] = (
    MALFORMED,
    UNAUTHORIZED,
    FORBIDDEN,
    UNKNOWN_ATTRIBUTOR,
    NOT_FOUND,
    METHOD_NOT_ALLOWED,
    TOO_SLOW,
    TOO_LARGE,
    UNSUPPORTED,
    MISDIRECTED,
    INVALID,
    TOO_MANY,
    INTERNAL,
    DAMAGED,
    BUSY,
    LATE,
    STORE,
    NOT_READY,
)


class ServiceProblem(Exception):
    """Ends a request with problem details."""

    def __init__(
        self,
        kind: Kind,
        detail: str,
        problems: Sequence[ProblemItem] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.problems = tuple(problems)
        self.headers = dict(headers or {})

    @staticmethod
    def later(kind: Kind, detail: str, seconds: int) -> "ServiceProblem":
        """A problem that goes away by itself: the caller is told when to come back."""
        return ServiceProblem(kind, detail, headers={"Retry-After": str(max(1, seconds))})


def printable(text: object) -> str:
    """A client's text as an answer may repeat it: short, valid UTF-8, on one line."""
    shown = str(text).encode("utf-8", "replace").decode()
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in shown)
    return shown if len(shown) <= MAX_TEXT else shown[: MAX_TEXT - 3] + "..."


def answer(request: Request, problem: ServiceProblem) -> Response:
    """The answer that tells a problem."""
    details = ProblemDetails(
        type=PROBLEM_TYPE + problem.kind.name,
        title=problem.kind.title,
        status=problem.kind.status,
        detail=problem.detail,
        instance=printable(request.scope["path"]),
        problems=problem.problems[:MAX_SHOWN],
    )
    body = details.model_dump_json(exclude_none=True)
    return Response(body, problem.kind.status, problem.headers, MEDIA_PROBLEM)


def items_of(error: AttributionError) -> tuple[ProblemItem, ...]:
    """The problems of an error as an answer lists them."""
    return tuple(
        ProblemItem(
            place=printable(problem.place),
            code=problem.code,
            message=printable(problem.message),
            remedy=printable(problem.remedy),
        )
        for problem in error.problems
    )


def item_of(error: Mapping[str, Any], known: Sequence[str] = (), base: str = "") -> ProblemItem:
    """One error of a model as a problem. The place is a JSON pointer into the body."""
    place = base + "".join("/" + _escaped(part) for part in error["loc"])
    kind, message = error["type"], str(error["msg"]).removeprefix("Value error, ")
    if kind == "extra_forbidden":
        name = printable(error["loc"][-1])
        remedy = nearest(name, known) or "leave it out"
        return ProblemItem(place=place, code="unknown-key", message=f"`{name}` is not a known key", remedy=remedy)
    if kind == "missing":
        name = printable(error["loc"][-1])
        return ProblemItem(place=place, code="missing-key", message=f"`{name}` is missing", remedy="add it")
    if kind in {"enum", "literal_error"}:
        expected = printable(str(error["ctx"]["expected"]).replace("'", "`"))
        message = f"{_shown(error['input'])} is not a known value"
        return ProblemItem(place=place, code="unknown-value", message=message, remedy=f"one of: {expected}")
    message = printable(message)
    return ProblemItem(place=place or "/", code="wrong-value", message=message[:1].lower() + message[1:])


def _escaped(part: object) -> str:
    return printable(part).replace("~", "~0").replace("/", "~1")


def _shown(value: object) -> str:
    text = printable(value) if isinstance(value, str | int | float | bool) else f"a {type(value).__name__}"
    return f"`{text if len(text) <= 60 else text[:57] + '...'}`"
