"""A small training run over several processes, with one fault in it if that is asked for.

It is a job like any other: launched by `srun`, data parallel over gloo, logging a line each step.
"""

import argparse
import ctypes
import faulthandler
import logging
import os
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

log = logging.getLogger("train")


def main() -> None:
    options = arguments()
    rank, world = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
    shape = f"%(asctime)s %(levelname)s [rank {rank}] %(message)s"
    logging.basicConfig(level=logging.INFO, format=shape)
    faulthandler.enable()
    torch.set_num_threads(1)
    Path(f"rank{rank}.pid").write_text(str(os.getpid()))
    log.info("joining %s:%s as rank %d of %d", os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"], rank, world)
    dist.init_process_group("gloo", rank=rank, world_size=world, timeout=timedelta(seconds=options.timeout_secs))
    data = load(options.dataset)
    model = DistributedDataParallel(nn.Linear(data.shape[1], 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(1, options.steps + 1):
        if step == options.fault_step and rank in options.fault_rank:
            FAULTS[options.fault]()
        optimizer.zero_grad()
        loss = model(data).square().mean()
        loss.backward()
        optimizer.step()
        dist.all_reduce(loss.detach())
        log.info("step %d/%d loss %.4f", step, options.steps, loss.item())
        if options.checkpoint is not None and rank == 0:
            save(model, options.checkpoint, step)
        time.sleep(options.step_secs)
    dist.destroy_process_group()
    log.info("training finished")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--step-secs", type=float, default=0.2)
    parser.add_argument("--timeout-secs", type=float, default=180)
    parser.add_argument("--dataset", type=Path)
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--fault", choices=sorted(FAULTS))
    parser.add_argument("--fault-rank", type=lambda text: {int(rank) for rank in text.split(",")}, default=set())
    parser.add_argument("--fault-step", type=int, default=3)
    return parser.parse_args()


def load(dataset: Path | None) -> torch.Tensor:
    if dataset is None:
        return torch.randn(16, 8)
    with dataset.open("rb") as file:
        return torch.frombuffer(bytearray(file.read(512)), dtype=torch.float32).reshape(16, 8)


def save(model: nn.Module, folder: Path, step: int) -> None:
    log.info("saving checkpoint of step %d", step)
    padding = torch.zeros(1 << 20)
    torch.save({"model": model.state_dict(), "optimizer": padding, "step": step}, folder / f"step-{step}.pt")


# --- faults -----------------------------------------------------------------------------------------------------------


def raise_an_error() -> None:
    batch: dict[str, int] = {"input_ids": 1}
    print(batch["labels"])


def read_a_wild_pointer() -> None:
    ctypes.string_at(0)


def hang() -> None:
    time.sleep(3600)


def take_memory() -> None:
    held = []
    while True:
        held.append(bytearray(64 << 20))
        held[-1][::4096] = b"x" * len(held[-1][::4096])
        time.sleep(0.02)


FAULTS: dict[str, Callable[[], None]] = {
    "exception": raise_an_error,
    "segfault": read_a_wild_pointer,
    "hang": hang,
    "memory": take_memory,
}

if __name__ == "__main__":
    main()
