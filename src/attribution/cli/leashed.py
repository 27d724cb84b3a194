"""A command that stops when whoever started it is gone, however that ended: its standard input is the leash."""

import os
import signal
import threading
import time

from attribution.cli.main import run

PATIENCE_SECS = 10
"""How long a command may take to stop by itself."""


def _watch(leash: int) -> None:
    while os.read(leash, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE_SECS)
    os._exit(1)


def main() -> None:
    """Run the command that the arguments name until it ends or standard input does."""
    leash = os.dup(0)
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123  the command itself is given no input
        os.dup2(nothing.fileno(), 0)
    threading.Thread(target=_watch, args=(leash,), name="leash", daemon=True).start()
    run()


if __name__ == "__main__":
    main()
