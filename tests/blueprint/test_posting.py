"""Sinks that post: what is posted, what an answer means, and that text from logs is only text."""

import hashlib
import hmac
import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from pydantic import ValidationError

from attribution.blueprint.connectors.base import ConnectorError, SinkBusy, SinkRefused
from attribution.blueprint.connectors.sinks.slack import Slack, SlackSettings, message
from attribution.blueprint.connectors.sinks.webhook import Webhook, WebhookSettings, idempotency_key
from attribution.blueprint.delivery import Deliverer
from attribution.bundle.reader import open_bundle
from attribution.client.retry import Retries
from attribution.contracts.result import AttributionBlueprintResult
from attribution.diagnosis.engine import diagnose
from attribution.extraction.ruleset import RuleSets
from attribution.store.results import result_key
from attribution.testing import Reply, Server, sink_complies

from tests.blueprint.results import SNAPSHOT, result
from tests.conftest import ROOT

HOSTILE = "<!channel> @here & `code` \x1b[31m\u202e <https://evil.example|click> *bold* " + "&<" * 400


class Receiver(Server):
    """Answers what `answers` says: one after the other, the last one for good."""

    def __init__(self) -> None:
        super().__init__(lambda request: self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])
        self.answers = [Reply(body="ok")]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as found:
        yield found


@pytest.fixture(scope="module")
def nvlink(shipped: RuleSets) -> AttributionBlueprintResult:
    with open_bundle(ROOT / "samples" / "nvlink-signal-integrity") as evidence:
        diagnosis = diagnose(evidence, shipped)
        return AttributionBlueprintResult(
            terminal_state=diagnosis.terminal_state,
            sub_domain=diagnosis.sub_domain,
            context=evidence.context,
            diagnosis=diagnosis,
        )


def webhook(receiver: Receiver, **settings: Any) -> Webhook:
    return Webhook(WebhookSettings.model_validate({"url": f"{receiver.url}/hook", **settings}))


def write(sink: Webhook | Slack, of: AttributionBlueprintResult | None = None) -> None:
    with closing(sink):
        sink.write(of or result(), lambda: SNAPSHOT)


# --- webhook ----------------------------------------------------------------------------------------------------------


def test_the_webhook_complies(receiver: Receiver) -> None:
    def read() -> list[AttributionBlueprintResult]:
        posted = {one.headers["idempotency-key"]: one.body for one in receiver.requests if one.body}
        return [AttributionBlueprintResult.model_validate_json(body) for body in posted.values()]

    sink_complies(webhook(receiver), result(), lambda: SNAPSHOT, read)


