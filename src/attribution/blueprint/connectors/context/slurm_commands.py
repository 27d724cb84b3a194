"""Slurm's commands are run so that what they print does not depend on who asks, and say what helps where they fail."""

import codecs
import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from attribution.blueprint.connectors.commands import Bounds, CommandError, Why, output

_REMEDIES = {
    Why.NOT_STARTED: "install Slurm's client commands, or set its path",
    Why.LATE: "see whether slurmdbd answers, ask for a shorter span, or raise `timeout_secs`",
    Why.CUT: "ask for a shorter span, or raise `output_bytes`",
}


@dataclass(frozen=True, slots=True)
class SlurmCommands:
    """How Slurm's commands are run: for how long at most, and how much of their output is read."""

    timeout_secs: float
    output_bytes: int
    slurm_conf: Path | None = None

    def stream(self, argv: Sequence[str]) -> Iterator[str]:
        """The output as it comes. Raises CommandError."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        bounds = Bounds(self.timeout_secs, self.output_bytes)
        try:
            with closing(output(argv, bounds, environment=self._environment())) as chunks:
                for chunk in chunks:
                    yield decoder.decode(chunk)
        except CommandError as error:
            remedy = _REMEDIES.get(error.why)
            message = f"{error} ({remedy})" if remedy else str(error)
            raise CommandError(error.why, message, error.code, error.stderr) from None
        yield decoder.decode(b"", final=True)

    def text(self, argv: Sequence[str]) -> str:
        """The whole output of a command that writes little."""
        return "".join(self.stream(argv))

    def _environment(self) -> dict[str, str]:
        """Ours, but for what would change the answer: times come as seconds since 1970 and are read in UTC."""
        kept = {name: value for name, value in os.environ.items() if name not in {"SACCT_FORMAT", "SLURM_CLUSTERS"}}
        kept |= {"TZ": "UTC", "LC_ALL": "C", "SLURM_TIME_FORMAT": "%s"}
        return kept | ({"SLURM_CONF": str(self.slurm_conf)} if self.slurm_conf else {})
