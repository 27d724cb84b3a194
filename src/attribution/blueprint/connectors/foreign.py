"""What others say is shown without the secrets that they were sent."""

from collections.abc import Iterable

_SHORTEST = 4
"""Characters of the shortest secret that is looked for; a shorter one would take letters out of words."""


def hidden(text: str, secrets: Iterable[str | None]) -> str:
    """The text with `***` in the place of each secret, the longest first."""
    for secret in sorted({secret for secret in secrets if secret}, key=lambda secret: (-len(secret), secret)):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, "***")
    return text
