"""Benign lines of distributed training and of healthy nodes, the same for the same seed.

They are what a log is made of when nothing is wrong: `noise.txt` of the scanner, the filler of the samples and the
bulk of the benchmark come from here. Words such as error, failed and timeout occur, in their harmless use.
"""

import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2026, 4, 20, 6, 0, tzinfo=UTC)
MODULES = ("decoder", "encoder", "embed_tokens", "lm_head", "attn.qkv_proj", "attn.o_proj", "mlp.up_proj", "mlp.gate")
PROGRAMS = ("python3", "python", "pt_main_thread", "bash", "sshd", "rsync", "node_exporter", "dcgm-exporter")


class Values(dict[str, Any]):
    """Answers each placeholder of a template with a fresh value. Items set on it, such as `host`, stay as they are."""

    def __init__(self, seed: int | str, **fixed: object) -> None:
        super().__init__(fixed)
        self.rng = random.Random(seed)
        self.step = self.rng.randint(10, 4000)
        self.stamp = START

    def __missing__(self, name: str) -> Any:
        return MAKERS[name](self, self.rng)

    def fill(self, template: str) -> str:
        """The template with all its placeholders filled in."""
        return template.format_map(self)

    def tick(self, mean_secs: float = 0.4) -> datetime:
        """Time goes on."""
        self.stamp += timedelta(microseconds=int(self.rng.expovariate(1 / mean_secs) * 1e6) + 1)
        return self.stamp


def _next_step(v: Values, r: random.Random) -> int:
    v.step += r.choice((1, 1, 1, 10))
    return v.step


MAKERS: dict[str, Callable[[Values, random.Random], Any]] = {
    "host": lambda v, r: f"node-{r.randint(1, 16):02d}",
    "rank": lambda v, r: r.randint(0, 127),
    "gpu": lambda v, r: r.randint(0, 7),
    "nranks": lambda v, r: 128,
    "nnodes": lambda v, r: 16,
    "peer": lambda v, r: r.randint(0, v["nranks"] - 1),
    "peer_gpu": lambda v, r: r.randint(0, 7),
    "n": lambda v, r: r.randint(0, 15),
    "k": lambda v, r: r.randint(16, 999),
    "N": lambda v, r: r.randint(1000, 9_999_999),
    "pid": lambda v, r: r.randint(2000, 3_999_999),
    "tid": lambda v, r: r.randint(2000, 3_999_999),
    "step": _next_step,
    "last": lambda v, r: r.choice((5000, 20000, 100000, 500000)),
    "loss": lambda v, r: 1.6 + 6 * r.random() ** 3,
    "grad": lambda v, r: 0.2 + 2 * r.random() ** 2,
    "lr": lambda v, r: 3e-4 * r.random(),
    "u": lambda v, r: r.random(),
    "ms": lambda v, r: r.uniform(200, 9000),
    "tf": lambda v, r: r.uniform(310, 620),
    "gb": lambda v, r: r.uniform(2, 78),
    "pct": lambda v, r: r.randint(1, 99),
    "hex4": lambda v, r: f"{r.getrandbits(16):04x}",
    "hex8": lambda v, r: f"{r.getrandbits(32):08x}",
    "comm": lambda v, r: f"{r.getrandbits(44) | 1 << 46:x}",
    "comm_id": lambda v, r: f"{r.getrandbits(64):016x}",
    "hex": lambda v, r: f"{r.getrandbits(48) | 1 << 47:012x}",
    "sha": lambda v, r: f"{r.getrandbits(256):064x}",
    "uuid": lambda v, r: "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}".format(*map(r.getrandbits, (32, 16, 16, 16, 48))),
    "ip": lambda v, r: f"10.0.0.{r.randint(2, 250)}",
    "port": lambda v, r: r.randint(30000, 60999),
    "bus": lambda v, r: r.choice(("0f", "1b", "3a", "5d", "86", "9a", "b7", "da")),
    "module": lambda v, r: r.choice(MODULES),
    "program": lambda v, r: r.choice(PROGRAMS),
    "shard": lambda v, r: f"{r.randint(0, 511):05d}",
    "hms": lambda v, r: f"{r.randint(0, 23):02d}:{r.randint(0, 59):02d}:{r.randint(0, 59):02d}",
    "ms_min": lambda v, r: f"{r.randint(0, 59):02d}:{r.randint(0, 59):02d}",
    "py": lambda v, r: f"{v.stamp:%Y-%m-%d %H:%M:%S},{v.stamp.microsecond // 1000:03d}",
    "sec": lambda v, r: f"{v.stamp:%Y-%m-%d %H:%M:%S}",
    "iso": lambda v, r: v.stamp.isoformat(timespec="microseconds"),
    "isoz": lambda v, r: f"{v.stamp:%Y-%m-%dT%H:%M:%S}.{v.stamp.microsecond // 1000:03d}Z",
    "glog": lambda v, r: f"{v.stamp:%m%d %H:%M:%S}.{v.stamp.microsecond:06d}",
    "vllm": lambda v, r: f"{v.stamp:%m-%d %H:%M:%S}",
    "unix": lambda v, r: f"{v.stamp.timestamp():.3f}",
}


