"""A launch command is shown with what looks like a secret masked, and cut where it is too long."""

import re

_LONGEST = 4096
_SECRET = re.compile(
    r"(?i)((?:token|secret|passw(?:or)?d|bearer|api[-_]?key|access[-_]?key)\w{0,40}[=\s]+)"
    r"""(?:\\?"[^"]*"?|\\?'[^']*'?|\S+)"""
)
"""A name that tells of a secret, and its value: a word, or what stands in quotes, also in those of `--wrap "…"`."""
_PASSWORD = re.compile(r"(://[^\s:/@]*:)[^\s/@]+(?=@)")
"""The password in an address."""


def shown_command(command: str) -> str | None:
    """The command as a context carries it; None if there is none. It is masked before it is cut."""
    masked = _PASSWORD.sub(r"\1***", _SECRET.sub(r"\1***", command.strip()))
    return masked[:_LONGEST] + ("…" if len(masked) > _LONGEST else "") or None
