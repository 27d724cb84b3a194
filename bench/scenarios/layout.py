"""What a bundle holds and in which forms: drawn for each scenario, narrowed by what its shape needs."""

import random
from dataclasses import dataclass

SYSLOG_FORMS = ("rfc3164", "rfc3164_kernel", "iso", "journal_json", "dmesg_and_journal", "dmesg", "loki")


@dataclass(frozen=True)
class Layout:
    """Forms by source; None is a source that was not collected."""

    applog: str | None
    syslog: str | None
    scheduler: str | None
    context: str | None
    metrics: str | None
    fabric_manager: bool
    bmc: bool
    controller: bool
    recorder: bool
    compressed: float


def draw(rng: random.Random, scheduler: str, needs: frozenset[str], forbid: frozenset[str], size: int) -> Layout:
    """A layout that holds what is needed and nothing that is forbidden."""

    def has(name: str, chance: float) -> bool:
        return name in needs or (name not in forbid and rng.random() < chance)

    applog = rng.choices(("ranks", "nodes", "job", "loki"), (3, 4, 3 if size <= 128 else 1, 1 if size <= 64 else 0))[0]
    if "split" in needs and applog in ("job", "loki"):
        applog = "nodes"
    if scheduler == "kubernetes" and applog == "job":
        applog = "nodes"
    syslog = rng.choices(SYSLOG_FORMS, (30, 12, 20, 14, 12, 6, 6))[0]
    if "wall" in needs and syslog == "dmesg":
        syslog = "iso"
    if size > 64 and syslog == "loki":
        syslog = "rfc3164"
    context = rng.choices(("full", "plain", "state", "no_nodes", None), (30, 25, 15, 15, 15))[0]
    if "nodes" in forbid and context:
        context = "no_nodes"
    record = rng.choice(("sacct_parsable2", "sacct_parsable2", "sacct_json")) if scheduler == "slurm" else "objects"
    return Layout(
        applog=applog if has("applog", 0.97) else None,
        syslog=syslog if has("syslog", 0.8) else None,
        scheduler=record if has("scheduler", 0.72) else None,
        context=context,
        metrics=rng.choice(("matrix", "matrix", "exposition")) if has("metrics", 0.34) else None,
        fabric_manager=has("fabric_manager", 0.25),
        bmc=has("bmc", 0.15),
        controller=scheduler == "slurm" and has("controller", 0.3),
        recorder=has("recorder", 0.35),
        compressed=rng.choice((0.0, 0.0, 0.3, 1.0)),
    )
