"""Results are posted as JSON to an address of your own, signed, and so that a repetition is known as one."""

import hashlib
import hmac
import json
import time
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from pydantic import Field

from attribution.blueprint.connectors.base import Sink
from attribution.blueprint.connectors.calls import SecretHeader
from attribution.blueprint.connectors.sinks.posting import Post, PostingSettings, page_of, reached, wanted
from attribution.configuration.secrets import HttpAddress, Secret
from attribution.contracts.exchange import CatalogSnapshot
from attribution.contracts.result import AttributionBlueprintResult
from attribution.store.codec import to_json

SIGNATURE, TIMESTAMP, KEY = "Attribution-Signature", "Attribution-Timestamp", "Idempotency-Key"


class Body(StrEnum):
    """What is posted: the whole result, or what a program decides by."""

    FULL = "full"
    SHORT = "short"


class WebhookSettings(PostingSettings):
    """Where results are posted, and how they are signed."""

    url: HttpAddress = Field(description="address to which each result is posted")
    secret: Secret | None = Field(default=None, description="key of the signature; without one nothing is signed")
    token: SecretHeader | None = Field(default=None, description="bearer token that the address asks for")
    body: Body = Field(default=Body.FULL, description="the whole result, or a short form without its evidence")


class Webhook(Sink[WebhookSettings]):
    """Posts each result as JSON. The same result has the same idempotency key, however often it is posted."""

    Settings = WebhookSettings

    def __init__(self, settings: WebhookSettings) -> None:
        super().__init__(settings)
        secrets = (settings.token, settings.secret)
        self._post = Post(settings.url, settings.timeout_secs, [s.get_secret_value() for s in secrets if s is not None])

    def check(self) -> str:
        """See whether something answers at the address; nothing is delivered."""
        return reached(self._post)

    def wants(self, result: AttributionBlueprintResult) -> bool:
        """Whether it is one of those that are posted."""
        return wanted(self.settings, result)

    def write(self, result: AttributionBlueprintResult, catalog: Callable[[], CatalogSnapshot]) -> None:
        """Post one result. Raises ConnectorError."""
        body = self.body_of(result)
        headers = {"Content-Type": "application/json", KEY: idempotency_key(result)}
        if self.settings.token is not None:
            headers["Authorization"] = f"Bearer {self.settings.token.get_secret_value()}"
        if self.settings.secret is not None:
            at = str(int(time.time()))
            headers |= {TIMESTAMP: at, SIGNATURE: signature(self.settings.secret.get_secret_value(), at, body)}
        self._post.send(body, headers)

    def body_of(self, result: AttributionBlueprintResult) -> bytes:
        """What is posted, as ASCII JSON."""
        if self.settings.body is Body.FULL:
            return to_json(result).encode()
        return json.dumps(short_form(result) | {"page": page_of(self.settings, result)}).encode()

    def close(self) -> None:
        """Give up the connections."""
        self._post.close()


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """`v1=` and the HMAC-SHA256, in hexadecimal digits, of the time stamp, a dot and the body."""
    return "v1=" + hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def idempotency_key(result: AttributionBlueprintResult) -> str:
    """Names an attempt with the evidence and the rules by which it was diagnosed: 32 hexadecimal digits."""
    context, diagnosis = result.context, result.diagnosis
    attempt = (context.tenant, context.cluster, context.workload_id, context.attempt)
    told = repr((*attempt, diagnosis.input_digest, diagnosis.catalog.digest))
    return hashlib.blake2b(told.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def short_form(result: AttributionBlueprintResult) -> dict[str, Any]:
    """What a program decides by. Its keys are a subset of the result's, flattened; nothing of the logs is in it."""
    context, diagnosis = result.context, result.diagnosis
    causes = [
        {"symptom": cause.symptom, "sub_domain": cause.sub_domain, "node": cause.node, "rank": cause.rank,
         "confidence": cause.confidence, "rule": cause.rule}
        for cause in diagnosis.causes[:20]
    ]  # fmt: skip
    return {
        "schema_version": result.schema_version,
        "workload_id": context.workload_id,
        "attempt": context.attempt,
        "cluster": context.cluster,
        "tenant": context.tenant,
        "name": context.name,
        "user": context.user,
        "started_at": context.started_at and context.started_at.isoformat(),
        "ended_at": context.ended_at and context.ended_at.isoformat(),
        "terminal_state": result.terminal_state,
        "domain": diagnosis.domain,
        "sub_domain": result.sub_domain,
        "summary": diagnosis.summary,
        "causes": causes,
        "affected_nodes": list(diagnosis.affected_nodes),
        "exclude_nodes": list(diagnosis.exclude_nodes),
        "actions": list(diagnosis.actions),
    }
