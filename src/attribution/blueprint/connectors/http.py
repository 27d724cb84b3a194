"""A connector that asks a server over HTTP gets its time-outs, retries, limits and reports from here.

`HttpSettings` are the settings that all of them have, `HttpSource` makes one call that ends in an answer or in one
sentence, and `HttpCollector` turns questions into observations so that each source and node is told of, whatever the
server does.
"""

import re
import time
from abc import abstractmethod
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlencode

import httpx
from pydantic import Field, field_validator, model_validator

from attribution.blueprint.attempt import Attempt
from attribution.blueprint.connectors.base import DEADLINE, Collected, Collector, ConnectorError, Halted
from attribution.blueprint.connectors.calls import Caller, Refused, SecretHeader, Why, bearer, unanswered
from attribution.blueprint.connectors.foreign import hidden, one_line
from attribution.client.bounded import below
from attribution.client.retry import BUSY, Busy, Retries, send
from attribution.configuration.secrets import HttpAddress, Secret, secrets_of, without_secrets
from attribution.contracts.base import Strict
from attribution.contracts.observation import Observation, Window
from attribution.contracts.plan import CollectionPlan
from attribution.contracts.vocabulary import Source, Status

PASSING = BUSY | {500}
"""Answers after which the same question may still be answered."""

CLOCK_TOLERANCE_SECS = 60.0
"""How far a server's clock may be from this machine's before an empty answer is not believed."""

_LONGEST_SLEEP_SECS = 0.2
_LOST_IN_A_ROW = 3
_NO_SUCH_METHOD = 405
_KEPT_HEADERS = ("retry-after", "content-type", "location")


class HttpSettings(Strict):
    """Where a server is, how it lets us in, and how patient we are with it."""

    url: HttpAddress = Field(description="address of the server, such as https://logs.example:3100")
    token: SecretHeader | None = Field(default=None, description="bearer token")
    fresh_token_file: Path | None = Field(
        default=None, description="file with a bearer token that is read for each call, as it is renewed by others"
    )
    username: str | None = Field(default=None, description="user of basic authentication")
    password: Secret | None = Field(default=None, description="password of basic authentication")
    ca_file: Path | None = Field(default=None, description="certificates that sign the server's, in PEM form")
    timeout_secs: float = Field(default=30.0, gt=0, description="how long one answer may take, to its last byte")
    retry_secs: float = Field(default=60.0, ge=0, description="how long a call is tried again before it is given up")
    answer_bytes: int = Field(
        default=64 << 20, ge=1024, description="bytes of one answer, decompressed; more is refused"
    )

    @field_validator("url")
    @classmethod
    def _without_slash(cls, value: str) -> str:
        return value.rstrip("/")

    @model_validator(mode="after")
    def _one_way_in(self) -> "HttpSettings":
        given = {"token": self.token, "fresh_token_file": self.fresh_token_file, "username": self.username}
        named = [f"`{name}`" for name, value in given.items() if value is not None]
        if len(named) > 1:
            raise ValueError(f"has both {named[0]} and {named[1]}; a server takes one of them")
        if (self.username is None) != (self.password is None):
            raise ValueError("has one of `username` and `password`; basic authentication takes both")
        return self


class HaltedError(Exception):
    """Collecting must end now."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server sent: decompressed, and no more than was allowed."""

    status: int
    body: bytes
    headers: httpx.Headers


@dataclass(slots=True)
class Effort:
    """What calls cost so far, and how far the server's clock was ahead of ours when it was read last.

    Without `is_patient` a call is tried once: the server gave no answer to the question before.
    """

    retries: int = 0
    ahead_secs: float = 0.0
    is_patient: bool = True

    def take_retries(self) -> int:
        """The retries since this was asked last."""
        taken, self.retries = self.retries, 0
        return taken

    @property
    def clock_fault(self) -> str | None:
        """Why an empty answer may be one of the wrong time, or None."""
        if abs(self.ahead_secs) <= CLOCK_TOLERANCE_SECS:
            return None
        way = "ahead of" if self.ahead_secs > 0 else "behind"
        return f"the server's clock is {abs(round(self.ahead_secs))} s {way} this machine's"


@dataclass(frozen=True, slots=True)
class _Try:
    method: str
    url: str
    body: bytes | None
    halted: Halted
    effort: Effort


