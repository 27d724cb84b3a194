"""What others say is shown on one line that no terminal acts on, and without the secrets that they were sent."""

from collections.abc import Iterable

from attribution.presentation.columns import visible

_SHORTEST = 4
"""Characters of the shortest secret that is looked for; a shorter one would take letters out of words."""
LONGEST = 300
"""Characters of a text that is shown, if not said otherwise."""


def one_line(told: BaseException | str, longest: int = LONGEST) -> str:
    """A text, or what an error says, as part of one line: nothing in it acts on a terminal, and it is not too long.

    An error that says nothing is told by its name.
    """
    text = " ".join(str(told).split())
    if not text and isinstance(told, BaseException):
        text = type(told).__name__
    return visible(text if len(text) <= longest else f"{text[: longest - 1]}…")


def hidden(text: str, secrets: Iterable[str | None]) -> str:
    """The text with `***` in the place of each secret, the longest first."""
    for secret in sorted({secret for secret in secrets if secret}, key=lambda secret: (-len(secret), secret)):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, "***")
    return text
