"""The symptoms of a catalog, and the manual of one of them with where it was seen and how often it was blamed."""

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from attribution.contracts.errors import nearest
from attribution.contracts.exchange import SymptomDescription
from attribution.contracts.vocabulary import Role, SubDomain
from attribution.dashboard.access import reader_of
from attribution.dashboard.pages.catalogs import Shown, shown_catalog
from attribution.dashboard.pages.rules import catalogs_json, seen_json
from attribution.dashboard.problems import WebProblem, shown
from attribution.dashboard.rendering import page
from attribution.dashboard.views import catalog as views
from attribution.dashboard.views import links
from attribution.dashboard.views.keys import one_of, read_keys
from attribution.dashboard.views.manual import hrefs, manual_view
from attribution.dashboard.views.weeks import begin
from attribution.presentation.manual import symptom_manual
from attribution.store.mentions import MOST, Mentions, Often, blamed, of_symptom, symptoms_often

KEYS = ("q", "role", "sub_domain", "catalog")
"""Keys of the list's address; a symptom's page has only the last."""


def html(request: Request) -> Response:
    """The list."""
    keys, found, symptoms, often = _list(request)
    if found is None:
        title, json = "Symptoms", links.twin(links.SYMPTOMS)
        return HTMLResponse(page("no_catalog.html", title=title, room=links.SYMPTOMS, json=json))
    return HTMLResponse(
        page(
            "catalog_list.html",
            title="Symptoms",
            noun="symptom",
            path=links.SYMPTOMS,
            keys=keys,
            kept=[(key, keys[key]) for key in KEYS[1:]],
            count=len(symptoms),
            of=often.of,
            groups=views.symptom_groups(symptoms, often, found.digest),
            choices=views.role_choices(found.catalog, keys["q"], keys["role"], keys["sub_domain"], found.digest),
            catalogs=views.catalog_choices(found.kept, found.catalog.catalog.digest, links.SYMPTOMS),
            json=links.twin(links.with_query(links.SYMPTOMS, **keys)),
        )
    )


def json(request: Request) -> Response:
    """The same as JSON. `attempts` counts those of the newest `of` attempts in which the symptom was seen."""
    keys, found, symptoms, often = _list(request)
    return JSONResponse(
        {
            "filters": {key: value for key, value in keys.items() if value},
            "catalog": found.catalog.catalog.model_dump() if found else None,
            "catalogs": catalogs_json(found),
            "of": often.of,
            "symptoms": [
                {
                    "href": links.symptom(item.name, found.digest if found else None),
                    **item.model_dump(mode="json", include={"name", "role", "sub_domain", "meaning", "tags"}),
                    "attempts": often.results.get(item.name, 0),
                }
                for item in symptoms
            ],
        }
    )


def _list(request: Request) -> tuple[dict[str, str], Shown | None, tuple[SymptomDescription, ...], Often]:
    keys = read_keys(request.query_params.multi_items(), KEYS)
    one_of(keys, "role", Role)
    one_of(keys, "sub_domain", SubDomain)
    found = shown_catalog(request, keys["catalog"])
    if found is None:
        return keys, None, (), Often({}, 0)
    often = symptoms_often(request.app.state.store, reader_of(request).tenant)
    matching = views.matching_symptoms(found.catalog, keys["q"], keys["role"], keys["sub_domain"])
    return keys, found, matching, often


def one_html(request: Request) -> Response:
    """The manual of a symptom."""
    found, symptom, seen, times = _one(request)
    address = links.symptom(symptom.name, found.digest)
    return HTMLResponse(
        page(
            "catalog_entry.html",
            room=links.SYMPTOMS,
            plural="Symptoms",
            about="the symptom",
            seen_as="it was found, whatever became of it",
            manual=manual_view(symptom_manual(found.catalog, symptom), hrefs(found.catalog, found.digest)),
            seen=views.seen_view(seen, request.app.state.clock()),
            blamed=_blamed(symptom, times),
            catalogs=views.catalog_choices(found.kept, found.catalog.catalog.digest, links.symptom(symptom.name)),
            json=links.twin(address),
        )
    )


def _blamed(symptom: SymptomDescription, times: int) -> str:
    if symptom.role is not Role.CAUSE:
        return "It can never be named as the cause."
    number = f"{times:,} or more" if times >= MOST else f"{times:,}"
    return f"It is a cause of {number} of the attempts of this time."


def one_json(request: Request) -> Response:
    """A symptom as JSON: its description, where it was seen, and how often it was blamed."""
    found, symptom, seen, times = _one(request)
    return JSONResponse(
        {
            "catalog": found.catalog.catalog.model_dump(),
            "catalogs": catalogs_json(found),
            "symptom": symptom.model_dump(mode="json"),
            "emitted_by": [rule.id for rule in found.catalog.rules if symptom.name in rule.emits],
            "blamed": times,
            **seen_json(seen, request),
        }
    )


def _one(request: Request) -> tuple[Shown, SymptomDescription, Mentions, int]:
    keys = read_keys(request.query_params.multi_items(), KEYS[3:])
    name = links.unsegment(request.path_params["name"])
    found = shown_catalog(request, keys["catalog"])
    symptoms = found.catalog.symptoms if found else ()
    symptom = next((item for item in symptoms if item.name == name.upper().replace("-", "_")), None)
    if found is None or symptom is None:
        near = nearest(name.upper(), [item.name for item in symptoms])
        hint = f" {near[:1].upper()}{near[1:]}" if near else ""
        raise WebProblem(404, f"No symptom is called `{shown(name, 60)}` in this catalog.{hint}")
    store, tenant, since = request.app.state.store, reader_of(request).tenant, begin(request.app.state.clock())
    seen = of_symptom(store, tenant, symptom.name, since)
    return found, symptom, seen, blamed(store, tenant, symptom.name, since)


ROUTES = (
    Route("/symptoms", html),
    Route("/symptoms.json", json),
    Route("/symptoms/{name}.json", one_json),
    Route("/symptoms/{name}", one_html),
)
