"""Files of a scenario in memory, and how they reach the disk."""

import gzip
import random
from dataclasses import dataclass, field
from pathlib import Path

import zstandard


@dataclass
class Files:
    """Texts by path within the bundle."""

    texts: dict[str, str] = field(default_factory=dict)

    def add(self, path: str, text: str) -> None:
        """A file of the bundle; an empty one is left out."""
        if text:
            self.texts[path] = text if text.endswith("\n") else text + "\n"

    def write(self, folder: Path, compressed: float, rng: random.Random) -> None:
        """All files below a folder, a share of the logs as gzip or zstd."""
        made: set[Path] = set()
        for path, text in self.texts.items():
            target = folder / path
            if target.parent not in made:
                target.parent.mkdir(parents=True, exist_ok=True)
                made.add(target.parent)
            data = text.encode()
            if path.startswith("context") or rng.random() >= compressed:
                target.write_bytes(data)
            elif rng.random() < 0.5:
                Path(f"{target}.gz").write_bytes(gzip.compress(data, 4, mtime=0))
            else:
                Path(f"{target}.zst").write_bytes(zstandard.ZstdCompressor(3).compress(data))
