"""Programs are run within bounds, whatever they do."""

import os
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from attribution.blueprint.connectors.base import never
from attribution.blueprint.connectors.commands import Bounds, CommandError, Why, output
from attribution.client.bounded import within
from attribution.testing import CommandAnswer, FakeCommand

LONG = Bounds(30)


def run(code: str, bounds: Bounds = LONG, given: bytes = b"", halted: Callable[[], bool] = never) -> bytes:
    return b"".join(output([sys.executable, "-S", "-c", code], bounds, given=given, halted=halted))


def failure(code: str, bounds: Bounds = LONG, halted: Callable[[], bool] = never) -> CommandError:
    with pytest.raises(CommandError) as raised:
        run(code, bounds, halted=halted)
    return raised.value


def test_what_is_given_comes_back_whole_although_no_pipe_holds_it() -> None:
    given = os.urandom(1 << 20)
    assert run("import sys, shutil; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)", given=given) == given


def test_a_program_that_does_not_read_what_it_is_given_is_not_waited_for() -> None:
    assert run("print('done')", given=b"x" * (1 << 20)) == b"done\n"


def test_both_ends_of_what_it_says_on_stderr_are_kept() -> None:
    """A program may say why first and then much else, or the other way round."""
    error = failure("import sys; sys.stderr.write('the cause\\n' + 'x' * 1_000_000 + '\\nthe end\\n'); sys.exit(3)")
    assert (error.why, error.code) == (Why.FAILED, 3)
    assert error.stderr.startswith("the cause\nxxx") and error.stderr.endswith("xxx\nthe end\n")
    assert "bytes are left out" in error.stderr and len(error.stderr) < 70_000
    assert str(error).endswith("ended with exit code 3: the end")


def test_a_signal_is_told_as_one() -> None:
    error = failure("import os; os.kill(os.getpid(), 9)")
    assert error.code == -9 and str(error).endswith("ended with signal 9 and said nothing")


def test_output_over_the_limit_is_handed_out_up_to_it() -> None:
    got = bytearray()
    with pytest.raises(CommandError, match="wrote more than 1000 bytes") as raised:
        for piece in output([sys.executable, "-S", "-c", "while True: print('x' * 99)"], Bounds(30, bytes=1000)):
            got += piece
    assert raised.value.why is Why.CUT and len(got) == 1000
    assert run("print('x' * 999)", Bounds(30, bytes=1000)) == b"x" * 999 + b"\n"


def test_one_that_takes_too_long_is_ended_although_it_writes() -> None:
    error = failure("import time\nwhile True: print('x', flush=True); time.sleep(0.02)", Bounds(0.5))
    assert error.why is Why.LATE


def test_one_that_may_idle_so_long_is_ended_when_it_is_silent_longer() -> None:
    code = "import time\nfor n in range(6): print(n, flush=True); time.sleep(0.1)\n"
    assert run(code, Bounds(0.5, idle=True)).split() == [b"0", b"1", b"2", b"3", b"4", b"5"]
    assert failure(code + "time.sleep(60)", Bounds(0.5, idle=True)).why is Why.LATE


def test_one_that_closes_its_output_and_stays_is_ended() -> None:
    error = failure("import os, time; os.close(1); os.close(2); time.sleep(60)", Bounds(0.3))
    assert error.why is Why.LATE and "closed its output" in str(error)


def test_it_is_halted_and_ended_with_what_it_started() -> None:
    began = time.monotonic()
    code = "import subprocess; subprocess.run(['sleep', '60'])"
    assert failure(code, halted=lambda: time.monotonic() - began > 0.3).why is Why.HALTED


def test_whoever_looks_no_longer_ends_it() -> None:
    pieces = output([sys.executable, "-S", "-c", "import os\nwhile True: print(os.getpid(), flush=True)"], Bounds(60))
    with closing(pieces):
        process = int(next(pieces).split()[0])
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_a_program_that_cannot_be_run() -> None:
    for path, words in (("/nowhere/sacct", "there is no program"), ("/etc/hostname", "cannot be run: ")):
        with pytest.raises(CommandError, match=words) as raised:
            list(output([path], Bounds(1)))
        assert raised.value.why is Why.NOT_STARTED


def test_what_it_leaves_behind_is_ended_and_told() -> None:
    """A wrapper that ends while something it started still holds its output."""
    code = "import subprocess, sys; print(subprocess.Popen(['sleep', '77']).pid, flush=True)"
    said = b""
    with pytest.raises(CommandError, match="left its output held open") as raised:
        for piece in output([sys.executable, "-c", code], Bounds(3.0)):
            said += piece
    assert raised.value.why is Why.LATE
    state = Path(f"/proc/{int(said)}/stat")
    until = time.monotonic() + 30
    while state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z" and time.monotonic() < until:
        time.sleep(0.05)
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.slow
def test_a_program_has_no_more_time_than_what_it_is_part_of(tmp_path: Path) -> None:
    fake = FakeCommand(tmp_path, "hangs", [CommandAnswer(wait_secs=600)])
    with within(0.5), pytest.raises(CommandError) as raised:
        list(output([str(fake.path)], Bounds(600.0)))
    assert raised.value.why is Why.LATE
