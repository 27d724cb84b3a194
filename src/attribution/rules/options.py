"""What the options of a rule's decorator, and its SYMPTOMS, must be. Python has no types at run time: these are it."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from attribution.contracts.documents import Path
from attribution.contracts.errors import ConfigurationError, Place, Problem
from attribution.contracts.vocabulary import Source
from attribution.events.symptom import SymptomType
from attribution.rules.api import Declared, FilterStage, PrintedBy, RefineStage
from attribution.rules.schema import PrintedByModel, Text


def _listed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _whole(printed_by: PrintedBy) -> PrintedBy:
    parts = {name: getattr(printed_by, name) for name in PrintedByModel.model_fields}
    PrintedByModel.model_validate(parts, strict=True)
    return printed_by


Texts = Annotated[tuple[Text, ...], BeforeValidator(_listed)]
Needs = Annotated[Texts, Field(description="a list of symptoms and tags, such as ['XID_79', 'tag:xid']")]
Emits = Annotated[Texts, Field(description="a list of symptoms, such as ['XID_79']")]


class Options(BaseModel):
    """Options are of exactly these types; a text is no list."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=True)


class ExtractorOptions(Options):
    literals: Annotated[Texts, Field(min_length=1, description="a list of texts, such as ['NVRM: Xid']")]
    pattern: Annotated[
        tuple[Text, ...],
        BeforeValidator(lambda value: (value,) if isinstance(value, str) else _listed(value)),
        Field(min_length=1, description="a text, or a list of texts"),
    ]
    emits: Annotated[Emits, Field(min_length=1)]
    printed_by: Annotated[
        PrintedBy, AfterValidator(_whole), Field(description="PrintedBy('program', 'versions', 'source'), all told")
    ]
    sources: Annotated[
        tuple[Source, ...],
        BeforeValidator(_listed),
        Field(min_length=1, description="a list of sources, such as [Source.APPLOG]"),
    ]
    follow_lines: int = Field(ge=0, le=60, description="a number of lines from 0 to 60")
    traceback: bool = Field(description="True or False")
    generic: bool = Field(description="True or False")


class FilterOptions(Options):
    stage: FilterStage = Field(description="FilterStage.EARLY or FilterStage.MAIN")
    needs: Needs
    emits: Emits


class RefinerOptions(Options):
    stage: RefineStage = Field(description="a stage, such as RefineStage.JOB")
    needs: Needs
    priority: int = Field(description="a whole number; the higher wins")


_OPTIONS: Mapping[str, type[ExtractorOptions | FilterOptions | RefinerOptions]] = {
    "extractor": ExtractorOptions,
    "filter": FilterOptions,
    "refiner": RefinerOptions,
}
_SYMPTOM = TypeAdapter(SymptomType)


def options_of(
    declared: Declared, places: Mapping[Path, Place], place: Place
) -> ExtractorOptions | FilterOptions | RefinerOptions:
    """The options of a decorator. Raises ConfigurationError (R037) with each that is of a wrong type or value."""
    model = _OPTIONS[declared.kind]
    try:
        return model.model_validate(dict(declared.options))
    except ValidationError as error:
        wrong = {item["loc"][0]: item["loc"] for item in reversed(error.errors())}
        problems = [
            refused_option(
                str(name),
                declared.options[str(name)],
                model.model_fields[str(name)].description or "",
                _near(places, loc) or place,
            )
            for name, loc in wrong.items()
        ]
        raise ConfigurationError(problems) from error


def refused_option(name: str, value: object, remedy: str, place: Place) -> Problem:
    """R037: the option `name` has a value that it does not take."""
    shown = repr(value)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return Problem(place, "R037", f"has `{name}={shown}`, which it does not take", f"give {remedy}")


def symptoms_of(value: object, shown: str) -> Iterator[SymptomType]:
    """The SYMPTOMS of a module. Raises ConfigurationError (R037) for what is no tuple of whole SymptomTypes."""
    if not isinstance(value, tuple | list) or not all(isinstance(symptom, SymptomType) for symptom in value):
        raise ConfigurationError([refused_option("SYMPTOMS", value, "a tuple of SymptomType(...)", Place(shown))])
    for symptom in value:
        try:
            yield _SYMPTOM.validate_python({name: getattr(symptom, name) for name in SymptomType.__slots__})
        except ValidationError as error:
            name = str(error.errors()[0]["loc"][0])
            message = f"defines the symptom `{symptom.name}` with a `{name}` of a wrong type or value"
            remedy = "see docs/writing-rules.md for what it may be"
            raise ConfigurationError([Problem(Place(shown), "R037", message, remedy)]) from error


def _near(places: Mapping[Path, Place], loc: Path) -> Place | None:
    """Where an option stands, or the item of it that is wrong."""
    for path in (loc, loc[:1]):
        for known in (path, ("extract", *path)):
            if known in places:
                return places[known]
    return None
