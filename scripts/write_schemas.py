"""Writes the JSON Schemas of the contracts to `schemas/`; with --check, says which are stale and exits with 1."""

import sys
from pathlib import Path

from attribution.contracts.schemas import PUBLISHED, schema_text

FOLDER = Path(__file__).resolve().parent.parent / "schemas"


def main(check: bool) -> int:
    stale = []
    FOLDER.mkdir(exist_ok=True)
    for stem, model in PUBLISHED.items():
        path, text = FOLDER / f"{stem}.schema.json", schema_text(model)
        if path.exists() and path.read_text() == text:
            continue
        stale.append(path.name)
        if not check:
            path.write_text(text)
    extra = sorted(p.name for p in FOLDER.glob("*.json") if p.name.removesuffix(".schema.json") not in PUBLISHED)
    if check and (stale or extra):
        print(f"schemas: stale {stale}, not published {extra}; run: .venv/bin/python scripts/write_schemas.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
