"""`python -m bench.scenarios`: writes scenarios, the same for the same seed."""

import argparse
import secrets
import sys
from pathlib import Path

from bench.scenarios import generate
from bench.scenarios.shapes import SHAPES


def main(arguments: list[str] | None = None) -> int:
    """Parses the command line and writes the scenarios."""
    parser = argparse.ArgumentParser(prog="python -m bench.scenarios", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="how many scenarios (100)")
    parser.add_argument("--seed", type=int, help="drawn and printed if not given")
    parser.add_argument("--max-nodes", type=int, default=64, help="most nodes of one scenario, 2 to 1024 (64)")
    parser.add_argument("--nodes", type=int, help="exactly so many nodes in every scenario")
    parser.add_argument("--shape", help="only this shape; `list` prints them")
    parser.add_argument("--first", type=int, default=0, help="number of the first scenario (0)")
    parser.add_argument("--out", type=Path, help="an empty or new folder")
    options = parser.parse_args(arguments)
    if options.shape == "list":
        for shape in SHAPES.values():
            print(f"{shape.name:40} {shape.sub_domain:22} {shape.group}{'  negative' if shape.negative else ''}")
        return 0
    if options.out is None:
        parser.error("--out is needed: the folder to write into")
    if options.shape is not None and options.shape not in SHAPES:
        parser.error(f"no shape is called {options.shape!r}; --shape list prints them")
    for name, value in (("--max-nodes", options.max_nodes), ("--nodes", options.nodes)):
        if value is not None and not 2 <= value <= 1024:
            parser.error(f"{name} is {value}: it must be between 2 and 1024")
    if options.out.exists() and any(options.out.iterdir()):
        parser.error(f"{options.out} is not empty")
    seed = secrets.randbelow(2**31) if options.seed is None else options.seed
    if options.seed is None:
        print(f"seed {seed}")
    for number in range(options.first, options.first + options.count):
        generate.scenario(seed, number, options.out, options.max_nodes, options.nodes, options.shape)
    print(f"{options.count} scenarios in {options.out}, seed {seed}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
