"""PCI addresses have one form here, however a program writes them."""

import re

_ADDRESS = re.compile(r"^(?:PCI:)?(?:([0-9A-Fa-f]{1,8}):)?([0-9A-Fa-f]{2}):([0-9A-Fa-f]{2})(?:\.[0-9A-Fa-f])?$")


def normal_pci(text: str) -> str | None:
    """A PCI address as Xid lines write it, `0000:1b:00`, or None if `text` is none.

    Lower case, four digits of domain (more only where it needs them), no function.
    """
    match = _ADDRESS.match(text.strip())
    if not match:
        return None
    domain = (match[1] or "").lower().lstrip("0").rjust(4, "0")
    return f"{domain}:{match[2].lower()}:{match[3].lower()}"
