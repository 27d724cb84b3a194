"""Results are told in a channel of Slack, or of what takes the same messages, as a colleague would tell them."""

import json
from collections.abc import Callable
from typing import Any

from pydantic import Field, field_validator

from attribution.blueprint.connectors.base import Sink
from attribution.blueprint.connectors.sinks.posting import Post, PostingSettings, page_of, reached, wanted
from attribution.configuration.secrets import Secret, http_address
from attribution.contracts.exchange import CatalogSnapshot
from attribution.contracts.result import AttributionBlueprintResult
from attribution.presentation.answer import Answer, Block, decisive_words, place_of_line
from attribution.presentation.columns import clip, clip_around, visible
from attribution.presentation.facts import facts

_TITLE, _LINE, _FACT, _QUOTED = 150, 300, 220, 500
"""Characters of a title, of a line, of what stands behind a label, and of a line of the logs. Escapes may double them,
and a section still has fewer than the 3,000 that Slack allows."""
_LABELS = ("next", "exclude", "would decide", "why", "impact", "not examined", "inferred", "partial")
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "@\u200b", "`": "\u02cb"})


class SlackSettings(PostingSettings):
    """Which channel, and which results it is told."""

    url: Secret = Field(description="address of the incoming webhook; whoever knows it can write to the channel")

    @field_validator("url")
    @classmethod
    def _is_address(cls, value: Secret) -> Secret:
        http_address(value.get_secret_value())
        return value


class Slack(Sink[SlackSettings]):
    """Tells each result in a few lines: what ended how, what started it and where, and what to do next."""

    Settings = SlackSettings

    def __init__(self, settings: SlackSettings) -> None:
        super().__init__(settings)
        self._post = Post(settings.url.get_secret_value(), settings.timeout_secs)

    def check(self) -> str:
        """See whether something answers at the address; nothing is written to the channel."""
        return reached(self._post)

    def wants(self, result: AttributionBlueprintResult) -> bool:
        """Whether it is one of those that are told."""
        return wanted(self.settings, result)

    def write(self, result: AttributionBlueprintResult, catalog: Callable[[], CatalogSnapshot]) -> None:
        """Tell one result. Raises ConnectorError."""
        body = json.dumps(message(result, page_of(self.settings, result))).encode()
        self._post.send(body, {"Content-Type": "application/json"})

    def close(self) -> None:
        """Give up the connections."""
        self._post.close()


def message(result: AttributionBlueprintResult, page: str | None) -> dict[str, Any]:
    """The message: blocks, and the same as text for programs that show no blocks. Nothing in it calls anybody."""
    answer = Answer(result.diagnosis)
    title, parts = _title(result, answer), list(_parts(answer))
    if page is not None:
        parts.append(f"<{page}|The whole diagnosis>")
    sections = [{"type": "section", "text": _mrkdwn(part)} for part in parts]
    return {
        "text": "\n".join([f"*{title}*", *parts]),
        "blocks": [{"type": "section", "text": _mrkdwn(f"*{title}*")}, *sections],
        "unfurl_links": False,
        "unfurl_media": False,
    }


def _title(result: AttributionBlueprintResult, answer: Answer) -> str:
    """`418201, attempt 1 (train, example) failed: hardware / nvlink_fabric on node-02`."""
    context = result.context
    named = ", ".join(part for part in (context.name, context.cluster) if part)
    where = f" on {answer.where}" if answer.where else ""
    whose = f" ({named})" if named else ""
    return inert(f"{answer.attempt}{whose}: {answer.state}, {answer.verdict}{where}", 2 * _TITLE)


def _parts(answer: Answer) -> list[str]:
    """The findings with the line that shows each, then what to know and to do."""
    parts = [_finding(block) for block in answer.blocks()]
    if answer.unsaid:
        parts.append(inert(answer.unsaid, _LINE))
    told = {fact.label: fact.texts for fact in facts(answer)}
    lines = [f"*{label}*: {inert('; '.join(told[label]), _FACT)}" for label in _LABELS if label in told]
    return [part for part in (*parts, "\n".join(lines)) if part]


def _finding(block: Block) -> str:
    lines = [inert(f"{block.title} · {block.where}" if block.where else block.title, _LINE)]
    for item in block.evidence[:1]:
        lines.append(f"_{inert(place_of_line(item), _TITLE)}_")
        shown = clip_around(visible(item.text), _QUOTED, decisive_words(item))
        lines.append(f"```{inert(shown, _QUOTED)}```")
    return "\n".join(lines)


def inert(text: str, room: int) -> str:
    """Text that is only text: no markup, no mention, no control or hidden character, and not too long."""
    harmless = clip(visible(text), room).translate(_ESCAPES)
    return harmless if len(harmless) <= 2 * room else inert(text, room // 2)


def _mrkdwn(text: str) -> dict[str, Any]:
    return {"type": "mrkdwn", "text": text, "verbatim": True}
