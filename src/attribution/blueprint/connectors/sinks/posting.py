"""What sinks have in common that post results to an address: which results, how, and what an answer means."""

from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

import httpx
from pydantic import Field

from attribution.blueprint.connectors.base import ConnectorError, SinkBusy, SinkRefused
from attribution.blueprint.connectors.calls import Caller, unanswered
from attribution.blueprint.connectors.foreign import hidden, one_line
from attribution.client.retry import retry_after_secs
from attribution.configuration.secrets import HttpAddress, secrets_of
from attribution.contracts.base import Strict
from attribution.contracts.result import AttributionBlueprintResult
from attribution.contracts.vocabulary import SubDomain, TerminalState
from attribution.store.results import result_key

_REFUSED = frozenset({400, 413, 422})
"""Answers that say that this very result will never be taken."""
_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
_SHOWN = 200
_MOST_BYTES = 4096


class PostingSettings(Strict):
    """Which results are posted, and how patiently."""

    only_terminal_states: tuple[TerminalState, ...] = Field(
        default=(), description="post only attempts that ended so; all if none is named"
    )
    only_sub_domains: tuple[SubDomain, ...] = Field(
        default=(), description="post only results with such a cause; all if none is named"
    )
    dashboard_url: HttpAddress | None = Field(
        default=None, description="address of the pages, to which messages then link"
    )
    timeout_secs: float = Field(default=10.0, gt=0, description="how long a result may take to be posted and answered")


def wanted(settings: PostingSettings, result: AttributionBlueprintResult) -> bool:
    """Whether a result is one of those that are posted."""
    states, causes = settings.only_terminal_states, settings.only_sub_domains
    return (not states or result.terminal_state in states) and (not causes or result.sub_domain in causes)


def page_of(settings: PostingSettings, result: AttributionBlueprintResult) -> str | None:
    """The address of the page that shows a result, if pages are configured."""
    if settings.dashboard_url is None:
        return None
    return f"{settings.dashboard_url.rstrip('/')}/attempts/{result_key(result, result.context.tenant)}"


class Post:
    """Posts to one address. Redirects are not followed: a result goes where it was meant to go, or nowhere.

    What the other side says is shown without the address, what its path and query hold, and the `secrets`.
    """

    def __init__(self, url: str, timeout_secs: float, secrets: Iterable[str | None] = ()) -> None:
        self._url = url
        self._timeout_secs = timeout_secs
        self._secrets = (*secrets, *_secrets_of(url))
        self._caller = Caller(url, timeout_secs)

    def send(self, body: bytes, headers: Mapping[str, str]) -> None:
        """Post once. Raises SinkBusy, SinkRefused or ConnectorError, without showing the address."""
        status, answered, said = self._called("POST", body, headers)
        if 200 <= status < 300:
            return
        message = f"answered {status}{said}"
        if status in _REFUSED:
            raise SinkRefused(message)
        if 300 <= status < 400:
            raise ConnectorError(
                f"answered {status}, which sends elsewhere; results go only to the address that is set"
            )
        if status in _BUSY:
            raise SinkBusy(message, retry_after_secs(answered.get("retry-after", "")))
        raise ConnectorError(message)

    def reach(self) -> int:
        """The status of an answer to HEAD, whatever it is: somebody is there. Raises ConnectorError."""
        return self._called("HEAD", b"", {})[0]

    def close(self) -> None:
        """Give up the connections."""
        self._caller.close()

    def _called(self, method: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, httpx.Headers, str]:
        """Status, headers and what an answer that refuses says; of one that takes the result no more is read."""
        try:
            with self._caller.answer(method, self._url, body, headers) as response:
                said = "" if response.is_success else self._said(response)
                return response.status_code, response.headers, said
        except httpx.TransportError as error:
            raise SinkBusy(hidden(unanswered(error, self._timeout_secs), self._secrets)) from None

    def _said(self, response: httpx.Response) -> str:
        """The begin of what was answered, on one line that no terminal acts on. What cannot be read says nothing."""
        held = b""
        try:
            for chunk in response.iter_bytes(_MOST_BYTES):
                held += chunk
                if len(held) >= _MOST_BYTES:
                    break
        except httpx.HTTPError:
            pass
        words = one_line(hidden(held.decode("utf-8", "replace"), self._secrets), _SHOWN)
        return f": {words}" if words else ""


def reached(post: Post) -> str:
    """What `check` of such a sink says."""
    status = post.reach()
    return f"is there (it answered {status} to a call that delivers nothing)"


def _secrets_of(url: str) -> tuple[str, ...]:
    """What may be secret of an address: all but the host, also piece by piece."""
    parts = urlsplit(url)
    named = parts.query.replace("=", "&").split("&")
    return (url, *secrets_of(url), parts.path, *parts.path.split("/"), parts.query, *named)
