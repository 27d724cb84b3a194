"""A request's body becomes contracts, or a clear answer that names each thing that is wrong and where."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError

from attribution.contracts.context import ExecutionContext
from attribution.contracts.errors import ConfigurationError
from attribution.contracts.exchange import MEDIA_NDJSON, ObservationAnswer, ProblemItem
from attribution.contracts.observation import Clock, Observation
from attribution.extraction.clock import parse_zone
from attribution.service import payload
from attribution.service.memory import Arriving
from attribution.service.payload import Malformed
from attribution.service.problems import INVALID, TOO_LARGE, TOO_SLOW, UNSUPPORTED, ServiceProblem, item_of, printable
from attribution.service.settings import Limits

M = TypeVar("M", bound=BaseModel)
MEDIA_JSON = "application/json"

MAX_NAME = 1024
"""Characters of a name: of a workload, a cluster, a node, a stream."""

MAX_TENANT = 128
"""Characters of a tenant."""

MAX_WHOLE = 2**53 - 1
"""The largest number that every reader of JSON takes for what it is; attempts, offsets and lines stay below it."""

MAX_SMALL = 2**31 - 1
"""The largest rank."""

SHOWN_REASONS = 3
"""Errors of one observation that its reason tells."""


VALUES_EACH, VALUES_NODE = 32, 64
"""JSON values that one observation, and one node of a context, may take on average; a single one may take more."""
_VALUES_MORE = 4096
"""JSON values beyond those of observations or nodes."""


@dataclass(frozen=True, slots=True)
class Body:
    """A request's body as it was sent, or (without an encoding) as it was before it was compressed."""

    data: bytes
    media: str
    encoding: str = ""

    @property
    def packed(self) -> bool:
        """Whether it has a content encoding."""
        return self.encoding not in {"", "identity"}

    def unpacked(self, limit: int, what: str) -> "Body":
        """The body without its content encoding. ServiceProblem (400, 413, 415)."""
        return Body(payload.decompress(self.data, self.encoding, limit, what), self.media)


async def receive(request: Request, limits: Limits, medias: Sequence[str], arriving: Arriving) -> Body:
    """The body of a request. ServiceProblem: 408 too slow, 413 over the limit, 415 of another media type, 503 busy."""
    media = request.headers.get("content-type", MEDIA_JSON).partition(";")[0].strip().lower() or MEDIA_JSON
    if media not in medias:
        known = ", ".join(medias)
        item = ProblemItem(
            place="header Content-Type", code="unknown-value", message="is not read here", remedy=f"send {known}"
        )
        raise ServiceProblem(UNSUPPORTED, f"The media type `{printable(media)}` is not read here.", [item])
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > limits.body_bytes:
        raise payload.too_large("body", limits.body_bytes)
    try:
        async with asyncio.timeout(limits.body_secs):
            data = await _all(request, limits.body_bytes, arriving)
    except TimeoutError:
        raise ServiceProblem(TOO_SLOW, f"The body did not arrive within {limits.body_secs:g} s.") from None
    encoding = request.headers.get("content-encoding", "").strip().lower()
    return Body(data, media, encoding)


async def _all(request: Request, limit: int, arriving: Arriving) -> bytes:
    data = bytearray()
    async for chunk in request.stream():
        arriving.add(len(chunk))
        data += chunk
        if len(data) > limit:
            raise payload.too_large("body", limit)
    return bytes(data)


def read_context(limits: Limits, body: Body) -> ExecutionContext:
    """The context in a body. ServiceProblem (400, 413, 422) if there is none."""
    value = context_value(limits, body)
    nodes = value.get("nodes") if isinstance(value, dict) else None
    refuse_nodes(nodes, limits)
    context = read_model(value, ExecutionContext)
    refuse_all(unfit_context(context))
    return context


def context_value(limits: Limits, body: Body) -> Any:
    """The JSON value of a body that opens a session. ServiceProblem (400, 413)."""
    payload.refuse_many(body.data, VALUES_NODE * limits.context_nodes + _VALUES_MORE, "context")
    return payload.read_json(body.data)


