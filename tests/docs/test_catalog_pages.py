"""The pages of docs/catalog are what the rules say, every link in them leads somewhere, and log text stays text."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.catalog_pages import pages

from attribution.extraction.ruleset import RuleSets

from tests.cli.toys import FILES, HOT, LOST, toy_rules

LINK = re.compile(r"\]\(([\w./-]*)(?:#([\w-]+))?\)")


def test_the_pages_are_fresh(root: Path) -> None:
    """If this fails: make catalog-docs."""
    script = root / "scripts" / "write_catalog_docs.py"
    run = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_link_leads_to_a_heading(root: Path) -> None:
    folder = root / "docs" / "catalog"
    anchors = {path: set(map(_anchor, _headings(path.read_text()))) for path in folder.glob("*.md")}
    count = 0
    for path in anchors:
        for file, anchor in LINK.findall(_without_fences(path.read_text())):
            target = (folder / file).resolve() if file else path
            assert target.exists(), f"{path.name} links {file}"
            assert not anchor or anchor in anchors[target], f"{path.name} links {file}#{anchor}"
            count += 1
    assert count > 1000


def _headings(text: str) -> list[str]:
    return re.findall(r"^#+ (.+)$", _without_fences(text), re.MULTILINE)


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _without_fences(text: str) -> str:
    return re.sub(r"^(`{3,})text\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)


def test_every_rule_and_symptom_stands_once(shipped: RuleSets, root: Path) -> None:
    text = "\n".join(path.read_text() for path in sorted((root / "docs" / "catalog").glob("*.md")))
    headings = _headings(text)
    for rule in shipped.catalog.rules:
        assert headings.count(f"{rule.info.id} {rule.info.name}") == 1
    for name in shipped.catalog.symptoms:
        assert headings.count(name) == 1


@pytest.mark.parametrize(
    ("evil", "never"),
    [
        ("lost ``` <script>alert(1)</script>", "<script>"),
        ("lost [here](https://example.org) @everyone", "@everyone"),
        ("lost \\u202e text", None),
    ],
)
def test_text_of_rules_and_logs_stays_text(tmp_path: Path, evil: str, never: str | None) -> None:
    lost = LOST.replace("A toy device was lost.", evil).replace("name: found", f"name: '{evil}'")
    lost = lost.replace("is back", f"is back {evil} ````` end").replace("because: it is there", f"because: '{evil}'")
    catalog = toy_rules(tmp_path / "toys", {**FILES, "lost.yaml": lost}).catalog
    found = pages(catalog, {"toys": evil})
    page = found["toys.md"]
    outside = _without_fences(page)
    assert "is back" not in outside and "`````` " not in page
    assert re.search(r"^``````text$", page, re.MULTILINE), "the fence is longer than any run of backticks in the line"
    bare = re.sub(r"(`+).+?\1", "", outside)
    if never:
        assert never not in bare
    assert "https://example.org" not in bare


def test_a_page_tells_all_of_a_rule(tmp_path: Path) -> None:
    page = pages(toy_rules(tmp_path / "toys", {**FILES, "hot.yaml": HOT}).catalog, {"toys": "Toys."})["toys.md"]
    section = page[page.index("## TOY003 toy-device-hot") : page.index("## TOY004")]
    assert (
        section
        == """\
## TOY003 toy-device-hot

A toy device was hot. *(metric, stable, since 0.1.0)*

* **Why it matters**: Because of toy-device-hot.
* **What it misses**: What prints nothing.
* **What to do**: Look at toy-device-hot.
* **Printed by**: toyd `>=2` `(toy.c)`
* **Reads**: `toy_temperature`, `toy_temp`
* **Labels**: `sensor=core or memory`
* **Asks for**: a value above 90 for 60 s
* **Emits**: [TOY_HOT](symptoms-of-effects.md#toy_hot)

Fires on: hot

```text
node-01 +0.0s node_metrics | toy_temp{instance="node-01:1",gpu="3",sensor="core"} 91
node-01 +60.0s node_metrics | toy_temp{instance="node-01:1",gpu="3",sensor="core"} 92
```

Must not fire on: warm (it is not above)

```text
node-01 +0.0s node_metrics | toy_temp{instance="node-01:1",gpu="3",sensor="core"} 90
```

"""
    )
