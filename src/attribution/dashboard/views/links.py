"""The address of every page, in one place. What logs call a thing stands in an address as `segment` writes it."""

import re
from functools import lru_cache
from urllib.parse import urlencode

ATTEMPTS = "/attempts"
NODES = "/nodes"
DEVICES = "/devices"
HOT_SPOTS = "/hot-spots"
RULES = "/rules"
SYMPTOMS = "/symptoms"
COVERAGE = "/coverage"
PATTERNS = "/patterns"

NOWHERE = "~"
"""Stands in an address for no node; a node of that name is written otherwise."""

_PLAIN = re.compile(r"[A-Za-z0-9_:,=+@-]|(?<=[A-Za-z0-9])\.(?!(?:json|md|tar|gz)(?:\.|$))", re.ASCII)
_ESCAPE = re.compile(rb"~([0-9a-f]{2})")


@lru_cache(maxsize=4096)
def segment(text: str) -> str:
    """One segment of a path that stands for any text: all but plain characters is written `~` and two hex digits.

    Percent-encoding will not do: browsers and proxies read `%2e%2e` as a step up and `%2f` as a new segment, and a
    name that ends in `.json` would ask for the twin of another page.
    """
    return "".join(
        char if _PLAIN.match(text, place) else "".join(f"~{byte:02x}" for byte in char.encode("utf-8", "replace"))
        for place, char in enumerate(text)
    )


def unsegment(given: str) -> str:
    """The text that a segment stands for; what is no escape stands for itself."""
    raw = _ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), given.encode("utf-8", "replace"))
    return raw.decode("utf-8", "replace")


def with_query(path: str, **keys: str | int | None) -> str:
    """An address with the keys that are set, in their order."""
    pairs = tuple((name, str(value)) for name, value in keys.items() if value not in (None, ""))
    return f"{path}?{_encoded(pairs)}" if pairs else path


@lru_cache(maxsize=1024)
def _encoded(pairs: tuple[tuple[str, str], ...]) -> str:
    """A query; the rows of a page often share theirs."""
    return urlencode(pairs)


def attempts(**keys: str | int | None) -> str:
    """The list of attempts, narrowed."""
    return with_query(ATTEMPTS, **keys)


def attempt(key: str) -> str:
    """One attempt's diagnosis."""
    return f"{ATTEMPTS}/{key}"


def evidence(key: str, evidence_id: str) -> str:
    """One line of an attempt's evidence, in its context."""
    return f"{attempt(key)}/evidence/{segment(evidence_id)}"


def decided(key: str) -> str:
    """How an attempt's diagnosis was decided, step by step."""
    return f"{attempt(key)}/decided"


def excerpt(key: str) -> str:
    """An attempt's evidence as a bundle that `attribution diagnose` reads."""
    return f"{attempt(key)}/excerpt.tar.gz"


def nodes() -> str:
    """All nodes by their failures."""
    return NODES


def node(name: str, **keys: str | int | None) -> str:
    """One node's history; `cluster` tells it from others of its name, `until` and `days` bound it."""
    return with_query(f"{NODES}/{segment(name)}", **keys)


def device(node: str, *names: str, **keys: str | int | None) -> str:
    """The history of a GPU, link or port: its node, then whatever names it there, such as its kind and its ids."""
    return with_query("/".join((DEVICES, segment(node), *map(segment, names))), **keys)


def unit(node: str, name: str, **keys: str | int | None) -> str:
    """The history of a part of a node by the name that the store keeps it under, or of a unit that belongs to none."""
    if node:
        return device(node, *name.split(" "), **keys)
    return with_query("/".join((DEVICES, NOWHERE, *map(segment, name.split(" ")))), **keys)


def hot_spots(**keys: str | int | None) -> str:
    """What fails more often than the fleet."""
    return with_query(HOT_SPOTS, **keys)


def rules() -> str:
    """All rules."""
    return RULES


def rule(rule_id: str, catalog: str | None = None) -> str:
    """The manual of a rule; of an old catalog's one if its digest is given."""
    return with_query(f"{RULES}/{segment(rule_id)}", catalog=catalog)


def symptoms() -> str:
    """All symptoms."""
    return SYMPTOMS


def symptom(name: str, catalog: str | None = None) -> str:
    """The manual of a symptom; of an old catalog's one if its digest is given."""
    return with_query(f"{SYMPTOMS}/{segment(name)}", catalog=catalog)


def coverage(**keys: str | int | None) -> str:
    """What the connectors gave."""
    return with_query(COVERAGE, **keys)


def twin(address: str) -> str:
    """The address of the JSON twin of a page."""
    path, mark, query = address.partition("?")
    return f"{path}.json{mark}{query}"
