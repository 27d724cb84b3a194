"""Log lines that are shown to everybody hold no secrets, and no names or addresses of somebody's own."""

import ipaddress
import re
from collections.abc import Iterator
from typing import NamedTuple

from attribution.contracts import documents
from attribution.contracts.errors import Problem
from attribution.extraction.masking import mask
from attribution.rules.model import Catalog


class Find(NamedTuple):
    """A part of a text that is not neutral: what it is, and how it stands there."""

    what: str
    text: str


_IPV4 = re.compile(r"(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\d)")
_IPV6 = re.compile(r"(?<![\w:.])[23][0-9a-fA-F]{3}(?::[0-9a-fA-F]{0,4}){2,7}(?![\w:])")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_HOME = re.compile(r"/(?:home|Users)/([\w.-]+)")
_HOST = re.compile(
    r"(?<![\w./@-])(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+(com|net|org|io|ai|cloud|dev|co|edu|gov|de|uk|fr|cn|jp|eu|us)"
    r"(?![\w-]|\.\w|\()",
    re.IGNORECASE,
)
_OWN_RANGES = tuple(
    map(ipaddress.ip_network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "fe80::/10"))
)
"""Ranges that are set aside for documents, or that say nothing of whose they are."""

_NEUTRAL_HOMES = frozenset({"user", "alice", "bob", "me"})

_NEUTRAL_HOSTS = re.compile(
    r"(?:^|\.|OutOf)(?:example\.(?:com|net|org)|nvidia\.com|nvcr\.io|docker\.io|k8s\.io|github\.com|pytorch\.org|pypi\.org|"
    r"huggingface\.co|hf\.co|wandb\.ai|amazonaws\.com|googleapis\.com)$",
    re.IGNORECASE,
)
"""Hosts that everybody's programs name, and those that are set aside for documents."""


def finds(text: str) -> Iterator[Find]:
    """What is not neutral in a text, in the order of the kinds. Takes linear time."""
    masked, count = mask(text)
    if count:
        yield Find("what looks like a secret", _changed(text, masked))
    for match in _IPV4.finditer(text):
        if _is_public(match[0]) and not text[: match.start()].endswith("ersion "):
            yield Find("a public address", match[0])
    for match in _IPV6.finditer(text):
        if _is_public(match[0]):
            yield Find("a public address", match[0])
    for match in _EMAIL.finditer(text):
        if not _NEUTRAL_HOSTS.search(match[0].partition("@")[2]) and not match[0].startswith("git@"):
            yield Find("an address of a person", match[0])
    for match in _HOME.finditer(text):
        if match[1] not in _NEUTRAL_HOMES:
            yield Find("somebody's home folder", match[0])
    for match in _HOST.finditer(text):
        if not _NEUTRAL_HOSTS.search(match[0]):
            yield Find("somebody's host name", match[0])


def not_neutral(catalog: Catalog) -> Iterator[Problem]:
    """The cases of a catalog that hold what is not neutral (R029), one problem for each line and find."""
    for rule in catalog.rules:
        for number, case in enumerate(rule.info.cases):
            texts: list[tuple[documents.Path, str]] = [(("context",), str(dict(case.context)))]
            texts += [(("given", row), line) for row, line in enumerate(case.given.split("\n"))]
            for path, text in texts:
                for find in finds(text):
                    message = f"has a case `{case.name}` with {find.what}: `{find.text}`"
                    remedy = "write node-01, 10.0.0.1, /home/user, host.example.org, or a value that is plainly made up"
                    yield Problem(rule.info.at("cases", number, *path), "R029", message, remedy)


def _is_public(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return address.is_global and not any(
        address in network for network in _OWN_RANGES if network.version == address.version
    )


def _changed(text: str, masked: str) -> str:
    """The name before the first thing that was masked, never the thing."""
    same = next((i for i, (a, b) in enumerate(zip(text, masked, strict=False)) if a != b), 0)
    return text[max(0, same - 12) : same] + "***"
