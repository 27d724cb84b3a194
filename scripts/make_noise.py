"""Writes the noise sample by which the scanner judges which bytes are rare; with --check, says if it is stale."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))

import noise  # noqa: E402

PATH = ROOT / "src/attribution/extraction/noise.txt"
SIZE, SEED = 160_000, 1


def main(check: bool) -> int:
    """0 if the file is as it should be."""
    wanted = noise.text(SIZE, SEED)
    if PATH.exists() and PATH.read_bytes() == wanted:
        return 0
    if check:
        print(f"{PATH.relative_to(ROOT)} is stale; run: .venv/bin/python scripts/make_noise.py")
        return 1
    PATH.write_bytes(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
