"""An address for every page that there is, over the store of these tests; a new page without one fails a test."""

from starlette.routing import Route

from attribution.dashboard.app import ROUTES
from attribution.dashboard.views import links

FORMS = (".json", ".md", ".tar.gz")


def pages() -> list[str]:
    """The paths of all pages, as their routes spell them."""
    paths = [route.path for route in ROUTES if isinstance(route, Route)]
    return [path for path in paths if not path.endswith((*FORMS, "z"))]


def example(path: str, key: str, evidence_id: str) -> str:
    """An address that the route of this path answers; `key` is of the attempt with that piece of evidence."""
    known = {
        "/attempts/{key}": links.attempt(key),
        "/attempts/{key}/decided": links.decided(key),
        "/attempts/{key}/evidence/{id}": links.evidence(key, evidence_id),
        "/nodes/{name}": links.node("node-017"),
        "/devices/{node}/{unit:path}": links.device("node-017", "gpu 0000:1b:00"),
        "/rules/{id}": links.rule("NVL001"),
        "/symptoms/{name}": links.symptom("NVLINK_SIGNAL_INTEGRITY"),
    }
    assert "{" not in path or path in known, f"no example of {path}"
    return known.get(path, path)