def refuse_nodes(nodes: Any, limits: Limits) -> None:
    """ServiceProblem (413) if what stands for the nodes of a context are too many of them."""
    if isinstance(nodes, list | tuple) and len(nodes) > limits.context_nodes:
        message = f"are {len(nodes)}, more than limits.context_nodes ({limits.context_nodes})"
        item = ProblemItem(place="/nodes", code="too-large", message=message, remedy="name the nodes of one workload")
        raise ServiceProblem(TOO_LARGE, f"The nodes {message}.", [item])


def read_model(value: Any, model: type[M]) -> M:
    """A value as a model. ServiceProblem (422) with everything that is wrong."""
    payload.refuse_faults(value)
    if not isinstance(value, dict):
        item = ProblemItem(place="/", code="wrong-value", message=f"should be an object, not {_kind(value)}")
        raise ServiceProblem(INVALID, "The body should be a JSON object.", [item])
    try:
        return model.model_validate(value)
    except ValidationError as error:
        refuse_all(_told(error, value, model))
        raise AssertionError from error  # a ValidationError has errors


def _told(error: ValidationError, value: Any, model: type[BaseModel]) -> list[ProblemItem]:
    """What is wrong with a value, once for each place."""
    items: dict[str, ProblemItem] = {}
    for found in error.errors(include_url=False):
        place = _place(value, found["loc"])
        item = item_of({**found, "loc": place}, _keys(model, place))
        items.setdefault(item.place, item)
    return list(items.values())


def _place(value: Any, loc: Sequence[int | str]) -> tuple[int | str, ...]:
    """Where an error lies in a value: its location without the names of the types that were tried there."""
    place: list[int | str] = []
    for part in loc:
        if isinstance(value, dict):
            place.append(part)
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int):
            place.append(part)
            value = value[part] if part < len(value) else None
    return tuple(place)


def refuse_all(problems: Sequence[ProblemItem]) -> None:
    """ServiceProblem (422) if there are any problems."""
    if problems:
        first = problems[0]
        more = f" ({len(problems)} problems in all)" if len(problems) > 1 else ""
        raise ServiceProblem(INVALID, f"At {first.place}: {first.message}{more}.", problems)


def unfit_context(context: ExecutionContext) -> list[ProblemItem]:
    """What of a valid context no store can keep."""
    named = (("workload_id", context.workload_id, MAX_NAME), ("cluster", context.cluster, MAX_NAME))
    problems = [
        item for key, text, most in (*named, ("tenant", context.tenant, MAX_TENANT)) for item in _long(key, text, most)
    ]
    return problems + _large("attempt", context.attempt, MAX_WHOLE)


def unfit_observation(item: Observation) -> list[ProblemItem]:
    """What of a valid observation no store can keep, or the engine cannot read."""
    named = (("node", item.node), ("stream", item.stream))
    problems = [problem for key, text in named for problem in _long(key, text, MAX_NAME)]
    problems += _large("rank", item.rank or 0, MAX_SMALL)
    problems += _unknown_zone(item.clock)
    problems += _large("first_line", item.first_line, MAX_WHOLE)
    return problems + _large("offset", item.offset, MAX_WHOLE)


def _unknown_zone(clock: Clock | None) -> list[ProblemItem]:
    if clock is None or clock.zone is None:
        return []
    try:
        parse_zone(clock.zone)
    except ConfigurationError as error:
        problem = error.problems[0]
        message, remedy = printable(problem.message), problem.remedy
        return [ProblemItem(place="/clock/zone", code="wrong-value", message=message, remedy=remedy)]
    return []


def _long(key: str, text: str | None, most: int) -> list[ProblemItem]:
    if text is None or len(text) <= most:
        return []
    message = f"is longer than {most} characters"
    return [ProblemItem(place=f"/{key}", code="too-long", message=message, remedy="shorten it")]


def _large(key: str, number: int, most: int) -> list[ProblemItem]:
    return [ProblemItem(place=f"/{key}", code="wrong-value", message=f"is over {most}")] if number > most else []


