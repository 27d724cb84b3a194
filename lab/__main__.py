"""`python -m lab` runs every fault and prints the table. Exit code 1: a row is wrong; 2: it could not be run."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from lab import environment
from lab.faults import FAULTS
from lab.laboratory import Laboratory, table
from lab.servers.processes import LabError
from lab.servers.slurm import SlurmCluster


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m lab", description="Break training jobs and have them diagnosed.")
    parser.add_argument("--only", action="append", choices=[fault.name for fault in FAULTS], help="only this fault")
    parser.add_argument("--folder", type=Path, help="where all of it lies; a new folder below /tmp if not given")
    parser.add_argument("--keep", action="store_true", help="leave the servers running, and the folder")
    parser.add_argument("--stop", action="store_true", help="stop the servers of the folder, and nothing else")
    options = parser.parse_args()
    if why := SlurmCluster.why_not():
        print(f"lab: cannot run here: {why}", file=sys.stderr)
        return 2
    if options.stop and options.folder is None:
        parser.error("--stop needs --folder")
    folder = (options.folder or Path(tempfile.mkdtemp(prefix="attribution-lab-"))).resolve()
    cluster = SlurmCluster(folder)
    if options.stop:
        cluster.stop()
        return 0
    return _play(cluster, options)


def _play(cluster: SlurmCluster, options: argparse.Namespace) -> int:
    started = time.monotonic()

    def tell(text: str) -> None:
        print(f"lab: {time.monotonic() - started:4.0f} s  {text}", file=sys.stderr, flush=True)

    try:
        tell("preparing the Python of the jobs")
        python = environment.make()
        tell(f"starting the servers in {cluster.folder}")
        cluster.start()
        rows = Laboratory(cluster, python, tell).play([f for f in FAULTS if not options.only or f.name in options.only])
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 2
    finally:
        if not options.keep:
            cluster.stop()
    tell("done")
    print("\n".join(table(rows)))
    return 1 if any(row.wrong() for row in rows if not row.skipped) else 0


if __name__ == "__main__":
    sys.exit(main())
