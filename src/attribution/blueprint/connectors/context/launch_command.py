"""A launch command is shown with what looks like a secret masked, and cut where it is too long."""

import re

_LONGEST = 4096
_NAME = re.compile(r"(?<![\w.-])([\w.-]+)(\s*[=:]\s*|\s+)")
"""What may be the name of a flag or variable, and what stands between it and its value."""
_VALUE = re.compile(r"""\\?"[^"]*"?|\\?'[^']*'?|\S+""")
"""A value: a word, or what stands in quotes, also in those of `--wrap "…"`."""
_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+")
_SECRET = frozenset(
    {"apikey", "bearer", "credential", "credentials", "key", "passphrase", "passwd", "password", "secret", "token"}
)
"""Words of names whose values are secrets; `--tokenizer` and `--max-tokens` have none of them."""
_PASSWORD = re.compile(r"(://[^\s:/@]*:)[^\s/@]+(?=@)")
"""The password in an address."""


def shown_command(command: str) -> str | None:
    """The command as a context carries it; None if there is none. It is masked before it is cut."""
    masked = _PASSWORD.sub(r"\1***", _masked(command.strip()))
    return masked[:_LONGEST] + ("…" if len(masked) > _LONGEST else "") or None


def _masked(command: str) -> str:
    """The command without the values of flags and variables that are named after a secret."""
    parts, at = [], 0
    while (found := _NAME.search(command, at)) is not None:
        parts.append(command[at : found.end()])
        at = found.end()
        is_flag_next = not found[2].strip() and command.startswith("--", at)
        if _is_secret(found[1], found[2]) and not is_flag_next and (value := _VALUE.match(command, at)):
            parts.append("***")
            at = value.end()
    return "".join(parts) + command[at:]


def _is_secret(name: str, between: str) -> bool:
    """Whether a name is one of a secret. A blank parts a flag from its value, but a word only from the next one."""
    if not between.strip() and not name.startswith("-") and name.lower() != "bearer":
        return False
    return not _SECRET.isdisjoint(word.lower() for word in _WORDS.findall(name))
