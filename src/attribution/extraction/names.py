"""Names of nodes as logs write them, and the node of the context that each stands for."""

from collections.abc import Iterator

from attribution.contracts.context import ExecutionContext

MAX_NAME = 253
"""Characters of a host name; a longer word is none."""


class NodeNames:
    """Maps host names, short names, FQDNs and addresses to nodes of the context."""

    def __init__(self, context: ExecutionContext) -> None:
        self._known: dict[str, str] = {}
        short: dict[str, set[str]] = {}
        for node in context.nodes:
            for name in (node.name, *node.aliases):
                self._known[name] = self._known[name.casefold()] = node.name
                for label in _short(name):
                    short.setdefault(label, set()).add(node.name)
        for label, nodes in short.items():
            if len(nodes) == 1:
                self._known.setdefault(label, next(iter(nodes)))

    def known(self, name: str | None) -> str | None:
        """The node of the context with this name, or None."""
        if not name:
            return None
        found = self._known.get(name)
        if found is None:
            folded = name.casefold()
            found = self._known.get(folded)
            if found is None and not _is_address(folded):
                found = self._known.get(folded.partition(".")[0])
        return found

    def resolve(self, name: str | None) -> str | None:
        """The node of the context with this name, or the name itself where the context does not know it."""
        if not name or len(name) > MAX_NAME:
            return None
        return self.known(name) or name


def _short(name: str) -> Iterator[str]:
    folded = name.casefold()
    if "." in folded and not _is_address(folded):
        yield folded.partition(".")[0]


def _is_address(name: str) -> bool:
    return ":" in name or name.replace(".", "").isdigit()
