"""Masking hides secrets of known shapes, and nothing else, before a text is kept or shown."""

import re
from collections.abc import Callable

MASK = "***"


def mask(text: str) -> tuple[str, int]:
    """The text with every known secret replaced by `***`, its name or prefix kept, and how many there were.

    Takes linear time. Masking what was masked changes nothing.
    """
    lowered = text.lower()
    for rare, markers in _MARKERS:
        if rare in lowered:
            for marker in markers:
                if marker in lowered:
                    return _mask(text)
    return text, 0


def _mask(text: str) -> tuple[str, int]:
    total = 0
    for marker, pattern, replacement in _SHAPES:
        if marker not in text:
            continue
        count = 0

        def hide(match: re.Match[str], replacement: Callable[[re.Match[str]], str] = replacement) -> str:
            nonlocal count
            hidden = replacement(match)
            count += hidden != match[0]
            return hidden

        text = pattern.sub(hide, text)
        total += count
    return text, total


# Every shape holds one of these markers, in whatever case. They are grouped by a character or two that all of a group
# share, which is much cheaper to look for.
_MARKERS = (
    ("k", ("key", "token", "sk-", "akia")),
    ("z", ("authoriz", "aiza")),
    ("_", ("hf_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "_pat_")),
    ("-", ("glpat-", "nvapi-", "xox")),
    ("j", ("eyj",)),
    ("@", ("@",)),
    ("cre", ("secret", "credential")),
    ("", ("pass", "bearer", "asia")),
)


# --- named values ---------------------------------------------------------------------------------------------------

# names of environment variables, in capitals
_ENVIRONMENT = r"(?:_KEY|_TOKEN|(?<![A-Z0-9])TOKEN|SECRET|PASSWORD|PASSWD|_PASS|_CREDENTIALS?|APIKEY)"
# names in any other writing, where a bare `key` or `token` is a word of every training log
_LOWER = (
    r"(?i:api[_-]?key|(?:access|secret|private|signing|encryption|account|storage)[_-]?key(?![_-]?id)|"
    r"(?:auth|access|refresh|bearer|id|hf|hub|github|gitlab|slack|session|security|wandb|api|registry)[_-]?token|"
    r"client[_-]?secret|(?<![a-z0-9])secret|password|passwd|passphrase)"
)
_NAME = rf"(?:{_ENVIRONMENT}|{_LOWER})(?![A-Za-z0-9])"
_QUOTED = r"""(?:"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|\\"[^"\\\n]*(?:\\")?)"""
_WORD = r"""[^\s"'\\,;&)}\]]+"""
_ASSIGNED = re.compile(rf"""({_NAME}(?:\\?["'])?[ \t]{{0,4}}(?:=|:=|:)[ \t]{{0,4}})({_QUOTED}|{_WORD})""", re.DOTALL)
_OPTION = re.compile(
    r"(--(?:[a-z]{1,20}[-_]){0,4}(?:api[-_]?key|access[-_]key|secret|token|password|passwd) {1,4})"
    rf"({_QUOTED}|{_WORD})",
    re.DOTALL,
)
# switches, empty values, references to variables, placeholders and special words of a vocabulary hide nothing
_HARMLESS = re.compile(
    r"(?:true|false|none|null|nil|unset|redacted)?|\*.*|-.*|<[^>]{0,40}>?|[\[({]\w{0,40}[\])}]?|\$[\w{(].*|%[s(].*",
    re.IGNORECASE | re.DOTALL,
)
_NUMBER = re.compile(r"\d{1,9}(?:\.\d{0,9})?", re.ASCII)


def _hide_assigned(match: re.Match[str]) -> str:
    name, value = match.groups()
    quote = value[:2] if value.startswith("\\") else value[0] if value[0] in "\"'" else ""
    closed = len(value) >= 2 * len(quote) and value.endswith(quote)
    bare = value[len(quote) : len(value) - len(quote) if closed else None]
    number = _NUMBER.fullmatch(bare) and "pass" not in name.lower()
    if number or _HARMLESS.fullmatch(bare) or (not quote and _is_prose(name, bare)):
        return match[0]
    return f"{name}{quote}{MASK}{quote if closed else ''}"


def _is_prose(name: str, value: str) -> bool:
    """Whether an unquoted value after a colon is the next word of a sentence, as in `wrong password: denied`."""
    return name.rstrip(" \t").endswith(":") and not any(char.isdigit() for char in value)


# --- shapes that need no name ---------------------------------------------------------------------------------------

_AUTHORIZATION = re.compile(
    r"""((?i:authorization)\\?["']?[ \t]{0,4}[:=][ \t]{0,4}\\?["']?"""
    r"""(?i:bearer|basic|token|digest|negotiate) {1,4})"""
    r"""([^\s"'\\,;]+)"""
)
_BEARER = re.compile(r"\b((?i:bearer) {1,4})([A-Za-z0-9._~+/=-]{16,})")
_URL = re.compile(r"(://[^\s/:@\"'<>]{0,256}:)([^\s/@\"'<>]{1,512})(?=@)")
_PREFIXED = re.compile(
    r"(?<![A-Za-z0-9_-])(?:"
    r"(hf_)[A-Za-z0-9]{20,}|(gh[pousr]_)[A-Za-z0-9]{20,}|(github_pat_)\w{20,}|(glpat-)[\w-]{16,}|(dckr_pat_)[\w-]{16,}|"
    r"(nvapi-)[\w-]{20,}|(sk-)(?=[\w-]{0,80}\d)[\w-]{20,}|(A(?:KIA|SIA))[A-Z0-9]{16}(?![A-Za-z0-9])|"
    r"(xox[abeoprs]-)[A-Za-z0-9-]{10,}|(AIza)[\w-]{30,}|(eyJ)[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?"
    r")",
    re.ASCII,
)
_PRIVATE_KEY = re.compile(r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)(?:(?!-----END).)*", re.DOTALL)


def _hide_second(match: re.Match[str]) -> str:
    return match[0] if match[2].startswith(MASK) else match[1] + MASK


def _hide_bearer(match: re.Match[str]) -> str:
    return match[1] + MASK if any(char.isdigit() for char in match[2]) else match[0]


def _hide_rest(match: re.Match[str]) -> str:
    prefix: str = match[match.lastindex or 0]
    return prefix + MASK


# What every text of that shape holds, its pattern, and what it becomes. A later shape never undoes an earlier one.
_SHAPES: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    ("-----BEGIN", _PRIVATE_KEY, _hide_rest),
    (" ", _AUTHORIZATION, _hide_second),
    ("://", _URL, _hide_second),
    ("", _ASSIGNED, _hide_assigned),
    ("--", _OPTION, _hide_assigned),
    ("", _PREFIXED, _hide_rest),
    (" ", _BEARER, _hide_bearer),
)
