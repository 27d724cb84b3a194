"""An address for every page that there is, over the store of these tests; a new page without one fails a test."""

from starlette.routing import Route

from attribution.dashboard.app import ROUTES
from attribution.dashboard.views import links

from tests.browser.site import Site

FORMS = (".json", ".md", ".tar.gz")


def pages() -> list[str]:
    """The paths of all pages, as their routes spell them."""
    paths = [route.path for route in ROUTES if isinstance(route, Route)]
    return [path for path in paths if not path.endswith((*FORMS, "z"))]


def example(path: str, site: Site) -> str:
    """An address that the route of this path answers."""
    key = site.keys["nvlink-signal-integrity"]
    values = {
        "key": key,
        "node": "node-02",
        "device": links.segment("gpu 0000:1b:00"),
        "name": "NVLINK_SIGNAL_INTEGRITY",
        "id": "NVL001",
    }
    if "evidence" in path:
        import httpx

        result = httpx.get(f"{site.url}{links.attempt(key)}.json", trust_env=False).json()
        values["id"] = links.segment(result["diagnosis"]["causes"][0]["evidence_ids"][0])
    for name, value in values.items():
        path = path.replace(f"{{{name}}}", value).replace(f"{{{name}:path}}", value)
    assert "{" not in path, f"no example of {path}"
    return path
