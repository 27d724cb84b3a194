"""What every collector that asks a server over HTTP must do when the server does not do its part.

A test class of a connector derives from `HttpCollectorCompliance` and says four things: how the connector is made for
an address, how a healthy server answers, how one answers that has nothing, and which attempt is asked for. Methods
whose names begin with `test_` are then found by pytest or any runner of its kind.
"""

import gzip
import time
import tracemalloc
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from attribution.blueprint.attempt import Attempt
from attribution.blueprint.connectors.base import DEADLINE, Collector, ConnectorError
from attribution.contracts.observation import Observation
from attribution.contracts.plan import CollectionPlan
from attribution.contracts.vocabulary import Status
from attribution.testing.compliance import collected, collector_complies, comply, retries_of, says_all
from attribution.testing.server import Handler, Reply, Request, Server, faulty

Found = Sequence[Observation]

MEMORY_BYTES = 128 << 20
"""The most memory that collecting from a server which never stops sending may take."""


class HttpCollectorCompliance(ABC):
    """The rules. `limits` of `connector` are to be obeyed: they keep the tests short and the answers small."""

    timeout_secs = 30.0
    retry_secs = 30.0
    answer_bytes = 4 << 20
    has_long_lines = True
    """Whether what the server sends can hold a line or a value of some MiB."""

    @abstractmethod
    def connector(self, url: str, timeout_secs: float, retry_secs: float, answer_bytes: int) -> Collector[Any]:
        """The connector for the server at `url`, with these limits."""

    @abstractmethod
    def healthy(self, request: Request) -> Reply:
        """How a server answers that has something of every node of the attempt."""

    @abstractmethod
    def nothing(self, request: Request) -> Reply:
        """How a server answers that has nothing at all, and is well."""

    @abstractmethod
    def long_line(self, request: Request) -> Reply:
        """How a server answers with a line, or a value, of a few MiB, where there can be such."""

    @abstractmethod
    def attempt(self) -> Attempt:
        """An attempt with at least two nodes, and with its times."""

    def plan(self) -> CollectionPlan:
        """What the catalog asks for."""
        return CollectionPlan(catalog_digest="compliance")

    # --- helpers ------------------------------------------------------------------------------------------------------

    def _made(self, url: str, timeout_secs: float | None = None, retry_secs: float | None = None) -> Collector[Any]:
        timeout = self.timeout_secs if timeout_secs is None else timeout_secs
        retry = self.retry_secs if retry_secs is None else retry_secs
        return self.connector(url, timeout, retry, self.answer_bytes)

    def _ask(self, handler: Handler, **limits: float) -> tuple[Found, int, Server]:
        """What is collected from such a server, how often calls were repeated, and the server."""
        with Server(handler) as server:
            collector = self._made(server.url, **limits)
            try:
                found = collected(collector, self.attempt(), self.plan())
                says_all(collector, self.attempt(), found)
            finally:
                collector.close()
        return found, len(server.requests), server

    def _well(self) -> tuple[Found, int]:
        found, count, _ = self._ask(self.healthy)
        assert any(item.body for item in found), "the healthy server gives nothing"
        return found, count

    def _content(self, found: Found) -> list[tuple[object, ...]]:
        """What was found, without the address of the server."""
        return [(o.source, o.node, o.rank, o.stream, o.offset, o.body) for o in found if o.body]

    def _told(self, found: Found, *words: str) -> None:
        """Every source and node says an error, for a reason in which one of the words stands."""
        assert not any(o.status is Status.EMPTY for o in found), "what was refused is told as if nothing were there"
        for item in found:
            assert item.status in {Status.ERROR, Status.PARTIAL}, f"{item.source} of {item.node} is {item.status}"
            reason = (item.reason or "").lower()
            assert any(word in reason for word in words), f"the reason `{item.reason}` names none of {words}"

    # --- the rules ----------------------------------------------------------------------------------------------------

    def test_it_complies(self) -> None:
        """It says what it is, delivers the same twice, tells of every node, and stops when told to."""
        with Server(self.healthy) as server:
            collector = self._made(server.url)
            try:
                comply(type(collector))
                found = collector_complies(collector, self.attempt(), self.plan())
            finally:
                collector.close()
        assert {o.node for o in found if o.body} >= {node.name for node in self.attempt().context.nodes}

    def test_a_busy_server_is_asked_again(self) -> None:
        """429 and 503 are waited out, with and without `Retry-After`, and the retries are counted."""
        well, count = self._well()
        for status, headers in ((429, {}), (503, {}), (429, {"Retry-After": "1"}), (503, {"Retry-After": "0"})):
            found, asked, server = self._ask(faulty(self.healthy, Reply(status, "busy", headers)))
            assert self._content(found) == self._content(well), f"{status} {headers} changes what is found"
            assert asked == count + 1, f"after {status} {headers} the server is asked {asked} times, not {count + 1}"
            waited = server.requests[1].at - server.requests[0].at
            asked_for = float(headers.get("Retry-After", "0"))
            assert waited >= asked_for, f"came again after {waited:.2f} s, not after the {asked_for:g} s asked for"

    def test_retries_are_counted(self) -> None:
        """Two tries too many are two retries."""
        with Server(faulty(self.healthy, Reply(503), Reply(502))) as server:
            collector = self._made(server.url, timeout_secs=30.0, retry_secs=30.0)
            assert retries_of(collector, self.attempt(), self.plan()) == 2
            collector.close()

    def test_a_server_that_stays_busy_is_given_up(self) -> None:
        """The budget of time ends the tries, and the reason tells the status."""
        for status in (429, 503):
            found, *_ = self._ask(lambda request, status=status: Reply(status, "come later"), retry_secs=0.4)  # type: ignore[misc]
            self._told(found, str(status))

    def test_a_wait_that_is_longer_than_the_budget_is_not_waited(self) -> None:
        """A server that says `Retry-After: 3600` is given up now."""
        found, asked, _ = self._ask(lambda request: Reply(429, "", {"Retry-After": "3600"}), retry_secs=0.4)
        self._told(found, "429")
        assert asked <= 4

    def test_wrong_credentials_are_told_and_not_tried_again(self) -> None:
        """401 and 403 are told as what they are, with what the server said; nobody is locked out by retries."""
        for status in (401, 403):
            reply = Reply(status, "who are you", content_type="text/plain")
            found, asked, _ = self._ask(lambda request, reply=reply: reply)  # type: ignore[misc]
            self._told(found, str(status))
            assert asked == 1, f"a server that refused the credentials is asked {asked} times"
            assert any("who are you" in (o.reason or "") for o in found), "what the server said is not told"
            with Server(lambda request, reply=reply: reply) as server:  # type: ignore[misc]
                self._check_fails(server.url, str(status))

    def test_other_refusals_are_told_and_not_tried_again(self) -> None:
        """400 and 404 are no reasons to come again."""
        _, count = self._well()
        for status in (400, 404):
            found, asked, _ = self._ask(lambda request, status=status: Reply(status, "no", content_type="text/plain"))  # type: ignore[misc]
            self._told(found, str(status))
            assert asked <= count, f"after {status} the server is asked {asked} times"

    def test_a_redirect_is_not_followed(self) -> None:
        """Credentials go where the settings say, and nowhere else."""
        reply = Reply(302, "", {"Location": "http://127.0.0.1:9/login"})
        found, *_ = self._ask(lambda request: reply)
        self._told(found, "302")

    def test_a_connection_that_breaks_off_is_tried_again(self) -> None:
        """An answer that ends early is not taken for a whole one."""
        well, count = self._well()
        cut = faulty(self.healthy, Reply(200, "x" * 1000, cut_at=500))
        found, asked, _ = self._ask(cut)
        assert self._content(found) == self._content(well), "half an answer changes what is found"
        assert asked == count + 1
        found, *_ = self._ask(lambda request: Reply(200, "x" * 1000, cut_at=500), retry_secs=0.3)
        self._told(found, "reached", "incomplete", "closed")

    def test_a_server_that_does_not_answer_is_left(self) -> None:
        """Time-outs hold for the first byte."""
        found, *_ = self._ask(lambda request: Reply(wait_secs=60), timeout_secs=0.2, retry_secs=0.0)
        self._told(found, "within")

    def test_a_server_that_drips_is_left(self) -> None:
        """Time-outs hold for the whole answer too, not for each byte."""
        found, *_ = self._ask(
            lambda request: Reply(200, "[" * 10_000, drip_secs=0.05), timeout_secs=0.3, retry_secs=0.0
        )
        self._told(found, "within")

    def test_a_server_that_drips_headers_is_left(self) -> None:
        """They hold for what comes before the answer as well."""
        found, *_ = self._ask(lambda request: Reply(drip_header_secs=0.05), timeout_secs=0.3, retry_secs=0.0)
        self._told(found, "within")

    def test_nobody_listens(self) -> None:
        """A port on which nobody listens is told as such."""
        with Server(self.nothing) as server:
            url = server.url
        collector = self._made(url, retry_secs=0.2)
        found = collected(collector, self.attempt(), self.plan())
        says_all(collector, self.attempt(), found)
        self._told(found, "reached")
        collector.close()
        self._check_fails(url, "reached")

    def test_an_answer_without_end_is_cut_off(self) -> None:
        """Memory is bounded, whatever is sent."""
        tracemalloc.start()
        try:
            found, *_ = self._ask(lambda request: Reply(200, b"[" * 65536, endless=True))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert not any(o.status in {Status.OK, Status.EMPTY} for o in found)
        assert peak < MEMORY_BYTES, f"{peak >> 20} MiB of memory were taken"

    def test_an_answer_that_swells_is_cut_off(self) -> None:
        """The limit holds for what is decompressed."""
        bomb = Reply(200, gzip.compress(b" " * (3 * self.answer_bytes)), {"Content-Encoding": "gzip"})
        found, *_ = self._ask(lambda request: bomb)
        assert not any(o.status in {Status.OK, Status.EMPTY} for o in found)

    def test_a_long_line_is_cut_into_bounded_observations(self) -> None:
        """`says_all` bounds each body; nothing of the line is lost without a word."""
        found, *_ = self._ask(self.long_line)
        is_whole = sum(len(o.body) for o in found) > 2 << 20
        is_told = any(o.status not in {Status.OK, Status.EMPTY} for o in found)
        assert is_whole or is_told or not self.has_long_lines, "a long line is lost without a word"

    def test_an_empty_window_is_empty(self) -> None:
        """Where a server is well and has nothing, each source and node is `empty`, and it is no error."""
        found, *_ = self._ask(self.nothing)
        for item in found:
            assert item.status is Status.EMPTY, f"{item.source} of {item.node} is {item.status}: {item.reason}"

    def test_an_empty_answer_of_a_wrong_clock_is_not_believed(self) -> None:
        """A server whose clock is an hour off may have looked at the wrong hour."""

        def late(request: Request) -> Reply:
            reply = self.nothing(request)
            return Reply(reply.status, reply.body, reply.headers, reply.content_type, clock_secs=3600)

        found, *_ = self._ask(late)
        for item in found:
            assert item.status is Status.PARTIAL and "clock" in (item.reason or ""), f"{item.status}: {item.reason}"

    def test_nonsense_is_an_error(self) -> None:
        """What cannot be read is told so, and not taken for nothing."""
        for body in (
            "<html><body>Sign in</body></html>",
            "",
            "null",
            "[]",
            "{",
            '{"status": "success"}',
            "\x00\xff" * 9,
        ):
            found, *_ = self._ask(lambda request, body=body: Reply(200, body))  # type: ignore[misc]
            for item in found:
                assert item.status not in {Status.OK, Status.EMPTY}, f"`{body[:20]}` is taken for {item.status}"
                assert item.reason, f"`{body[:20]}` is told without a reason"

    def test_it_stops_while_it_waits(self) -> None:
        """A halt ends the wait for the next try: the answer is due."""
        started = time.monotonic()

        def halted() -> bool:
            return time.monotonic() - started > 0.5

        with Server(lambda request: Reply(503, "", {"Retry-After": "60"})) as server:
            collector = self._made(server.url, retry_secs=600)
            found = collected(collector, self.attempt(), self.plan(), halted)
            says_all(collector, self.attempt(), found)
            collector.close()
        assert all(o.reason == DEADLINE for o in found), "what was not had in time is not told so"
        assert len(server.requests) == 1, "it waits to the end and asks again although it is halted"

    def test_it_stops_while_it_reads(self) -> None:
        """A halt ends an answer that is on its way."""
        started = time.monotonic()

        def halted() -> bool:
            return time.monotonic() - started > 0.5

        with Server(lambda request: Reply(200, "[" * 100_000, drip_secs=0.02)) as server:
            collector = self._made(server.url, timeout_secs=600, retry_secs=600)
            found = collected(collector, self.attempt(), self.plan(), halted)
            collector.close()
        assert all(o.reason == DEADLINE for o in found), "what was not had in time is not told so"

    def _check_fails(self, url: str, word: str) -> None:
        collector = self._made(url, retry_secs=0.0)
        try:
            collector.check()
        except ConnectorError as error:
            assert word in str(error), f"check() says `{error}`"
        else:
            raise AssertionError("check() finds nothing wrong")
        finally:
            collector.close()