class HttpSource:
    """One server. May be used by several threads at once; it connects when it is first asked."""

    def __init__(self, settings: HttpSettings, headers: Mapping[str, str] | None = None) -> None:
        self.settings = settings
        self.address = without_secrets(settings.url)
        sent, auth = {"Accept-Encoding": "gzip", **(headers or {})}, None
        if settings.token is not None:
            sent["Authorization"] = f"Bearer {settings.token.get_secret_value()}"
        elif settings.username is not None and settings.password is not None:
            auth = httpx.BasicAuth(settings.username, settings.password.get_secret_value())
        self._caller = Caller(settings.url, settings.timeout_secs, sent, auth, settings.ca_file)

    def open(self) -> None:
        """Read the certificates and the token that is renewed. Raises ConnectorError if they cannot be."""
        self._caller.open()
        self._fresh()

    def close(self) -> None:
        """Give up the connections."""
        self._caller.close()

    def get(self, path: str, params: Mapping[str, str], halted: Halted, effort: Effort) -> Answer:
        """The answer to one question. Raises Refused, HaltedError."""
        return self._answer(_Try("GET", below(self.settings.url, path, params), None, halted, effort))

    def post(self, path: str, form: Mapping[str, str], halted: Halted, effort: Effort) -> Answer:
        """The answer to a question that may be too long for an address, sent as a form. Raises Refused, HaltedError.

        A gateway that allows no POST is asked by GET.
        """
        url, body = below(self.settings.url, path), urlencode(form).encode()
        try:
            return self._answer(_Try("POST", url, body, halted, effort))
        except Refused as error:
            if error.status != _NO_SUCH_METHOD:
                raise
        return self.get(path, form, halted, effort)

    def _answer(self, one: "_Try") -> Answer:
        patience = self.settings.retry_secs if one.effort.is_patient else 0.0
        tried = send(
            lambda: self._once(one),
            Retries(times=1_000_000, total_secs=patience, longest_wait_secs=10.0),
            lambda secs: _sleep_before_retry(secs, one),
            PASSING,
        )
        if tried.response is None:
            raise self._given_up(tried.error, tried.tries)
        response = tried.response
        if response.status_code == 200:
            return Answer(200, response.content, response.headers)
        raise self._refused(response)

    def _once(self, one: "_Try") -> httpx.Response:
        """One try. The whole answer is in the response, decompressed."""
        if one.halted():
            raise HaltedError
        headers = {"Content-Type": "application/x-www-form-urlencoded"} if one.body is not None else {}
        headers |= self._fresh()
        held = bytearray()
        with self._caller.answer(one.method, one.url, one.body, headers) as response:
            _note_clock(response, one.effort)
            for chunk in response.iter_bytes():
                held += chunk
                if len(held) > self.settings.answer_bytes:
                    raise Refused(Why.TOO_LARGE, f"sent more than {self.settings.answer_bytes} bytes in one answer")
                if one.halted():
                    raise HaltedError
        kept = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
        return httpx.Response(response.status_code, headers=kept, content=bytes(held))

    def _given_up(self, error: Exception | None, tries: int) -> Refused:
        times = "1 try" if tries == 1 else f"{tries} tries"
        if isinstance(error, Busy):
            status, text = error.response.status_code, self._text(error.response)
            return Refused(Why.BUSY, f"answered {status} after {times}{_said(text)}", status, text)
        why = unanswered(error, self.settings.timeout_secs, self.address)
        return Refused(Why.UNREACHABLE, f"{why} ({times})")

    def _refused(self, response: httpx.Response) -> Refused:
        status, text = response.status_code, self._text(response)
        if status in {401, 403}:
            return Refused(Why.DENIED, f"refuses the credentials ({status}){_said(text)}", status, text)
        if 300 <= status < 400:
            location = without_secrets(response.headers.get("location", ""))
            where = one_line(hidden(re.split(r"[?#]", location, maxsplit=1)[0], self._secrets()))
            return Refused(Why.WRONG, f"sends elsewhere ({status}): {where or 'it does not say where'}", status, text)
        return Refused(Why.WRONG, f"answered {status}{_said(text)}", status, text)

    def _text(self, response: httpx.Response) -> str:
        """The begin of what was answered, without what it was sent in confidence."""
        return hidden(response.content[:4096].decode("utf-8", "replace"), self._secrets())

    def _secrets(self) -> Iterator[str]:
        own = self.settings
        yield from secrets_of(own.url)
        yield from (secret.get_secret_value() for secret in (own.token, own.password) if secret is not None)
        if own.username is not None and own.password is not None:
            yield b64encode(f"{own.username}:{own.password.get_secret_value()}".encode()).decode()
        try:
            yield from (value.removeprefix("Bearer ") for value in self._fresh().values())
        except ConnectorError:
            return  # it was not sent either

    def _fresh(self) -> dict[str, str]:
        """The header with the token that is renewed."""
        file = self.settings.fresh_token_file
        return {} if file is None else bearer(file)


def _sleep_before_retry(secs: float, one: _Try) -> None:
    until = time.monotonic() + secs
    while (left := until - time.monotonic()) > 0:
        if one.halted():
            raise HaltedError
        time.sleep(min(left, _LONGEST_SLEEP_SECS))
    one.effort.retries += 1


def _note_clock(response: httpx.Response, effort: Effort) -> None:
    try:
        date = parsedate_to_datetime(response.headers.get("date", ""))
    except ValueError:
        return
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    effort.ahead_secs = (date - datetime.now(UTC)).total_seconds()


def _said(text: str) -> str:
    """What a server said of its refusal, to be put behind a sentence. A page of HTML says nothing of use."""
    words = one_line(text)
    return "" if not words or words.lstrip().startswith("<") else f": {words}"


