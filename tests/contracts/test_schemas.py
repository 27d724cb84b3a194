"""The committed schemas describe what the models write and take, and the models hold to the rules of the contracts."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from attribution.contracts.base import Instant
from attribution.contracts.context import ExecutionContext
from attribution.contracts.diagnosis import Diagnosis
from attribution.contracts.observation import Observation
from attribution.contracts.schemas import PUBLISHED, schema_text

CONTEXT = {
    "workload_id": "job-7",
    "attempt": 2,
    "scheduler": "slurm",
    "scheduler_ids": {"job": "7"},
    "started_at": "2026-05-04T05:00:00+02:00",
    "ended_at": "2026-05-04T03:25:00Z",
    "nodes": [{"name": "node-01", "ranks": [0, 1], "gpus": [{"index": 0, "pci": "0000:1b:00"}]}],
}
OBSERVATION = {
    "source": "syslog",
    "node": "node-01",
    "stream": "syslog/node-01.log",
    "offset": 10,
    "window": {"start": "2026-05-04T03:00:00Z", "end": "2026-05-04T03:25:00Z"},
    "clock": {"zone": "Europe/Berlin"},
    "body": "line\n",
}
DIAGNOSIS = {
    "workload_id": "job-7",
    "attempt": 1,
    "terminal_state": "failed",
    "domain": "hardware",
    "sub_domain": "nvlink_fabric",
    "summary": "The link failed.",
    "coverage": [],
    "catalog": {"version": "0.1.0", "digest": "00"},
    "input_digest": "00",
}
INSTANCES: list[tuple[str, type[BaseModel], dict[str, Any]]] = [
    ("execution-context", ExecutionContext, CONTEXT),
    ("observation", Observation, OBSERVATION),
    ("diagnosis", Diagnosis, DIAGNOSIS),
]


@pytest.mark.parametrize("name", PUBLISHED)
def test_committed_schemas_are_fresh(root: Path, name: str) -> None:
    assert (root / "schemas" / f"{name}.schema.json").read_text() == schema_text(PUBLISHED[name])


def test_no_schema_is_left_over(root: Path) -> None:
    assert {path.name for path in (root / "schemas").iterdir()} == {f"{name}.schema.json" for name in PUBLISHED}


@pytest.mark.parametrize(("name", "model", "value"), INSTANCES)
def test_what_a_model_writes_validates(root: Path, name: str, model: type[BaseModel], value: dict[str, Any]) -> None:
    schema = json.loads((root / "schemas" / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    instance = model.model_validate(value)
    written = json.loads(instance.model_dump_json(by_alias=True))
    validator.validate(written)
    assert model.model_validate(written) == instance
    required = schema["required"][0]
    assert not validator.is_valid({key: item for key, item in written.items() if key != required})


@pytest.mark.parametrize("model", [ExecutionContext, Observation])
def test_unknown_keys_are_refused_of_others(model: type[BaseModel]) -> None:
    value = CONTEXT if model is ExecutionContext else OBSERVATION
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        model.model_validate({**value, "flavour": "x"})


def test_unknown_keys_of_a_newer_diagnosis_are_ignored() -> None:
    newer = {**DIAGNOSIS, "flavour": "x", "catalog": {"version": "9", "digest": "0", "colour": "red"}}
    diagnosis = Diagnosis.model_validate(newer)
    assert diagnosis.catalog.version == "9" and not hasattr(diagnosis, "flavour")


@pytest.mark.parametrize("text", ["2026-05-04T03:00:00", "2026-05-04", "yesterday", ""])
def test_an_instant_without_an_offset_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Instant).validate_python(text)


@pytest.mark.parametrize("text", ["2026-05-04T03:00:00Z", "2026-05-04T05:00:00+02:00", "2026-05-03T22:00:00.000-05:00"])
def test_an_instant_is_kept_in_utc(text: str) -> None:
    found = TypeAdapter(Instant).validate_python(text)
    assert found == datetime(2026, 5, 4, 3, tzinfo=UTC) and found.tzinfo is UTC


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"started_at": "2026-05-04T04:00:00Z"}, "`ended_at` is before `started_at`"),
        ({"nodes": [{"name": "a"}, {"name": "b"}, {"name": "a"}]}, "node `a` is listed twice"),
        ({"workload_id": ""}, "at least 1 character"),
        ({"attempt": 0}, "greater than or equal to 1"),
    ],
)
def test_contexts_that_contradict_themselves_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        ExecutionContext.model_validate({**CONTEXT, **change})


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({}, True),
        ({"window": None}, True),
        ({"status": "partial"}, False),
        ({"reason": "x"}, False),
        ({"first_line": 3}, False),
        ({"clock": None}, False),
        ({"truncated": True}, False),
        ({"source": "applog"}, False),
        ({"node": None}, False),
        ({"rank": 0}, False),
        ({"stream": "x"}, False),
        ({"offset": 11}, False),
        ({"body": "line"}, False),
    ],
)
def test_a_digest_covers_all_that_a_diagnosis_rests_on(change: dict[str, Any], same: bool) -> None:
    one, other = Observation.model_validate(OBSERVATION), Observation.model_validate({**OBSERVATION, **change})
    assert (one.digest == other.digest) is same
    assert len(one.digest) == 32


def test_a_digest_can_be_had_of_any_text() -> None:
    hostile = Observation(source="applog", node="\ud800", stream="\0", reason="\ud800", body="\udfff")
    assert len(hostile.digest) == 32
