"""How wide and how colourful an answer may be depends on where it is written."""

import os
import shutil
from typing import TextIO

MIN_WIDTH, MAX_WIDTH = 60, 120


def columns(wanted: int | None) -> int:
    """The width to write in: what was asked for, else the terminal's, within reason."""
    return max(MIN_WIDTH, min(wanted or shutil.get_terminal_size((80, 24)).columns, wanted or MAX_WIDTH))


def takes_color(stream: TextIO) -> bool:
    """Whether colours may be written: to a terminal, unless `NO_COLOR` is set."""
    return stream.isatty() and not os.environ.get("NO_COLOR")