def read_templates(path: Path) -> dict[str, tuple[str, ...]]:
    """The templates of each section."""
    sections: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").split("\n")[1:-1]:
        if line[:1] == "[" and line[1:-1].islower() and line[-1:] == "]":
            section = sections[line[1:-1]] = []
        else:
            section.append(line)
    return {name: tuple(found) for name, found in sections.items()}


TEMPLATES = read_templates(Path(__file__).with_name("noise_templates.txt"))
TEMPLATES["nccl"] = tuple("{host}:{pid}:{tid} [{gpu}] " + template for template in TEMPLATES["nccl"])


def application_line(v: Values) -> str:
    """One line of a training or serving program, with the stamp that such a program prints."""
    v.tick()
    (section,) = v.rng.choices(("steps", "nccl", "startup", "library"), (9, 3, 3, 5))
    return v.fill(v.rng.choice(TEMPLATES[section]))


def system_line(v: Values, form: str) -> str:
    """One line of a healthy node's system log. `form` is iso, rfc3164 or dmesg; dmesg holds kernel lines only."""
    v.tick()
    templates = TEMPLATES[v.rng.choice(("system", "system", "boot"))]
    message = v.fill(v.rng.choice([t for t in templates if form != "dmesg" or t.startswith("kernel: ")]))
    return stamped(message, v.stamp, v["host"], form)


def stamped(message: str, at: datetime, host: str, form: str, booted: datetime = START - timedelta(days=1)) -> str:
    """A `tag: text` message as a system log of this form prints it."""
    if form == "iso":
        return f"{at.isoformat(timespec='microseconds')} {host} {message}"
    if form == "rfc3164":
        return f"{at:%b} {at.day:2d} {at:%H:%M:%S} {host} {message}"
    if form == "dmesg":
        return f"[{(at - booted).total_seconds():12.6f}] {message.removeprefix('kernel: ')}"
    raise ValueError(f"`{form}` is no form of a system log")


def lines(seed: int) -> Iterator[str]:
    """Benign lines of all kinds, without end. The first ones hold every kind once."""
    v = Values(seed)
    everything = [t for name in ("steps", "nccl", "startup", "library") for t in TEMPLATES[name]]
    everything += ["{iso} {host} " + t for name in ("system", "boot") for t in TEMPLATES[name]]
    v.rng.shuffle(everything)
    for template in everything:
        v.tick()
        yield v.fill(template)
    while True:
        if v.rng.random() < 0.3:
            yield system_line(v, v.rng.choice(("iso", "iso", "rfc3164", "dmesg")))
            continue
        prefix = v.rng.random()
        tag = f"{v['rank']}: " if prefix < 0.05 else f"[rank{v['rank']}]:" if prefix < 0.1 else ""
        yield tag + application_line(v)


def text(size: int, seed: int) -> bytes:
    """About `size` bytes of whole lines; at most one line more."""
    parts, total = [], 0
    for line in lines(seed):
        parts.append(line.encode() + b"\n")
        total += len(parts[-1])
        if total >= size:
            break
    return b"".join(parts)
