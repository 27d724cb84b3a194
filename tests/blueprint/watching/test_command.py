"""`attribution run --watch` refuses what cannot be, before anything is begun."""

from pathlib import Path

import pytest

from tests.blueprint.test_run import run, told
from tests.conftest import SAMPLES

STATIC = ("--context-static-bundles", SAMPLES[0], "--service-url", "http://127.0.0.1:9")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            [*STATIC, "--job", "7"],
            "--watch: P008 takes all there is, not what is asked for (leave out --watch, or --job, --workload, "
            "--nodes, --start and --end)",
        ),
        (
            [*STATIC, "--watch-metrics-port", "0", "--watch-metrics-host", "0.0.0.0"],
            "--watch-metrics-host: V007 names `0.0.0.0`, which others can reach, and nothing asks who they are "
            "(set --watch-metrics-token-file FILE, or listen on 127.0.0.1)",
        ),
        (
            ["--service-url", "http://127.0.0.1:9"],
            "context: P006 does not say where attempts are (give --context-static-bundles, or --nodes, --start and "
            "--end, or a connector in the section `context`)",
        ),
        (
            [*STATIC, "--watch-store", "."],
            "{here}: T004 is a folder (give the path of a file)",
        ),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, words: list[object], problem: str) -> None:
    answer = run("--watch", *words, cwd=tmp_path, XDG_STATE_HOME=str(tmp_path))
    assert (answer.returncode, answer.stdout) == (2, "")
    assert told(answer) == [problem.format(here=tmp_path)]
