"""The API through `kubectl`, which knows how to reach the cluster and who asks."""

from collections.abc import Iterator, Mapping
from urllib.parse import urlencode

from attribution.blueprint.connectors import commands
from attribution.blueprint.connectors.base import Halted, never
from attribution.blueprint.connectors.commands import Bounds, CommandError
from attribution.blueprint.connectors.kubernetes.failures import ClusterError, Why, of_kubectl

WHY = {
    commands.Why.NOT_STARTED: Why.NO_PROGRAM,
    commands.Why.LATE: Why.LATE,
    commands.Why.CUT: Why.TOO_LARGE,
    commands.Why.HALTED: Why.HALTED,
    commands.Why.FAILED: Why.REFUSED,
}
"""What an end of the program means, for each there is; of one that failed, its words say more."""


class Kubectl:
    """Runs `kubectl get --raw PATH`, or `create --raw PATH -f -`: an argument list, no shell.

    Raw requests bring one page of a list at a time, and logs as they are read. The exit code is looked at before
    anything that was printed counts as an answer: a `kubectl` that may not read prints an empty list all the same.
    """

    def __init__(self, program: str, *options: str) -> None:
        self._argv = [program, *options]

    @property
    def name(self) -> str:
        """The program with the options that say which cluster it asks."""
        return " ".join(self._argv)

    def send(
        self,
        path: str,
        query: Mapping[str, str],
        body: bytes | None = None,
        *,
        secs: float,
        idle: bool = False,
        halted: Halted = never,
    ) -> Iterator[bytes]:
        """See Transport."""
        target = f"{path}?{urlencode(query)}" if query else path
        verb = ["get", "--raw", target] if body is None else ["create", "--raw", target, "-f", "-"]
        try:
            yield from commands.output([*self._argv, *verb], Bounds(secs, idle=idle), given=body or b"", halted=halted)
        except CommandError as error:
            raise self._told(error) from None

    def close(self) -> None:
        """Nothing is held open."""

    def _told(self, error: CommandError) -> ClusterError:
        if error.why is commands.Why.FAILED:
            return of_kubectl(error.stderr, error.code)
        if error.why is commands.Why.NOT_STARTED:
            remedy = "install it, give its path with `kubectl`, or set `api_url`"
            return ClusterError(Why.NO_PROGRAM, f"{error} ({remedy})", has_remedy=True)
        # what says which cluster it asked belongs to its name
        return ClusterError(WHY[error.why], str(error).replace(f"`{self._argv[0]}`", f"`{self.name}`", 1))
