"""The rules of a catalog, and the manual of one of them with where it was seen."""

from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from attribution.contracts.errors import nearest
from attribution.contracts.exchange import RuleDescription
from attribution.dashboard.access import reader_of
from attribution.dashboard.pages.catalogs import Shown, shown_catalog
from attribution.dashboard.problems import WebProblem, shown
from attribution.dashboard.rendering import page
from attribution.dashboard.views import catalog as views
from attribution.dashboard.views import links
from attribution.dashboard.views.keys import one_of, read_keys
from attribution.dashboard.views.manual import hrefs, manual_view
from attribution.dashboard.views.weeks import as_json, begin
from attribution.presentation.manual import rule_manual
from attribution.store.mentions import Mentions, Often, of_rule, rules_often

KEYS = ("q", "kind", "catalog")
"""Keys of the list's address; a rule's page has only the last."""

KINDS = ("extractor", "metric", "relation", "filter", "refiner")


def html(request: Request) -> Response:
    """The list."""
    keys, found, rules, often = _list(request)
    if found is None:
        return HTMLResponse(page("no_catalog.html", title="Rules", room=links.RULES, json=links.twin(links.RULES)))
    return HTMLResponse(
        page(
            "catalog_list.html",
            title="Rules",
            noun="rule",
            path=links.RULES,
            keys=keys,
            kept=[("kind", keys["kind"]), ("catalog", keys["catalog"])],
            count=len(rules),
            of=often.of,
            groups=views.rule_groups(rules, often, found.digest),
            choices=views.kind_choices(found.catalog, keys["q"], keys["kind"], found.digest),
            catalogs=_catalogs(found, links.RULES),
            json=links.twin(links.with_query(links.RULES, **keys)),
        )
    )


def json(request: Request) -> Response:
    """The same as JSON. `attempts` counts those of the newest `of` attempts in which the rule read a line."""
    keys, found, rules, often = _list(request)
    return JSONResponse(
        {
            "filters": {key: value for key, value in keys.items() if value},
            "catalog": found.catalog.catalog.model_dump() if found else None,
            "catalogs": catalogs_json(found),
            "of": often.of,
            "rules": [
                {
                    "href": links.rule(rule.id, found.digest if found else None),
                    **rule.model_dump(mode="json", include={"id", "name", "kind", "status", "since", "summary"}),
                    "emits": rule.emits,
                    "attempts": often.results.get(rule.id, 0),
                }
                for rule in rules
            ],
        }
    )


def _list(request: Request) -> tuple[dict[str, str], Shown | None, tuple[RuleDescription, ...], Often]:
    keys = read_keys(request.query_params.multi_items(), KEYS)
    one_of(keys, "kind", KINDS)
    found = shown_catalog(request, keys["catalog"])
    if found is None:
        return keys, None, (), Often({}, 0)
    often = rules_often(request.app.state.store, reader_of(request).tenant)
    return keys, found, views.matching_rules(found.catalog, keys["q"], keys["kind"]), often


def one_html(request: Request) -> Response:
    """The manual of a rule."""
    found, rule, seen = _one(request)
    address = links.rule(rule.id, found.digest)
    return HTMLResponse(
        page(
            "catalog_entry.html",
            room=links.RULES,
            plural="Rules",
            about="the rule",
            seen_as="a line that it read is evidence",
            manual=manual_view(rule_manual(found.catalog, rule), hrefs(found.catalog, found.digest)),
            seen=views.seen_view(seen, request.app.state.clock()),
            blamed="",
            catalogs=_catalogs(found, links.rule(rule.id)),
            json=links.twin(address),
        )
    )


def one_json(request: Request) -> Response:
    """A rule as JSON: its description, and where it was seen."""
    found, rule, seen = _one(request)
    return JSONResponse(
        {
            "catalog": found.catalog.catalog.model_dump(),
            "catalogs": catalogs_json(found),
            "rule": rule.model_dump(mode="json"),
            **seen_json(seen, request),
        }
    )


def _one(request: Request) -> tuple[Shown, RuleDescription, Mentions]:
    keys = read_keys(request.query_params.multi_items(), KEYS[2:])
    name = links.unsegment(request.path_params["id"])
    found = shown_catalog(request, keys["catalog"])
    rules = found.catalog.rules if found else ()
    rule = next((item for item in rules if name.casefold() in {item.id.casefold(), item.name}), None)
    if found is None or rule is None:
        near = nearest(name.upper(), [item.id for item in rules])
        raise WebProblem(404, f"No rule is called `{shown(name, 60)}` in this catalog. {_sentence(near)}".strip())
    now = request.app.state.clock()
    return found, rule, of_rule(request.app.state.store, reader_of(request).tenant, rule.id, begin(now))


def _sentence(remedy: str) -> str:
    return f"{remedy[:1].upper()}{remedy[1:]}" if remedy else ""


def _catalogs(found: Shown, path: str) -> tuple[views.CatalogChoice, ...]:
    return views.catalog_choices(found.kept, found.catalog.catalog.digest, path)


def catalogs_json(found: Shown | None) -> list[dict[str, Any]]:
    """Every catalog that is known, the newest first."""
    return [
        {"digest": item.digest, "version": item.version, "first_seen_at": item.first_seen_at.isoformat()}
        for item in (found.kept if found else ())
    ]


def seen_json(seen: Mentions, request: Request) -> dict[str, Any]:
    """Where something was seen: by week, and the newest attempts. `bounded`: older ones were not counted."""
    view = views.seen_view(seen, request.app.state.clock())
    attempts = [{**asdict(item), "at": item.at.isoformat(), "href": links.attempt(item.key)} for item in seen.newest]
    return {
        "since": view.since,
        "total": view.strip.total,
        "bounded": seen.bounded,
        "weeks": as_json(view.strip.weeks),
        "attempts": attempts,
    }


ROUTES = (
    Route("/rules", html),
    Route("/rules.json", json),
    Route("/rules/{id}.json", one_json),
    Route("/rules/{id}", one_html),
)
