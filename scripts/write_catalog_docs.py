"""Writes the pages of the catalog to `docs/catalog/`; with --check, says which are stale and exits with 1."""

import sys
from pathlib import Path

from catalog_pages import about_folders, pages

from attribution.cli.catalog import SHIPPED, load_folders

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "catalog"


def main(check: bool) -> int:
    wanted = pages(load_folders([SHIPPED]).catalog, about_folders(SHIPPED))
    FOLDER.mkdir(exist_ok=True, parents=True)
    stale = [name for name, text in wanted.items() if not _is(FOLDER / name, text)]
    extra = sorted(path.name for path in FOLDER.glob("*") if path.name not in wanted)
    if check:
        if stale or extra:
            print(f"docs/catalog: stale {stale}, of no family {extra}; run: make catalog-docs")
        return 1 if stale or extra else 0
    for name in stale:
        (FOLDER / name).write_text(wanted[name], encoding="utf-8")
    for name in extra:
        (FOLDER / name).unlink()
    return 0


def _is(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
