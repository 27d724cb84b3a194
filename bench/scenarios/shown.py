"""What a bundle's own files show of a truth: a rank counts only where a file or a line names it as the one that failed."""

import re

from bench.scenarios.scene import Scene
from bench.scenarios.writers.files import Files


def rank(files: Files, scene: Scene, number: int) -> bool:
    """Whether the files name the failing rank by its number: its own file or stream, a label of its lines, a report."""
    logs = [(path, text) for path, text in files.texts.items() if path.startswith("applog/")]
    if any(f".rank{number}." in path or f'"rank": "{number}"' in text for path, text in logs):
        return True
    shapes = [
        rf"^[^\n]*\[rank{number}\]: *(?:Traceback|\[E)",
        rf"^[^\n]*\[Rank {number}\]",
        rf"^[^\n]*Rank {number}\] Process group watchdog thread terminated",
        rf"^[^\n]*\brank +: {number} \(local_rank",
        rf"^[^\n]*\brank {number} differs",
        rf"^[^\n]*\b(?:ERROR|WARNING) \[rank={number}\]",
        rf"^\[1,{number}\]<stderr>:Traceback",
        rf"^[^\n]*process rank {number} with PID",
        rf"^ *Process name: \[\[\d+,1\],{number}\]",
    ]
    if scene.job.launcher == "srun":
        shapes += [rf"^ *{number}: +(?:Traceback|\[rank)", rf"^srun: error: [^\n]*: task {number}: "]
    told = re.compile("|".join(shapes), re.MULTILINE)
    return any(told.search(text) for _, text in logs)


def series(files: Files, scene: Scene) -> list[str]:
    """The metrics that a root moves on its own nodes, as far as the bundle holds them: they show it as a line does."""
    moved = sorted({shift.metric for shift in scene.shifts if shift.node in scene.root_nodes})
    texts = [text for path, text in files.texts.items() if path.startswith("metrics/")]
    return [name for name in moved if any(name in text for text in texts)]
