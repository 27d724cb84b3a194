"""The OpenAPI document is true: what it promises is answered, and nothing else."""

from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    allow_header_conformance,
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from attribution.contracts.context import ExecutionContext
from attribution.contracts.exchange import MEDIA_NDJSON
from attribution.contracts.observation import Observation
from attribution.extraction.ruleset import RuleSets
from attribution.service.app import create_app
from attribution.service.settings import ServiceSettings
from attribution.service.v1_models import ObservationRequest, OpenRequest
from attribution.store.database import open_store
from attribution.store.sessions import Sessions

from tests.service.helpers import CONTEXT, Clock, Desk, syslog

EXAMPLES = 30
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    allow_header_conformance,
]

SESSION = "/v2/attributors/{attributor_id}"
OPERATIONS = [
    ("POST", "/v2/attributors"),
    ("POST", f"{SESSION}/observations"),
    ("GET", f"{SESSION}/attribution"),
    ("GET", SESSION),
    ("DELETE", SESSION),
    ("GET", "/v2/catalog"),
    ("GET", "/v2/catalog/snapshot"),
    ("GET", "/v2/catalog/rules/{rule_id}"),
    ("GET", "/v2/catalog/symptoms"),
    ("GET", "/v2/collection-plan"),
    ("GET", "/v2/healthz"),
    ("GET", "/v2/readyz"),
    ("GET", "/metrics"),
    ("POST", "/latest/attributor"),
    ("POST", "/latest/attributor/{attributor_id}/observation"),
    ("GET", "/latest/attributor/{attributor_id}/attribution"),
]
LARGE = {"/v2/catalog", "/v2/catalog/snapshot", "/v2/catalog/symptoms"}
"""Their answers are the same each time, and take long to check."""


@schemathesis.serializer(MEDIA_NDJSON)
def ndjson(_context: Any, value: Any) -> bytes:
    """A generated text as the body; surrogates cannot be sent."""
    return str(value).encode("utf-8", "replace")


@pytest.fixture(scope="module")
def app(shipped: RuleSets, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Service that only schemathesis talks to."""
    store = open_store(str(tmp_path_factory.mktemp("store") / "sessions.db"))
    yield create_app(lambda: shipped, ServiceSettings(host="testserver"), Sessions(store), Clock(), lambda _rules: ())
    store.close()


@pytest.fixture(scope="module")
def schema(app: Any) -> Any:
    """The document as the Service answers it."""
    return schemathesis.openapi.from_asgi("/openapi.json", app)


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_answer_is_one_that_the_document_names(app: Any, schema: Any, method: str, path: str) -> None:
    service, operation = app.state.service, schema[path][method]
    modes = [operation.as_strategy(generation_mode=mode) for mode in schemathesis.GenerationMode]
    usable = [strategy for strategy in modes if not strategy.is_empty]
    checks = [*CHECKS]
    if method == "POST" and path != f"{SESSION}/observations":  # a batch is answered one by one
        checks.append(negative_data_rejection)

    @settings(
        max_examples=3 if path in LARGE else EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=st.one_of(usable), known=st.booleans())
    def run(case: Any, known: bool) -> None:
        if known and "attributor_id" in case.path_parameters:
            context = ExecutionContext.model_validate(CONTEXT)
            session = service.sessions.open(context, None, service.clock(), 3600)
            observation = Observation.model_validate(syslog(0))
            service.sessions.add(session, [(0, observation)], service.clock(), service.limits)
            case.path_parameters["attributor_id"] = session.id
        case.validate_response(case.call(), checks=checks)

    run()


def test_the_operations_above_are_all_there_are(app: Any) -> None:
    found = {(method.upper(), path) for path, calls in app.openapi()["paths"].items() for method in calls}
    assert found == set(OPERATIONS)


def test_every_operation_is_described(app: Any) -> None:
    document = app.openapi()
    tags = {tag["name"] for tag in document["tags"]}
    for path, calls in document["paths"].items():
        for call in calls.values():
            assert call["summary"] and call["description"] and set(call["tags"]) <= tags, path
            assert call["responses"].keys() >= {"405", "500"}
            for status, answer in call["responses"].items():
                if int(status) >= 400:
                    content = answer["content"]["application/problem+json"]
                    assert content["schema"] == {"$ref": "#/components/schemas/ProblemDetails"}
                    assert content["example"]["status"] == int(status)
            if "requestBody" in call:
                assert "example" in call["requestBody"]["content"]["application/json"], path
    assert document["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
    assert "security" not in document  # this Service has no tokens


def test_every_reference_leads_somewhere(app: Any) -> None:
    document = app.openapi()

    def references(value: Any) -> Iterator[str]:
        if isinstance(value, Mapping):
            if isinstance(value.get("$ref"), str):
                yield value["$ref"]
            for inner in value.values():
                yield from references(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from references(inner)

    names = {reference.removeprefix("#/components/schemas/") for reference in references(document)}
    assert names <= document["components"]["schemas"].keys()
    for name in names:
        jsonschema.Draft202012Validator.check_schema(document["components"]["schemas"][name])


def test_the_examples_are_accepted(desk: Desk) -> None:
    document = desk.http.get("/openapi.json").json()

    def example(path: str) -> Any:
        return document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["example"]

    session = desk.open(example("/v2/attributors"))
    assert desk.submit(session, *example(f"{SESSION}/observations")["observations"])["accepted"] == 1
    assert desk.attribution(session)["diagnosis"]["exclude_nodes"] == ["node-02"]
    v1 = example("/latest/attributor")
    assert OpenRequest.model_validate(v1)
    session = desk.http.post("/latest/attributor", json=v1).json()["attributor_id"]
    observation = example("/latest/attributor/{attributor_id}/observation")
    assert ObservationRequest.model_validate(observation)
    assert desk.http.post(f"/latest/attributor/{session}/observation", json=observation).status_code == 200
    nodes = desk.http.get(f"/latest/attributor/{session}/attribution").json()["attributions"]
    assert [node["node"] for node in nodes if node["attributions"]] == ["node-02"]


def test_the_page_for_people_tells_every_call_and_loads_nothing(desk: Desk) -> None:
    page = desk.http.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    for _, path in OPERATIONS:
        assert path in page.text
    assert "http://" not in page.text and "https://" not in page.text and "<script" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
