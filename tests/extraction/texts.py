"""Random logs made of the lines that rules are about, changed in every way that logs change lines."""

import json
import random
from collections.abc import Callable, Sequence
from itertools import islice

from attribution.contracts.vocabulary import Source
from attribution.rules import notation
from attribution.rules.model import Catalog

from bench import noise

Change = Callable[[random.Random, str], str]

LAUNCHERS = (
    "3: ", "[rank3]:", "[rank11]: ", "[default0]:", "[1,3]<stdout>:", "(RayTrainWorker pid=812, ip=10.0.0.3) ",
    "node-02: ", "[pod/train-0/main] ",
)  # fmt: skip
STAMPS = (
    "2026-05-04T03:06:58.112Z ", "2026-05-04 03:06:58,112 ", "May  4 03:06:58 node-01 kernel: ", "[86400.218009] ",
    "<4>May  4 03:06:58 node-02 python3[812]: ", "2026-05-04T03:06:58.112345678Z stderr F ",
    "[E504 03:06:58.112345678 ProcessGroupNCCL.cpp:629] ", "2026-05-04 03:06:58 ERROR trainer.py:12] ",
)  # fmt: skip


def docker(rng: random.Random, text: str) -> str:
    record = {"log": text + "\n", "stream": "stderr", "time": "2026-05-04T03:06:58.112Z"}
    text = json.dumps(record, ensure_ascii=rng.random() < 0.5)
    return text if rng.random() < 0.8 else "{ " + text[1:]


def journal(rng: random.Random, text: str) -> str:
    record = {"__REALTIME_TIMESTAMP": "1777864018112000", "_HOSTNAME": "node-02", "PRIORITY": "3", "MESSAGE": text}
    return json.dumps(record, ensure_ascii=rng.random() < 0.5)


def cut(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[at:] if rng.random() < 0.5 else text[:at]


def changed_byte(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice("xX0 :é\0\t'") + text[at + 1 :]


def coloured(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return f"\x1b[31m{text[:at]}\x1b[0;1m{text[at:]}\x1b[K\x1b[0m"


def invalid(rng: random.Random, text: str) -> str:
    """Bytes that are no UTF-8, as surrogates; `body_of` writes them as the bytes they stand for."""
    at = rng.randrange(len(text) + 1)
    return (
        text[:at] + rng.choice(("\udcff", "\udce2\udc82", "\udcf0\udc9f\udc98", "\udc80", "\udced\udca0")) + text[at:]
    )


def long(rng: random.Random, text: str) -> str:
    """Longer than evidence shows, or than is examined at once; of the latter only what is near a hit is looked at."""
    filler = "tensor([0.1250, 0.2500, 0.3750]) "
    if rng.random() < 0.2:
        return text + " " + filler * 600
    return rng.choice((text + " " + filler * 50, f"{text} {filler * 50}{text}"))


CHANGES: tuple[Change, ...] = (
    lambda r, t: r.choice(LAUNCHERS) + t,
    lambda r, t: r.choice(STAMPS) + t,
    lambda r, t: r.choice(LAUNCHERS) + r.choice(STAMPS) + t,
    lambda r, t: r.choice(STAMPS) + r.choice(LAUNCHERS) + t,
    lambda r, t: f"{t} {t}",
    lambda r, t: f"epoch 3:  10%|#         | 12/120 [00:10<01:33]\r{t}",
    lambda r, t: t + "\r",
    lambda r, t: t + " WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567",
    docker, journal, cut, changed_byte, coloured, invalid, long,
)  # fmt: skip


def given_lines(catalog: Catalog) -> dict[Source, list[tuple[str, ...]]]:
    """The raw lines of every case of a catalog, by the source they are written for."""
    groups: dict[Source, list[tuple[str, ...]]] = {}
    for rule in catalog.rules:
        for case in rule.info.cases:
            raw = [line for line in notation.parse_given(case.given) if isinstance(line, notation.RawLine)]
            for source in {line.source for line in raw}:
                groups.setdefault(source, []).append(tuple(line.text for line in raw if line.source is source))
    return groups


def random_lines(rng: random.Random, groups: Sequence[tuple[str, ...]], count: int) -> list[str]:
    """About `count` lines: half of them benign, the others from groups, whole groups changed alike or line by line."""
    quiet = noise.lines(rng.randrange(1 << 30))
    lines: list[str] = []
    while len(lines) < count:
        lines += islice(quiet, rng.randrange(6))
        group = list(rng.choice(groups))
        alike = rng.choice(LAUNCHERS + STAMPS) if rng.random() < 0.4 else ""
        group = [alike + line for line in group]
        for _ in range(rng.choice((0, 0, 1, 1, 2))):
            change = rng.choice(CHANGES)
            group = [change(rng, line) if rng.random() < 0.7 else line for line in group]
        if rng.random() < 0.2:
            group = [line for own in group for line in (own, "[rank9]: step 12 loss 2.1")]
        if len(group) > 1 and rng.random() < 0.1:
            group = [docker(rng, "\n".join(group))]
        lines += group
    return lines


def body_of(lines: Sequence[str], newline: str = "\n") -> bytes:
    """The lines as the bytes of a log."""
    return newline.join(lines).encode("utf-8", "surrogateescape") + newline.encode()
