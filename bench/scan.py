"""Measures `attribution diagnose` beside grep, ripgrep and wc on one generated log, and its peak memory.

What is compared is CPU time, user and system, of fresh processes that take turns: their ratios hold also on a machine
that does other things, which ratios of wall-clock time do not. This process stays small: a child's peak memory counts
what its parent held when it started it.
"""

import argparse
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

MB = 1 << 20
PIECE = 8 * MB
EVENT_EVERY = 10 * MB
RARE = "GPU has fallen off the bus"
SETTLED_MB = (1, 100)
"""Sizes, besides the whole, at which memory is measured."""

EVENTS = (
    "[ 86400.218009] NVRM: Xid (PCI:0000:52:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    "node-02:41195:41895 [0] enqueue.cc:1451 NCCL WARN Cuda failure 'unspecified launch failure'",
    "[rank3]:[E504 03:16:58.412345678 ProcessGroupNCCL.cpp:629] [Rank 3] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=88213, OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=600000) ran for 600021 "
    "milliseconds before timing out.",
    "Traceback (most recent call last):\n  File \"/data/job/train.py\", line 231, in build\nKeyError: 'starts'",
)


class Cost(NamedTuple):
    """What one process used."""

    cpu_secs: float
    peak_mb: float


# --- the log ---------------------------------------------------------------------------------------------------------


def pieces(size: int) -> Iterator[bytes]:
    """A log of that many bytes, in pieces of about 8 MB: benign lines, and an event in about every 10 MB."""
    import noise

    plain = noise.text(min(PIECE, size), seed=7)
    written, due, count = 0, min(EVENT_EVERY, size) // 2, 0
    while written < size:
        piece = plain[: plain.rfind(b"\n", 0, size - written) + 1] if size - written < len(plain) else plain
        if not piece:
            return
        if written <= due < written + len(piece):
            line = piece.rfind(b"\n", 0, due - written) + 1
            piece = piece[:line] + EVENTS[count % len(EVENTS)].encode() + b"\n" + piece[line:]
            due, count = due + EVENT_EVERY, count + 1
        yield piece
        written += len(piece)


def write_log(path: Path, size_mb: int) -> None:
    """Write such a log."""
    with path.open("wb") as file:
        for piece in pieces(size_mb * MB):
            file.write(piece)


def write_cuts(path: Path) -> None:
    """Write what the scanner's gate for application logs searches for, one literal a line."""
    from attribution.cli.catalog import load_rules
    from attribution.contracts.vocabulary import Source

    path.write_bytes(b"".join(sorted({cut.text + b"\n" for cut in load_rules()[Source.APPLOG].cuts})))


def in_child(work: Callable[..., None], *arguments: object) -> None:
    """Do something that needs memory in a process of its own."""
    process = multiprocessing.get_context("spawn").Process(target=work, args=arguments)
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(process.exitcode)


# --- the contestants -------------------------------------------------------------------------------------------------


def commands(log: Path, cuts: Path) -> dict[str, list[str]]:
    """What is compared, by name; ours comes first."""
    found = {
        "attribution diagnose": diagnose(log),
        "grep -c (one literal)": ["grep", "-c", RARE, str(log)],
        "rg -F -f (our gate cuts)": ["rg", "--no-config", "-a", "-c", "-F", "-f", str(cuts), str(log)],
        "wc -l": ["wc", "-l", str(log)],
    }
    return {name: command for name, command in found.items() if shutil.which(command[0])}


def diagnose(log: Path) -> list[str]:
    """Our command for a log."""
    return [str(Path(sys.executable).with_name("attribution")), "diagnose", str(log), "--format", "json"]


def run(command: Sequence[str]) -> Cost:
    """Run a command to its end. Raises CalledProcessError if it fails; 1 means that grep found nothing."""
    with tempfile.TemporaryFile() as output:  # into /dev/null, grep would stop at the first match
        process = subprocess.Popen(command, stdout=output, env={**os.environ, "LC_ALL": "C"})
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise subprocess.CalledProcessError(process.returncode, command)
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / (MB if sys.platform == "darwin" else 1024))


# --- the measurement -------------------------------------------------------------------------------------------------


def compare(log: Path, cuts: Path, rounds: int) -> None:
    """Let the contestants take turns and print what each used."""
    contestants = commands(log, cuts)
    secs: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(-1, rounds):  # the turn before the first fills the caches
        for name, command in contestants.items():
            cost = run(command)
            if turn >= 0:
                secs[name].append(cost.cpu_secs)
    size_mb = log.stat().st_size / MB
    ours = next(iter(secs.values()))
    print(f"{size_mb:.0f} MB, {rounds} rounds, medians\n")
    print(f"{'':26}{'CPU s':>8}{'MB/s':>8}{'ours / this':>13}")
    for name, used in secs.items():
        ratio = median(mine / max(theirs, 1e-3) for mine, theirs in zip(ours, used, strict=True))
        print(f"{name:26}{median(used):8.2f}{size_mb / max(median(used), 1e-3):8.0f}{ratio:13.2f}")
    if len(contestants) < 4:
        print("\nripgrep (rg), grep or wc is not installed; what is missing was skipped")


def measure_memory(folder: Path, size_mb: int, log: Path) -> None:
    """Print the peak memory of our command at several sizes."""
    print(f"\n{'peak memory of diagnose':26}{'MB':>8}")
    for mb in (*(mb for mb in SETTLED_MB if mb < size_mb), size_mb):
        path = log
        if mb != size_mb:
            path = folder / f"node-01.{mb}.log"
            in_child(write_log, path, mb)
        print(f"{f'  log of {mb} MB':26}{run(diagnose(path)).peak_mb:8.1f}")


def main() -> int:
    """Write the log, measure, and take it away."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mb", type=int, default=1024, help="size of the log (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=7, help="rounds that count (default: %(default)s)")
    arguments = parser.parse_args()
    if arguments.mb < 1 or arguments.rounds < 1:
        parser.error("--mb and --rounds are at least 1")
    with tempfile.TemporaryDirectory(prefix="attribution-bench-") as name:
        folder = Path(name)
        log, cuts = folder / "node-01.log", folder / "cuts.txt"
        in_child(write_log, log, arguments.mb)
        in_child(write_cuts, cuts)
        compare(log, cuts, arguments.rounds)
        measure_memory(folder, arguments.mb, log)
    return 0


if __name__ == "__main__":
    sys.exit(main())
