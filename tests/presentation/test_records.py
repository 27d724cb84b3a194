"""Of a JSON record, the reader sees the message."""

import pytest

from attribution.presentation.records import message_of


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            '{"log": "[rank0]: OSError: no\\n", "stream": "stderr", "time": "2026-05-29T10:06:02Z"}',
            "[rank0]: OSError: no",
        ),
        ('2026-05-29T10:06:02Z {"level":"error","msg":"pull \\"train:2\\" failed"}', 'pull "train:2" failed'),
        ('{"level": "error", "message": "cut short in the mid…', "cut short in the mid…"),
        ('{"MESSAGE": "first\\nOSError: decisive\\nlast"}', "OSError: decisive"),
        ("{'loss': 0.5}", "{'loss': 0.5}"),
        ('{"step": 12}', '{"step": 12}'),
        ("plain text", "plain text"),
        ('{"log": "\\ud800"}', "\ud800"),
        ('{"log": ""}', '{"log": ""}'),
    ],
)
def test_the_message(text: str, shown: str) -> None:
    assert message_of(text, ["decisive"]) == shown
