"""Diagnoses every bundled sample and prints the answers, as the command line would."""

import sys
import time
from pathlib import Path

from attribution.bundle.reader import open_bundle
from attribution.cli.catalog import load_rules
from attribution.cli.diagnose import columns
from attribution.diagnosis.engine import diagnose
from attribution.presentation import text

SAMPLES = Path(__file__).resolve().parent.parent / "samples"


def main() -> int:
    """Answer 0 if every sample got a diagnosis."""
    started = time.perf_counter()
    rules = load_rules()
    width = columns(None)
    samples = sorted(path for path in SAMPLES.iterdir() if path.is_dir())
    for sample in samples:
        print(f"$ attribution diagnose samples/{sample.name}")
        with open_bundle(sample) as evidence:
            print(text.render(diagnose(evidence, rules), width=width), flush=True)
    print(f"{len(samples)} samples diagnosed in {time.perf_counter() - started:.1f} s", file=sys.stderr)
    return 0 if samples else 1


if __name__ == "__main__":
    sys.exit(main())
