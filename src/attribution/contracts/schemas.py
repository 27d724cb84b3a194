"""JSON Schemas of the contracts, as they are committed in `schemas/`."""

import json

from pydantic import BaseModel

from attribution.contracts.context import ExecutionContext
from attribution.contracts.diagnosis import Diagnosis
from attribution.contracts.observation import Observation
from attribution.contracts.plan import CollectionPlan
from attribution.contracts.result import AttributionBlueprintResult

PUBLISHED: dict[str, type[BaseModel]] = {
    "execution-context": ExecutionContext,
    "observation": Observation,
    "collection-plan": CollectionPlan,
    "diagnosis": Diagnosis,
    "attribution-blueprint-result": AttributionBlueprintResult,
}
"""File stem in `schemas/` and the model it describes."""


def schema_text(model: type[BaseModel], mode: str = "serialization") -> str:
    """The JSON Schema of a model as it is committed: two blanks of indent, a newline at the end."""
    schema = model.model_json_schema(mode="validation" if mode == "validation" else "serialization")
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