def test_a_receiver_can_tell_who_posted_and_when(receiver: Receiver) -> None:
    write(webhook(receiver, secret="s3cret", token="t0ken"))
    (one,) = receiver.requests
    headers, body = one.headers, one.body
    assert (one.path, headers["content-type"], headers["authorization"]) == (
        "/hook",
        "application/json",
        "Bearer t0ken",
    )
    stamp = headers["attribution-timestamp"]
    assert abs(int(stamp) - time.time()) < 600
    expected = hmac.new(b"s3cret", f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
    assert headers["attribution-signature"] == f"v1={expected}"
    write(webhook(receiver))
    assert "attribution-signature" not in receiver.requests[1].headers


def test_a_repetition_has_the_same_key_and_other_evidence_another() -> None:
    key = idempotency_key(result())
    assert re.fullmatch("[0-9a-f]{32}", key) and key == idempotency_key(result())
    other = result()
    changed = other.model_copy(update={"diagnosis": other.diagnosis.model_copy(update={"input_digest": "f"})})
    assert len({key, idempotency_key(changed), idempotency_key(result(tenant="a")), idempotency_key(result("b"))}) == 4


def test_the_short_form_says_what_a_program_decides_by(receiver: Receiver, nvlink: AttributionBlueprintResult) -> None:
    write(webhook(receiver, body="short", dashboard_url="https://pages.example/x/"), nvlink)
    told = json.loads(receiver.requests[0].body)
    assert (told["workload_id"], told["terminal_state"], told["sub_domain"]) == ("418201", "failed", "nvlink_fabric")
    assert (told["exclude_nodes"], told["causes"][0]["node"]) == (["node-02"], "node-02")
    assert told["page"] == f"https://pages.example/x/attempts/{result_key(nvlink, None)}"
    assert "evidence" not in told


@pytest.mark.parametrize(
    ("status", "headers", "kind", "wait"),
    [
        (429, {"Retry-After": "7"}, SinkBusy, 7.0),
        (503, {}, SinkBusy, None),
        (500, {"Retry-After": "x"}, SinkBusy, None),
        (400, {}, SinkRefused, None),
        (422, {}, SinkRefused, None),
        (401, {}, ConnectorError, None),
        (404, {}, ConnectorError, None),
        (307, {"Location": "http://127.0.0.1:9/elsewhere"}, ConnectorError, None),
    ],
)
def test_what_an_answer_means(
    receiver: Receiver, status: int, headers: dict[str, str], kind: type[Exception], wait: float | None
) -> None:
    receiver.answers = [Reply(status, b"be\x1bcause\n" + b"x" * 100_000, headers)]
    with pytest.raises(ConnectorError) as caught:
        write(webhook(receiver))
    assert type(caught.value) is kind
    assert getattr(caught.value, "wait_secs", None) == wait
    assert str(status) in str(caught.value) and len(str(caught.value)) < 300 and "\x1b" not in str(caught.value)
    assert len(receiver.requests) == 1, "no redirect is followed, and nothing is tried again here"


def test_who_is_away_or_silent_may_come_back() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        sink = Webhook(WebhookSettings(url=f"http://127.0.0.1:{port}/p", timeout_secs=0.2))
        with pytest.raises(SinkBusy, match=r"did not answer within 0\.2 s"):
            write(sink)
    with pytest.raises(SinkBusy, match="cannot be reached"):
        write(Slack(SlackSettings(url=f"http://127.0.0.1:{port}/services/T0/s3cret")))
    slack = Slack(SlackSettings(url=f"http://127.0.0.1:{port}/services/T0/s3cret"))
    with closing(slack), pytest.raises(ConnectorError) as caught:
        slack.check()
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("reply", [Reply(drip_header_secs=0.05), Reply(503, "x" * 1000, drip_secs=0.05)])
def test_a_receiver_that_drips_is_left_in_time(receiver: Receiver, reply: Reply) -> None:
    """The time-out is one for the whole, not for each byte: neither headers nor reasons hold up a sink for good."""
    receiver.answers = [reply]
    with pytest.raises(SinkBusy, match=r"did not answer within 0\.3 s|answered 503"):
        write(webhook(receiver, timeout_secs=0.3))


def test_who_takes_the_result_need_not_say_more(receiver: Receiver) -> None:
    """Neither an answer that never ends nor one that cannot be read makes it less taken."""
    receiver.answers = [
        Reply(body="x" * 1000, drip_secs=5.0),
        Reply(body=b"no gzip", headers={"Content-Encoding": "gzip"}),
    ]
    sink = webhook(receiver, timeout_secs=20)
    with closing(sink):
        for _ in range(2):
            sink.write(result(), lambda: SNAPSHOT)
    assert len(receiver.requests) == 2


def test_what_was_sent_in_confidence_is_not_shown(receiver: Receiver) -> None:
    receiver.answers = [Reply(401, "no such hook: POST /services/T0B1/s3cret-path; Authorization 'Bearer t0ken-x'")]
    with pytest.raises(ConnectorError) as caught:
        write(webhook(receiver, token="t0ken-x"))
    assert "t0ken-x" not in str(caught.value) and "no such" in str(caught.value)
    with pytest.raises(ConnectorError) as caught:
        write(Slack(SlackSettings.model_validate({"url": f"{receiver.url}/services/T0B1/s3cret-path"})))
    assert "s3cret" not in str(caught.value) and "T0B1" not in str(caught.value)


@pytest.mark.parametrize("token", ["one\ntwo", "schlüssel", "esc\x1b"])
def test_a_token_that_no_header_may_hold_is_refused_unseen(receiver: Receiver, token: str) -> None:
    with pytest.raises(ValidationError) as caught:
        webhook(receiver, token=token)
    assert "holds characters that no header may hold" in caught.value.errors()[0]["msg"]


def test_an_address_of_slack_is_one() -> None:
    for wrong in ("SECRETX", "ftp://10.0.0.1/x"):
        with pytest.raises(ValidationError, match="is no address") as caught:
            SlackSettings.model_validate({"url": wrong})
        assert wrong not in caught.value.errors()[0]["msg"]


def test_a_check_delivers_nothing(receiver: Receiver) -> None:
    receiver.answers = [Reply(405)]
    with closing(webhook(receiver)) as sink:
        assert sink.check() == "is there (it answered 405 to a call that delivers nothing)"
    assert [(one.method, one.body) for one in receiver.requests] == [("HEAD", b"")]


@pytest.mark.parametrize(
    ("settings", "wants"),
    [
        ({}, True),
        ({"only_terminal_states": ["failed", "timed_out"]}, True),
        ({"only_terminal_states": ["completed"]}, False),
        ({"only_sub_domains": ["insufficient_evidence"]}, True),
        ({"only_sub_domains": ["gpu_hardware"]}, False),
        ({"only_terminal_states": ["failed"], "only_sub_domains": ["gpu_hardware"]}, False),
    ],
)
def test_only_what_is_wanted_is_posted(receiver: Receiver, settings: dict[str, Any], wants: bool) -> None:
    sinks = (webhook(receiver, **settings), Slack(SlackSettings.model_validate({"url": receiver.url, **settings})))
    for sink in sinks:
        Deliverer(Retries(times=0)).deliver("posts", sink, result(), lambda: SNAPSHOT)
        sink.close()
    assert len(receiver.requests) == (2 if wants else 0)


# --- slack ------------------------------------------------------------------------------------------------------------


def test_slack_complies(receiver: Receiver) -> None:
    of = result()
    sink = Slack(SlackSettings.model_validate({"url": receiver.url}))
    sink_complies(sink, of, lambda: SNAPSHOT, lambda: [of] if receiver.requests else [])


def test_the_message_says_what_a_colleague_would(nvlink: AttributionBlueprintResult) -> None:
    told = message(nvlink, "https://pages.example/attempts/1")
    first, *others = told["text"].splitlines()
    assert first.startswith("*418201, attempt 1") and "failed, hardware / nvlink_fabric on node-02" in first
    text = "\n".join(others)
    page = "<https://pages.example/attempts/1|The whole diagnosis>"
    line = ("Loss of NVLink signal integrity (Xid 149)", "syslog/node-02.log:812", "NETIR_LINK_EVT")
    for said in (*line, "*next*: ", "*exclude*: node-02", "*not examined*: ", page):
        assert said in text
    assert len(told["text"]) < 2500
    assert [block["text"]["text"] for block in told["blocks"]] != [] and told["unfurl_links"] is False


def test_text_from_logs_calls_nobody_and_is_no_markup(nvlink: AttributionBlueprintResult) -> None:
    """Wherever a text may come from a log, it is put there."""
    given = json.loads(nvlink.model_dump_json())
    for item in given["diagnosis"]["evidence"]:
        item |= {"text": HOSTILE, "stream": HOSTILE}
    for cause in given["diagnosis"]["causes"]:
        cause |= {"meaning": HOSTILE, "node": HOSTILE, "why": HOSTILE}
    given["diagnosis"] |= {"summary": HOSTILE, "workload_id": HOSTILE, "exclude_nodes": [HOSTILE]}
    given["context"] |= {"name": HOSTILE, "cluster": HOSTILE, "workload_id": HOSTILE}
    told = message(AttributionBlueprintResult.model_validate(given), None)
    texts = [told["text"], *(block["text"]["text"] for block in told["blocks"])]
    for text in texts:
        assert "<" not in text and ">" not in text.replace("&gt;", "")
        assert re.search(r"@[a-z]", text) is None and re.search(r"&(?!amp;|lt;|gt;)", text) is None
        assert "\x1b" not in text and "\u202e" not in text
        assert text.replace("```", "").count("`") == 0
    assert all(len(text) < 3000 for text in texts[1:]) and len(texts[0]) < 12_000


def test_a_result_without_a_cause_is_told_too() -> None:
    told = message(result(), None)
    assert "job-7, attempt 1" in told["text"] and "no cause is in the evidence" in told["text"]


def test_what_was_inferred_or_is_missing_is_told() -> None:
    of = result()
    changed = {"inferred": ("nodes",), "partial": "2 pods were gone before they were seen"}
    of = of.model_copy(update={"diagnosis": of.diagnosis.model_copy(update=changed)})
    text = message(of, None)["text"]
    assert "*inferred*: nodes" in text and "*partial*: 2 pods were gone before they were seen" in text


# --- within one run ---------------------------------------------------------------------------------------------------


def test_a_run_offers_a_result_again_and_waits_as_it_is_asked_to(receiver: Receiver) -> None:
    receiver.answers = [Reply(503, headers={"Retry-After": "0"}), Reply(429, headers={"Retry-After": "0"}), Reply()]
    sink = webhook(receiver)
    Deliverer(Retries(times=5, first_wait_secs=0.0)).deliver("webhook", sink, result(), lambda: SNAPSHOT)
    sink.close()
    assert len({one.headers["idempotency-key"] for one in receiver.requests}) == 1
    assert len(receiver.requests) == 3


def test_a_run_does_not_wait_longer_than_it_may_and_only_once_for_a_sink_that_is_away(receiver: Receiver) -> None:
    receiver.answers = [Reply(503, headers={"Retry-After": "900"})]
    sink, deliverer = webhook(receiver), Deliverer(Retries(times=3, total_secs=60.0, first_wait_secs=0.0))
    with pytest.raises(SinkBusy):
        deliverer.deliver("webhook", sink, result(), lambda: SNAPSHOT)
    assert len(receiver.requests) == 1, "it asks for more time than there is"
    receiver.answers = [Reply(503)]
    with pytest.raises(SinkBusy):
        deliverer.deliver("webhook", sink, result(), lambda: SNAPSHOT)
    assert len(receiver.requests) == 2
    receiver.answers = [Reply(200)]
    deliverer.deliver("webhook", sink, result(), lambda: SNAPSHOT)
    receiver.answers = [Reply(503)]
    with pytest.raises(SinkBusy):
        deliverer.deliver("webhook", sink, result(), lambda: SNAPSHOT)
    assert len(receiver.requests) == 3 + 4, "it is waited for again after it took one"
    receiver.answers = [Reply(400)]
    with pytest.raises(SinkRefused):
        Deliverer(Retries(times=3)).deliver("webhook", sink, result(), lambda: SNAPSHOT)
    assert len(receiver.requests) == 8
    sink.close()
