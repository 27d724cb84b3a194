"""Templates become pages. Whatever a template shows is escaped, made visible and bounded, wherever it came from."""

from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import attribution
from attribution.dashboard.views import links
from attribution.presentation.columns import clip

ROOMS = (
    ("Attempts", links.ATTEMPTS),
    ("Hot spots", links.HOT_SPOTS),
    ("Coverage", links.COVERAGE),
    ("Rules", links.RULES),
    ("Symptoms", links.SYMPTOMS),
)
"""What every page leads to. A page says in its block `room` where it belongs."""

LONGEST_TEXT = 8_000
"""Columns of one text that a page shows at most; a view that has more to show says so itself."""


def inert(value: Any) -> Any:
    """A value as a template may show it: control, bidirectional and invisible characters are written as escapes.

    Markup that a template made itself stays as it is; everything else is escaped by the template afterwards.
    """
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return clip(value, LONGEST_TEXT)


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The templates of the package. In each of them `to` makes addresses: `to.node(name)`."""
    found = Environment(
        loader=PackageLoader("attribution.dashboard", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=inert,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals.update(version=attribution.__version__, rooms=ROOMS, to=links)
    return found


def page(template: str, **context: Any) -> str:
    """A page as HTML."""
    return environment().get_template(template).render(context)
