"""Results are written to standard output as people or programs read them."""

import sys
from collections.abc import Callable
from enum import StrEnum

from pydantic import Field

from attribution.blueprint.connectors.base import Sink
from attribution.contracts.base import Strict
from attribution.contracts.exchange import CatalogSnapshot
from attribution.contracts.result import AttributionBlueprintResult
from attribution.presentation import delivery, markdown, text
from attribution.presentation.columns import visible
from attribution.presentation.terminal import columns, takes_color


class Form(StrEnum):
    """How a result is written. `json` is indented, `ndjson` has one result a line."""

    TEXT = "text"
    JSON = "json"
    MD = "md"
    NDJSON = "ndjson"


class StdoutSettings(Strict):
    """How results are written."""

    format: Form = Field(default=Form.TEXT, description="how to write results")
    width: int | None = Field(default=None, ge=40, description="columns of the text; the terminal's if not given")
    verbose: bool = Field(default=False, description="in text, also show what was set aside, coverage and the trace")


class Stdout(Sink[StdoutSettings]):
    """Writes results one after the other. A reader that goes away ends the run without an error."""

    Settings = StdoutSettings
    by_default = True

    def check(self) -> str:
        """Nothing can be known of who reads it."""
        return f"writes {self.settings.format.value}"

    def write(self, result: AttributionBlueprintResult, catalog: Callable[[], CatalogSnapshot]) -> None:
        """Write one result at once. Raises BrokenPipeError."""
        sys.stdout.write(self.rendered(result))
        sys.stdout.flush()

    def rendered(self, result: AttributionBlueprintResult) -> str:
        """The result in the form that was asked for; each form can stand below another one."""
        if self.settings.format is Form.NDJSON:
            return result.model_dump_json() + "\n"
        if self.settings.format is Form.JSON:
            return result.model_dump_json(indent=2) + "\n"
        diagnosis = result.diagnosis
        if self.settings.format is Form.MD:
            return markdown.render(diagnosis) + "\n".join([*delivery.as_markdown(result), "\n"])
        width = columns(self.settings.width)
        body = text.render(diagnosis, width=width, color=takes_color(sys.stdout), verbose=self.settings.verbose)
        below = "".join(f"{line}\n" for line in delivery.as_text(result, width))
        return f"{visible(_title(result))}\n{body}{below}\n"


def _title(result: AttributionBlueprintResult) -> str:
    context = result.context
    parts = [f"workload {context.workload_id}, attempt {context.attempt}", context.name, context.cluster]
    return " · ".join(part for part in parts if part)
