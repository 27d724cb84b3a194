"""A launch command is shown with what looks like a secret masked, and cut where it is too long."""

import re

from attribution.configuration.secrets import HIDDEN, names_secret, without_secrets

_LONGEST = 4096
_NAME = re.compile(r"""(?<![\w.-])([\w.-]+)((?:\\?["'])?(?:\s*[=:]\s*|\s+))""")
"""What may be the name of a flag, a variable or a key, and what stands between it and its value."""
_QUOTE = re.compile(r"""\\.|["']""", re.DOTALL)
_VALUES = {
    "": re.compile(r"""(?:"(?:[^"\\]|\\.)*"?|'[^']*'?|\\.|[^\s"'\\])+""", re.DOTALL),
    '"': re.compile(r"""(?:\\"(?:[^"\\]|\\[^"])*(?:\\")?|'[^'"]*'?|\\[^"]|[^\s"'\\])+""", re.DOTALL),
    "'": re.compile(r"""(?:"(?:[^"'\\]|\\[^'])*"?|\\[^']|[^\s"'\\])+""", re.DOTALL),
}
"""A value, by the quotes within which it stands: words and what is quoted, as far as no blank parts them."""
_WORD = re.compile(r"\S+")
_SCHEMES = frozenset({"basic", "bearer"})
"""What stands before the secret in a header `Authorization`."""


def shown_command(command: str) -> str | None:
    """The command as a context carries it; None if there is none. It is masked before it is cut."""
    masked = _WORD.sub(lambda found: without_secrets(found[0]), _masked(command.strip()))
    return masked[:_LONGEST] + ("…" if len(masked) > _LONGEST else "") or None


def _masked(command: str) -> str:
    """The command without the values of flags, variables and keys that are named after a secret."""
    parts, at, within = [], 0, ""
    while (found := _NAME.search(command, at)) is not None:
        within = _within(command, at, found.end(), within)
        parts.append(command[at : found.end()])
        at = found.end()
        is_flag_next = not found[2].strip() and command.startswith("--", at)
        if is_flag_next or not _is_secret(found[1], found[2], command[max(0, found.start() - 20) : found.start()]):
            continue
        value = _VALUES[within].match(command, at) or _VALUES[""].match(command, at)
        if value is not None:
            parts.append(HIDDEN)
            at = value.end()
    return "".join(parts) + command[at:]


def _within(command: str, begin: int, end: int, quote: str) -> str:
    """The quotes within which a place stands, if those are known within which an earlier one does."""
    for found in _QUOTE.finditer(command, begin, end):
        if len(found[0]) > 1:
            continue
        if not quote:
            quote = found[0]
        elif quote == found[0]:
            quote = ""
    return quote


def _is_secret(name: str, between: str, before: str) -> bool:
    """Whether a name is one of a secret. A blank parts a flag from its value, but a word only from the next one."""
    if name.lower() in _SCHEMES and not between.strip():
        return name.lower() == "bearer" or before.rstrip(" :=").lower().endswith("authorization")
    if not between.strip("\"'\\ \t\n") and not name.startswith("-"):
        return False
    return names_secret(name)
