"""Writes docs/configuration.md from the settings models; with --check, says whether it is stale and exits with 1."""

import sys
from pathlib import Path

from attribution.blueprint.connectors.base import Kind
from attribution.blueprint.connectors.registry import Registry, find_connectors
from attribution.blueprint.settings import BlueprintSettings, settings_model
from attribution.cli.web import PREFIX as WEB_PREFIX
from attribution.configuration.reference import reference
from attribution.dashboard.settings import WebSettings
from attribution.service.settings import ServiceSettings

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "configuration.md"
INTRODUCTION = """\
# Configuration

<!-- Made by scripts/write_configuration.py from the settings models: change those, then run it. -->

Every setting has one key, and from it follow its environment variable and its flag. A value on the command line goes
over one in the environment, that over one in the file that `--config` names, and that over the default.

* A file is YAML, with the dots of a key as nesting: `service.url` is `url` below `service`.
* A section that is named with nothing behind it (`stdout:`) is there, with all its defaults.
* In a variable or behind a flag, a list is written `a, b`, or as JSON: `["a", "b"]`. A list of mappings is JSON.
* An environment variable that is empty counts as not set. One that nobody reads, but is almost one that is read, is an
  error that names it.
* A secret stands in the environment, or in a file of its own that the key with `_file` behind it names; never in a
  configuration file, nor on a command line. The same holds for an address that has a password or a token in it.
* Relative paths begin where the command runs.

`attribution run --show-config` prints the settings in force and where each came from, without secrets.
"""


def page(registry: Registry) -> str:
    """The text of the page."""
    parts = [
        INTRODUCTION,
        "## attribution run\n\nThe Blueprint. An example:\n",
        _example("blueprint.yaml"),
        reference(BlueprintSettings),
        "### Connectors\n\nA connector is used when its section is there, or when one of its settings is given. Where "
        "none of a kind is\nconfigured, `logs.local_files` and `sinks.stdout` are used with their defaults. Packages "
        "that declare an entry point of\nthe group `attribution.connectors` add connectors of their own, with settings "
        "of the same form.\n",
        *_connectors(registry),
        "A file that `context.static.contexts` names:\n",
        _example("blueprint-attempts.yaml"),
        "## attribution serve\n\nThe Service. An example:\n",
        _example("service.yaml"),
        reference(ServiceSettings),
        "## attribution web\n\nThe read-only pages.\n",
        reference(WebSettings, WEB_PREFIX),
    ]
    return "\n".join(parts)


def _connectors(registry: Registry) -> list[str]:
    model = settings_model(registry)
    table = reference(model).splitlines(keepends=True)
    head, rows = table[:2], table[2:]
    parts = []
    for kind in Kind:
        for name in sorted(registry.known[kind]):
            doc = (registry.known[kind][name].__doc__ or "").strip().splitlines()[0]
            own = [row for row in rows if row.startswith(f"| `{kind.value}.{name}.")]
            parts.append(f"#### {kind.value}.{name}\n\n{doc}\n\n" + "".join([*head, *own]))
    return parts


def _example(name: str) -> str:
    return f"```yaml\n{(ROOT / 'deploy' / 'examples' / name).read_text()}```\n"


def main(check: bool) -> int:
    """Write the page, or compare it."""
    text = page(_shipped(find_connectors()))
    if PAGE.exists() and PAGE.read_text() == text:
        return 0
    if check:
        print(f"{PAGE.relative_to(ROOT)} is stale; run: .venv/bin/python scripts/write_configuration.py")
        return 1
    PAGE.write_text(text)
    return 0


def _shipped(registry: Registry) -> Registry:
    """Only the connectors of this package, whatever else is installed here."""
    known = {
        kind: {name: found for name, found in connectors.items() if found.__module__.startswith("attribution.")}
        for kind, connectors in registry.known.items()
    }
    return Registry(known, {})


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
