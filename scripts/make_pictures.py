"""Takes the pictures of docs/dashboard.md in Debian's Chromium, over all samples and a generated month.

usage: python scripts/make_pictures.py [--chromium PROGRAM] [NAME ...]
"""

import argparse
import io
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "pictures"
COLOURS = 128
"""Colours of a picture: text on plain ground needs few, and few are small."""

sys.path.insert(0, str(ROOT))  # the pages are set up as the tests of the browser do


@dataclass(frozen=True)
class Picture:
    """A page in a window; `address` may name the key of a sample in braces."""

    name: str
    address: str
    width: int = 1280
    height: int = 900
    scheme: str = "light"


PICTURES = (
    Picture("attempts", "/attempts"),
    Picture("diagnosis", "/attempts/{nvlink-signal-integrity}", height=1250),
    Picture("diagnosis-dark", "/attempts/{two-suspects}", height=1000, scheme="dark"),
    Picture("diagnosis-phone", "/attempts/{nvlink-signal-integrity}", width=390, height=844),
    Picture("decided", "/attempts/{nvlink-signal-integrity}/decided"),
    Picture("groups", "/attempts?group=cause"),
    Picture("node", "/nodes/node-017"),
    Picture("hot-spots", "/hot-spots"),
    Picture("coverage", "/coverage?days=30"),
    Picture("symptom", "/symptoms/NVLINK_SIGNAL_INTEGRITY"),
)


def main(chromium: str, names: list[str]) -> None:
    from attribution.cli.catalog import load_rules

    from tests.browser.site import SAMPLES, fill, serving

    every = tuple(sorted(path.name for path in SAMPLES.iterdir() if path.is_dir()))
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "attribution.db"
        keys = fill(path, load_rules(), every, attempts=240, hostile=False)
        with serving(path, keys) as site, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            for picture in PICTURES:
                if not names or picture.name in names:
                    size = take(browser, site.url, site.keys, picture)
                    print(f"{picture.name}.png: {size // 1024} kB")
            browser.close()


def take(browser: Browser, url: str, keys: dict[str, str], picture: Picture) -> int:
    """Write one picture; answers its size in bytes."""
    viewport = {"width": picture.width, "height": picture.height}
    page = browser.new_page(viewport=viewport, color_scheme=picture.scheme)
    address = picture.address
    for name, key in keys.items():
        address = address.replace(f"{{{name}}}", key)
    answer = page.goto(url + address, wait_until="networkidle")
    assert answer is not None and answer.ok, f"{address}: {answer and answer.status}"
    shot = Image.open(io.BytesIO(page.screenshot()))
    page.close()
    target = FOLDER / f"{picture.name}.png"
    shot.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(target, optimize=True)
    return target.stat().st_size


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chromium", default="/usr/bin/chromium", help="the program (default: Debian's)")
    parser.add_argument("names", nargs="*", help="pictures to take (default: all)")
    options = parser.parse_args()
    main(options.chromium, options.names)
