"""Without a token, a server on loopback answers only to names of loopback.

A page of another site can make a browser ask loopback under a name of that site's own, and read the answer: then the
name is all that tells it from a user's own request.
"""

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})


def is_loopback_name(header: str, host: str) -> bool:
    """Whether a Host header names loopback, or the address that was told to be listened on."""
    return _name(header) in LOOPBACK_NAMES | {host.lower(), f"[{host.lower()}]"}


def _name(header: str) -> str:
    """The name of a Host header without its port."""
    if header.startswith("["):
        return "".join(header.partition("]")[:2]).lower()
    return header.partition(":")[0].lower()
