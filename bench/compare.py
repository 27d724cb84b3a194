"""Compares the scanner with the reference extractor on random logs of the shipped rules: there must be no difference.

.venv/bin/python bench/compare.py --lines 1000000
"""

import argparse
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing import Pool
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from attribution.bundle.evidence import EvidenceStream, StreamKey, text_segment
from attribution.bundle.names import NodeNames
from attribution.cli.catalog import load_rules
from attribution.contracts.context import ExecutionContext
from attribution.contracts.vocabulary import Source
from attribution.extraction import windows
from attribution.extraction.clock import ClockRules
from attribution.extraction.flood import Limits
from attribution.extraction.scanner import scan_stream

from tests.extraction.reference import Found, Reference, found_by
from tests.extraction.texts import body_of, given_lines, random_lines

LINES_PER_STREAM = 5_000
CONTEXT = ExecutionContext.model_validate(
    {"workload_id": "compare", "nodes": [{"name": "node-01"}, {"name": "node-02"}]}
)
EVERYTHING = Limits(events_per_rule=1 << 30)
RULES = load_rules()
GROUPS = given_lines(RULES.catalog)
TEXT_SOURCES = sorted(source for source in GROUPS if any(source in r.sources for r in RULES.catalog.extractors))


def compare(seed: int) -> tuple[int, int, Counter[Found], Counter[Found]]:
    """Lines and findings of one random stream, what the scanner missed, and what it found beyond the reference."""
    rng = random.Random(seed)
    source = Source(rng.choice(TEXT_SOURCES))
    key = StreamKey(source, rng.choice((None, "node-01")), rng.choice((None, 3)), "log")
    lines = random_lines(rng, GROUPS[source], LINES_PER_STREAM)
    body = body_of(lines, rng.choice(("\n", "\n", "\n", "\r\n")))
    clock, names = ClockRules.of(None, CONTEXT), NodeNames(CONTEXT.nodes)
    expected = Reference(RULES[source].rules, key, clock, names).find(body)
    windows.CHUNK = rng.choice((1 << 20, 64 << 10))
    found = found_by(
        scan_stream(EvidenceStream(key, segments=(text_segment(body),)), RULES[source], clock, names, EVERYTHING)
    )
    return len(lines), expected.total(), expected - found, found - expected


def results(streams: int, seed: int, workers: int) -> Iterator[tuple[int, int, Counter[Found], Counter[Found]]]:
    with Pool(workers) as pool:
        yield from pool.imap_unordered(compare, range(seed, seed + streams))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    started = time.perf_counter()
    lines = findings = 0
    missed: Counter[Found] = Counter()
    extra: Counter[Found] = Counter()
    for done, found, less, more in results(-(-options.lines // LINES_PER_STREAM), options.seed, options.workers):
        lines, findings = lines + done, findings + found
        missed += less
        extra += more
    for word, differences in (("missed", missed), ("extra", extra)):
        for item, count in differences.most_common(10):
            print(f"{word} {count} times: {item}")
    patterns = sum(len(rule.patterns) for rule in RULES.catalog.extractors)
    print(
        f"{lines} lines, {len(RULES.catalog.extractors)} text rules, {patterns} patterns, {findings} findings: "
        f"{missed.total()} missed, {extra.total()} extra, in {time.perf_counter() - started:.0f} s"
    )
    return 1 if missed or extra else 0


if __name__ == "__main__":
    sys.exit(main())
