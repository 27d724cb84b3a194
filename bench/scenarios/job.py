"""What runs on the fleet: launcher, trainer, library versions, and how its programs write their lines."""

import random
from dataclasses import dataclass
from datetime import datetime

from bench.scenarios.fleet import iso

TORCH = ("2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1")
NCCL = {
    "2.1.2": "2.18.6",
    "2.2.2": "2.19.3",
    "2.3.1": "2.20.5",
    "2.4.1": "2.20.5",
    "2.5.1": "2.21.5",
    "2.6.0": "2.21.5",
    "2.7.1": "2.26.2",
}
LAUNCHERS = {
    "slurm": (("torchrun", "srun", "mpirun", "deepspeed", "ray"), (46, 30, 9, 9, 6)),
    "kubernetes": (("torchrun", "ray"), (88, 12)),
}
TRAINERS = ("plain", "megatron", "deepspeed", "lightning", "hf", "iso", "loguru", "bare")


@dataclass(frozen=True)
class Job:
    """One attempt's software. `launcher` is torchrun, srun, mpirun, deepspeed or ray; `scheduler` is slurm or kubernetes."""

    number: int
    name: str
    user: str
    scheduler: str
    launcher: str
    trainer: str
    torch: str
    nccl: str
    python: str
    timeout: int
    script: str
    tee: bool
    slurm: str

    @property
    def torch_minor(self) -> int:
        return int(self.torch.split(".")[1])

    @property
    def torch_home(self) -> str:
        return f"{self.site_packages}/torch"

    @property
    def site_packages(self) -> str:
        return f"/opt/env/lib/python{self.python}/site-packages"

    def log(self, moment: datetime, level: str, rank: int, message: str) -> str:
        """One line as this trainer's logging writes it."""
        clock = f"{moment:%Y-%m-%d %H:%M:%S}"
        millis = f"{moment.microsecond // 1000:03d}"
        match self.trainer:
            case "megatron":
                return message if level == "INFO" else f"{level}:megatron.training:{message}"
            case "deepspeed":
                return f"[{clock},{millis}] [{level}] [engine.py:{len(message) * 7 + 40}:step] {message}"
            case "hf":
                return f"[{level}|trainer.py:{len(message) * 11 + 60}] {clock},{millis} >> {message}"
            case "iso":
                return f"{iso(moment)} {level} [rank={rank}] {message}"
            case "loguru":
                return f"{clock}.{millis} | {level:<8} | __main__:main:{len(message) + 31} - {message}"
            case "bare":
                return message
            case "lightning":
                return f"{level}: {message}"
            case _:
                return f"{clock},{millis} - {level} - train - {message}"

    def glog(self, moment: datetime, letter: str, rank: int, line: int, text: str) -> str:
        """A line of the process group's C++ logging, in the form of this version of the library."""
        if self.torch_minor < 2:
            return f"[{letter} ProcessGroupNCCL.cpp:{line}] {text}"
        if self.torch_minor == 2:
            return f"[rank{rank}]:[{letter} ProcessGroupNCCL.cpp:{line}] {text}"
        stamp = f"{moment.month}{moment:%d %H:%M:%S}.{moment.microsecond * 1000 + (rank * 7919) % 1000:09d}"
        return f"[rank{rank}]:[{letter}{stamp} ProcessGroupNCCL.cpp:{line}] {text}"

    def elastic(self, moment: datetime, letter: str, pid: int, module: str, line: int, text: str) -> str:
        """A line of the elastic launcher's logging, in the form of this version."""
        millis = f"{moment.microsecond // 1000:03d}"
        if self.torch_minor < 3:
            level = {"I": "INFO", "W": "WARNING", "E": "ERROR"}[letter]
            return f"[{moment:%Y-%m-%d %H:%M:%S},{millis}] {module.replace('/', '.')[:-3]}: [{level}] {text}"
        if self.torch_minor < 5:
            return f"{letter}{moment:%m%d %H:%M:%S}.{millis}000 {pid * 32768 + 140000000000000} {module}:{line}] {text}"
        return f"{letter}{moment:%m%d %H:%M:%S}.{millis}000 {pid} {module}:{line}] {text}"


def draw(rng: random.Random, scheduler: str | None, launcher: str | None = None) -> Job:
    """A job with everything drawn, on a given scheduler and launcher or on drawn ones."""
    scheduler = scheduler or rng.choices(("slurm", "kubernetes"), (72, 28))[0]
    torch = rng.choice(TORCH)
    if launcher is None:
        launcher = rng.choices(*LAUNCHERS[scheduler])[0]
    return Job(
        number=rng.randrange(10_000, 4_000_000),
        name=rng.choice(("pretrain", "llm-base", "sft-run", "vit-large", "moe-exp", "tok-ablate", "diffuse")),
        user=rng.choice(("alice", "bob", "carol", "dave")),
        scheduler=scheduler,
        launcher=launcher,
        trainer="deepspeed" if launcher == "deepspeed" else rng.choice(TRAINERS),
        torch=torch,
        nccl=NCCL[torch],
        python=rng.choice(("3.10", "3.11", "3.12")),
        timeout=rng.choice((600, 600, 600, 1800, 900, 3600)),
        script=rng.choice(("train.py", "pretrain_gpt.py", "main.py", "run/finetune.py")),
        tee=rng.random() < 0.5,
        slurm=rng.choice(("22.05", "23.11", "25.11")),
    )