# --- batches --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Batch:
    """The observations of a batch that could be read, with their positions, and the answers for the others."""

    observations: tuple[tuple[int, Observation], ...]
    refused: tuple[ObservationAnswer, ...]


def read_batch(body: Body, limits: Limits) -> Batch:
    """The batch in a body. ServiceProblem (400, 413, 422) if it is none as a whole."""
    most = limits.batch_observations
    refuse_values(body, limits)
    lines = body.media == MEDIA_NDJSON
    values = payload.read_lines(body.data, most) if lines else _listed(payload.read_json(body.data))
    if len(values) > most:
        count = f"{most + 1} or more" if lines else len(values)
        message = f"holds {count} observations, more than {most}"
        item = ProblemItem(place="/observations", code="too-large", message=message, remedy="send smaller batches")
        raise ServiceProblem(TOO_LARGE, f"The batch {message}.", [item])
    found: list[tuple[int, Observation]] = []
    refused: list[ObservationAnswer] = []
    for index, value in enumerate(values):
        read = _observation(value)
        if isinstance(read, str):
            refused.append(ObservationAnswer(index=index, outcome="rejected", reason=read))
        else:
            found.append((index, read))
    return Batch(tuple(found), tuple(refused))


def refuse_values(body: Body, limits: Limits) -> None:
    """ServiceProblem (413) if a body holds more JSON values than the largest batch."""
    payload.refuse_many(body.data, VALUES_EACH * limits.batch_observations + _VALUES_MORE, "body")


def _listed(value: Any) -> list[Any]:
    """The list of a JSON batch. What is wrong within one observation is that one's affair."""
    if not isinstance(value, dict):
        item = ProblemItem(place="/", code="wrong-value", message=f"should be an object, not {_kind(value)}")
        raise ServiceProblem(INVALID, "The body should be an object with the key `observations`.", [item])
    if isinstance(value, payload.Twice):
        payload.refuse_faults(value)
    unknown = [printable(key) for key in value if key != "observations"]
    items = [
        ProblemItem(place=f"/{key}", code="unknown-key", message=f"`{key}` is not a known key", remedy="leave it out")
        for key in unknown
    ]
    found = value.get("observations")
    if "observations" not in value:
        message = "`observations` is missing"
        items.append(ProblemItem(place="/observations", code="missing-key", message=message, remedy="add the list"))
    elif not isinstance(found, list):
        items.append(
            ProblemItem(place="/observations", code="wrong-value", message=f"should be a list, not {_kind(found)}")
        )
    refuse_all(items)
    assert isinstance(found, list)
    return found


def _observation(value: Any) -> Observation | str:
    """The observation, or why it is none."""
    if isinstance(value, Malformed):
        return f"malformed: {value.place}: {printable(value)}"
    if (fault := payload.fault_in(value)) is not None:
        return f"invalid: {fault.place}: {fault.message} ({fault.remedy})"
    if not isinstance(value, dict):
        return f"invalid: should be an object, not {_kind(value)}"
    try:
        observation = Observation.model_validate(value)
    except ValidationError as error:
        return _reason(_told(error, value, Observation))
    problems = unfit_observation(observation)
    return _reason(problems) if problems else observation


def _reason(problems: Sequence[ProblemItem]) -> str:
    shown = [f"{p.place}: {p.message}" + (f" ({p.remedy})" if p.remedy else "") for p in problems[:SHOWN_REASONS]]
    more = [f"and {len(problems) - SHOWN_REASONS} more"] if len(problems) > SHOWN_REASONS else []
    return "invalid: " + "; ".join(shown + more)


def _keys(model: type[BaseModel], place: Sequence[int | str]) -> tuple[str, ...]:
    """The keys that stand beside the one at `place`, as remedies for a slip."""
    return tuple(model.model_fields) if len(place) == 1 else ()


def _kind(value: Any) -> str:
    names: dict[type, str] = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return "null" if value is None else names.get(type(value), "an object" if isinstance(value, dict) else "a number")