# --- questions --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Call:
    """How a question asks its server, and what that cost."""

    source: HttpSource
    halted: Halted
    effort: Effort = field(default_factory=Effort)

    def get(self, path: str, params: Mapping[str, str]) -> Answer:
        """The answer to one question. Raises Refused, HaltedError."""
        return self.source.get(path, params, self.halted, self.effort)

    def post(self, path: str, form: Mapping[str, str]) -> Answer:
        """The same, sent as a form."""
        return self.source.post(path, form, self.halted, self.effort)


class Partial(Exception):
    """Raised by a question that delivered all it could get, and knows that this is not all. The text says why."""


@dataclass(frozen=True, slots=True)
class Question:
    """One thing to ask of a server. `nodes` are those that must be told of even if nothing comes, in order.

    `ask` yields observations and may raise Refused, HaltedError or Partial. `nothing` gives the reason why a node has
    none, asking more if it must. What is said without content is of `stream`, if it has a name for it.
    """

    source: Source
    nodes: tuple[str | None, ...]
    ask: Callable[[Call], Iterator[Observation]]
    nothing: Callable[[Call, str | None], str | None] = lambda call, node: None
    window: Window | None = None
    stream: str | None = None


@dataclass(slots=True)
class _Server:
    """How the questions to one server went so far; `gone` is why no more are asked."""

    lost: int = 0
    gone: ConnectorError | None = None

    def note(self, error: ConnectorError | None) -> None:
        why = error.why if isinstance(error, Refused) else None
        self.lost = self.lost + 1 if why in {Why.BUSY, Why.UNREACHABLE} else 0
        if why is Why.DENIED or self.lost >= _LOST_IN_A_ROW:
            self.gone = error


S = TypeVar("S", bound=HttpSettings)


class HttpCollector(Collector[S]):
    """Collects from one server by asking questions, one after the other."""

    def __init__(self, settings: S) -> None:
        super().__init__(settings)
        self.http = HttpSource(settings, self.own_headers())

    def own_headers(self) -> Mapping[str, str]:
        """Headers of every call, besides those that let us in."""
        return {}

    @abstractmethod
    def questions(self, attempt: Attempt, plan: CollectionPlan) -> Iterator[Question]:
        """What to ask for an attempt, in an order that does not change. Asks nothing itself."""

    def open(self) -> None:
        """Read the certificates, so that a wrong path is found before any work."""
        self.http.open()

    def close(self) -> None:
        """Give up the connections."""
        self.http.close()

    def call(self) -> Call:
        """A call for `check()`: nothing halts it, and it is not repeated."""
        return Call(self.http, lambda: False, Effort(is_patient=False))

    def collect(self, attempt: Attempt, plan: CollectionPlan, halted: Halted) -> Iterator[Observation | Collected]:
        """What the questions give; of each of their nodes something is told.

        A server that refuses the credentials, or gave no answer to three questions in a row, is asked no more.
        """
        server = _Server()
        for question in self.questions(attempt, plan):
            call = Call(self.http, halted)
            call.effort.is_patient = server.lost == 0
            yield from self._answered(question, call, server)

    def _answered(self, question: Question, call: Call, server: "_Server") -> Iterator[Collected]:
        delivered: set[str | None] = set()
        failure: tuple[Status, str] | None = None
        try:
            if call.halted():
                raise HaltedError
            if server.gone is not None:
                raise server.gone
            for observation in question.ask(call):
                delivered.add(observation.node)
                yield Collected(observation, call.effort.take_retries())
                if call.halted():
                    raise HaltedError
            server.note(None)
        except HaltedError:
            failure = (Status.SKIPPED, DEADLINE)
        except Partial as error:
            failure = (Status.PARTIAL, str(error))
        except ConnectorError as error:
            server.note(error)
            failure = (Status.ERROR, str(error))
        except Exception as error:  # whatever a server's answer leads to, the next question is still asked
            failure = (Status.ERROR, f"failed: {one_line(error)}")
        for node in question.nodes:
            if node not in delivered or failure:
                status, reason = failure or self._nothing(question, call, node)
                status = Status.PARTIAL if node in delivered else status
                told = self._told(question, node, status, reason)
                yield Collected(told, call.effort.take_retries())

    def _nothing(self, question: Question, call: Call, node: str | None) -> tuple[Status, str | None]:
        """How to tell of a node that the server knows nothing of."""
        try:
            reason = question.nothing(call, node)
        except (ConnectorError, HaltedError):
            reason = None
        if (fault := call.effort.clock_fault) is not None:
            return Status.PARTIAL, f"{reason or 'nothing was found'}, but {fault}"
        return Status.EMPTY, reason

    def _told(self, question: Question, node: str | None, status: Status, reason: str | None) -> Observation:
        return Observation(
            source=question.source,
            node=node,
            stream=question.stream or f"({type(self).__name__.lower()})",
            window=question.window,
            status=status,
            reason=reason,
        )
