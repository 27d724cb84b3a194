"""The OpenAPI document, for tools at `/openapi.json` and for people at `/docs`, without anything from another host."""

import json
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from jinja2 import Environment

from attribution.service.core import service_of

router = APIRouter()

_PAGE = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ info.title }} {{ info.version }}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; } h3 { margin: 2rem 0 .25rem; font-size: 1rem; }
code, pre { font: 14px/1.45 ui-monospace, monospace; } pre { overflow: auto; padding: .75rem; border: 1px solid #8886; }
.method { display: inline-block; min-width: 4.5em; font-weight: 700; }
table { border-collapse: collapse; } td { padding: .1rem 1rem .1rem 0; vertical-align: top; }
@media (prefers-color-scheme: dark) { body { background: #111; color: #ddd; } a { color: #8bf; } }
</style>
</head>
<body>
<h1>{{ info.title }} {{ info.version }}</h1>
<p>{{ info.description }}</p>
<p>The whole document, for tools: <a href="openapi.json">openapi.json</a></p>
{% for tag in groups %}
<h2>{{ tag.name }}</h2>
<p>{{ tag.description }}</p>
{% for call in tag.calls %}
<h3><code><span class="method">{{ call.method }}</span> {{ call.path }}</code></h3>
<p>{{ call.summary }}. {{ call.description }}</p>
{% if call.example %}<pre>{{ call.example }}</pre>{% endif %}
<table>
{% for status, text in call.answers %}
<tr><td><code>{{ status }}</code></td><td>{{ text }}</td></tr>
{% endfor %}
</table>
{% endfor %}
{% endfor %}
</body>
</html>
""")


@router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request) -> Response:
    """The document for tools."""
    return JSONResponse(await service_of(request).run(request.app.openapi))


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> Response:
    """The document for people."""
    document = await service_of(request).run(request.app.openapi)
    groups = [{**tag, "calls": _calls(document, tag["name"])} for tag in document["tags"]]
    headers = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
    return HTMLResponse(_PAGE.render(info=document["info"], groups=groups), headers=headers)


def _calls(document: dict[str, Any], tag: str) -> list[dict[str, Any]]:
    return [
        {
            "method": method.upper(),
            "path": path,
            "summary": call["summary"],
            "description": call.get("description", ""),
            "example": _example(call),
            "answers": [(status, answer["description"]) for status, answer in sorted(call["responses"].items())],
        }
        for path, calls in document["paths"].items()
        for method, call in calls.items()
        if tag in call["tags"]
    ]


def _example(call: dict[str, Any]) -> str:
    content = call.get("requestBody", {}).get("content", {}).get("application/json", {})
    return json.dumps(content["example"], indent=2) if "example" in content else ""
