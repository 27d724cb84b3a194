"""Prefixes are taken off a line and nothing of its message with them."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from attribution.events.moment import SECOND, Basis, Moment
from attribution.extraction.clock import ClockRules
from attribution.extraction.lines import Line, peel

from tests.work import ends

RULES = ClockRules()
ZONED = ClockRules(zone=0, year=2025)

JAN_21 = 1737434504 * SECOND
"""2025-01-21T04:41:44Z."""

AT_TENTH = JAN_21 + SECOND // 10
UTC_SECOND = Moment(JAN_21, SECOND)
LOCAL_SECOND = Moment(JAN_21, SECOND, Basis.LOCAL)

LAUNCHERS = [
    ("0: Epoch 1", Line("Epoch 1", rank=0, writer="task 0")),
    (" 12: Epoch 1", Line("Epoch 1", rank=12, writer="task 12")),
    ("3:", Line("", rank=3, writer="task 3")),
    ("3:     indented", Line("    indented", rank=3, writer="task 3")),
    ("[rank3]: Traceback", Line("Traceback", rank=3, writer="rank3")),
    ('[rank3]:   File "x.py", line 3', Line('  File "x.py", line 3', rank=3, writer="rank3")),
    ("[rank8] Warning: x", Line("Warning: x", rank=8, writer="rank8")),
    ("[default3]:frame #0", Line("frame #0", writer="default3")),
    ("[default3]: text", Line("text", writer="default3")),
    ('[default3]:  File "x.py", line 3', Line('  File "x.py", line 3', writer="default3")),
    ("[default3]:[rank11]: Traceback", Line("Traceback", rank=11, writer="default3 rank11")),
    ("[trainer0|0]:Last error:", Line("Last error:", writer="trainer0|0")),
    ("0: [rank5]: Traceback", Line("Traceback", rank=5, writer="task 0 rank5")),
    ("[1,3]<stdout>:text", Line("text", rank=3, writer="mpi 1,3 stdout")),
    ("[1,3]<stderr>: text", Line("text", rank=3, writer="mpi 1,3 stderr")),
    ("[1,3]<stderr>:    text", Line("    text", rank=3, writer="mpi 1,3 stderr")),
    ("[1,3][node-01:77]<stdout>: x", Line("x", host="node-01", rank=3, writer="mpi 1,3 stdout")),
    ("[3]<stderr>:text", Line("text", rank=3, writer="mpi 0,3 stderr")),
    ("(pid=12) text", Line("text", writer="ray pid=12")),
    (
        "(RayTrainWorker pid=1234, ip=10.0.0.2) [rank1]: x",
        Line("x", host="10.0.0.2", rank=1, writer="ray RayTrainWorker pid=1234 ip=10.0.0.2 rank1"),
    ),
    ("(RayTrainWorker pid=1234)   x", Line("  x", writer="ray RayTrainWorker pid=1234")),
    ("(raylet) x", Line("x", writer="ray raylet")),
    ("(raylet, ip=10.0.0.2) x", Line("x", host="10.0.0.2", writer="ray raylet ip=10.0.0.2")),
    ("(autoscaler +3m12s) x", Line("x", writer="ray autoscaler")),
    ("node-01: Traceback", Line("Traceback", host="node-01", writer="node-01")),
    ('node-01:   File "x.py"', Line('  File "x.py"', host="node-01", writer="node-01")),
    ("10.0.0.1: x", Line("x", host="10.0.0.1", writer="10.0.0.1")),
    ("node-01.cluster.local: x", Line("x", host="node-01.cluster.local", writer="node-01.cluster.local")),
    ("dgx12: x", Line("x", host="dgx12", writer="dgx12")),
    ("[kubeflow][worker-1]   x", Line("  x", writer="worker-1")),
    ("[master-0] x", Line("x", writer="master-0")),
    ("[worker-x] x", Line("[worker-x] x")),
    ("[pod/worker-0/pytorch] x", Line("x", host="worker-0", writer="pod/worker-0/pytorch")),
    (
        "[pod/worker-0/pytorch] 2025-01-21T04:41:44Z [rank1]: x",
        Line("x", UTC_SECOND, host="worker-0", rank=1, writer="pod/worker-0/pytorch rank1"),
    ),
    ("2025-01-21T04:41:44Z stderr F text", Line("text", UTC_SECOND, writer="stderr")),
    ("2025-01-21T04:41:44Z stdout P   text", Line("  text", UTC_SECOND, writer="stdout")),
    ("2025-01-21T04:41:44Z stdout F", Line("", UTC_SECOND, writer="stdout")),
    ("2025-01-21T04:41:44Z stderr F 0: [rank4]: x", Line("0: [rank4]: x", UTC_SECOND, writer="stderr")),
    (
        '2025-01-21T04:41:44Z stderr F ERROR 01-21 04:41:44 [core.py:502]   File "x.py", line 1, in f',
        Line('  File "x.py", line 1, in f', UTC_SECOND, writer="stderr", level="error"),
    ),
]

SYSTEM = [
    (
        "2025-01-21T04:41:44+00:00 node-01 kernel: NVRM: Xid",
        Line("NVRM: Xid", UTC_SECOND, None, "node-01", None, "kernel", "node-01 kernel"),
    ),
    (
        "2025-01-21T04:41:44+00:00 localhost systemd[1]: Rebooting.",
        Line("Rebooting.", UTC_SECOND, None, "localhost", None, "systemd", "localhost systemd"),
    ),
    (
        '<4>1 2025-01-21T04:41:44+00:00 node-01 kernel - - [x a="b\\"]" c="d"] NVRM: Xid',
        Line("NVRM: Xid", UTC_SECOND, None, "node-01", None, "kernel", "node-01 kernel", "warning"),
    ),
    (
        "<4>1 2025-01-21T04:41:44+00:00 - app 12 ID - text",
        Line("text", UTC_SECOND, None, None, None, "app", "app", "warning"),
    ),
    (
        "Jan 21 04:41:44 node-01 kernel: NVRM: Xid",
        Line("NVRM: Xid", UTC_SECOND, None, "node-01", None, "kernel", "node-01 kernel"),
    ),
    (
        "Jan 21 04:41:44 node-01 kernel: [36020.497806] CPU0: hot",
        Line("CPU0: hot", UTC_SECOND, 36020_497806, "node-01", None, "kernel", "node-01 kernel"),
    ),
    (
        "Jan 21 04:41:44 node-01 slurmstepd[229]: error: x",
        Line("error: x", UTC_SECOND, None, "node-01", None, "slurmstepd", "node-01 slurmstepd"),
    ),
    ("Jan 21 04:41:44 node-01 NVRM: Xid", Line("NVRM: Xid", UTC_SECOND, None, "node-01", None, None, "node-01")),
    (
        "Jan 21 04:41:44 node-01 last message repeated 3 times",
        Line("last message repeated 3 times", UTC_SECOND, None, "node-01", None, None, "node-01"),
    ),
    ("[430954.509105] NVRM: Xid", Line("NVRM: Xid", Moment(430954_509105, 1, Basis.BOOT), 430954_509105)),
    (
        "[430954.509105]   device [10de:2330]",
        Line("  device [10de:2330]", Moment(430954_509105, 1, Basis.BOOT), 430954_509105),
    ),
    ("[    1.000000][  T123] x", Line("x", Moment(SECOND, 1, Basis.BOOT), SECOND)),
    (
        "<0>[ 3098.275469] Kernel panic",
        Line("Kernel panic", Moment(3098_275469, 1, Basis.BOOT), 3098_275469, level="fatal"),
    ),
    (
        "[    1.000000] node-01 kernel: x",
        Line("x", Moment(SECOND, 1, Basis.BOOT), SECOND, "node-01", None, "kernel", "node-01 kernel"),
    ),
    ("[    1.000000] nvidia-nvswitch3: SXid", Line("nvidia-nvswitch3: SXid", Moment(SECOND, 1, Basis.BOOT), SECOND)),
    ("6,3964,1000000,-;NVRM: x", Line("NVRM: x", Moment(SECOND, 1, Basis.BOOT), SECOND, level="info")),
    ("[    1.000000] WARNING: CPU: 3 PID: 1", Line("WARNING: CPU: 3 PID: 1", Moment(SECOND, 1, Basis.BOOT), SECOND)),
    ("[Tue Jan 21 04:41:44 2025] WARNING: CPU: 3", Line("WARNING: CPU: 3", UTC_SECOND)),
    ("[  +1.050439] WARNING: CPU: 3", Line("WARNING: CPU: 3")),
    (
        "kern  :warn  : [    1.000000] WARNING: x",
        Line("WARNING: x", Moment(SECOND, 1, Basis.BOOT), SECOND, level="warning"),
    ),
    ("2025-01-21T04:41:44Z EXT4-fs (md0): x", Line("EXT4-fs (md0): x", UTC_SECOND)),
    (
        "2025-01-21T04:41:44Z node-01 (sd-pam)[12]: x",
        Line("x", UTC_SECOND, host="node-01", program="(sd-pam)", writer="node-01 (sd-pam)"),
    ),
    ("Jan 21 04:41:44 kernel: mce: x", Line("mce: x", UTC_SECOND, program="kernel", writer="kernel")),
    ("Jan 21 04:41:44 systemd[1]: x", Line("x", UTC_SECOND, program="systemd", writer="systemd")),
    ("Jan 21 04:41:44 error: x", Line("error: x", UTC_SECOND)),
    ("[  +1.050439] pcieport 0000:00:03.0: AER", Line("pcieport 0000:00:03.0: AER")),
    ("[Tue Jan 21 04:41:44 2025] NVRM: Xid", Line("NVRM: Xid", UTC_SECOND)),
    ("kern  :warn  : 2025-01-21T04:41:44+00:00 NVRM: Xid", Line("NVRM: Xid", UTC_SECOND, level="warning")),
    ("[Jan 21 2025 04:41:44] [ERROR] [tid 841] detected", Line("detected", UTC_SECOND, level="error")),
    ("[Jan 21 2025 04:41:44] [ERROR] detected", Line("detected", UTC_SECOND, level="error")),
    ("2025-01-21_04:41:44+0000: [E] text", Line("text", UTC_SECOND, level="error")),
    ("[2025-01-21T04:41:44] update_node: x", Line("update_node: x", UTC_SECOND)),
    ("[2025-01-21T04:41:44] [440575.batch] error: x", Line("error: x", UTC_SECOND, writer="step 440575.batch")),
]

APPLICATIONS = [
    (
        "[rank1]:[W121 04:41:44.1 A.cpp:1] WARNING: x",
        Line("WARNING: x", Moment(AT_TENTH, 100_000), rank=1, writer="rank1", level="warning"),
    ),
    ("2025-01-21 04:41:44 WARNING worker.py:1799 -- text", Line("text", UTC_SECOND, level="warning")),
    ("2025-01-21 04:41:44 /a/b.py:12: UserWarning: x", Line("/a/b.py:12: UserWarning: x", UTC_SECOND)),
    ("[2025-01-21 04:41:44 TP14] text", Line("text", UTC_SECOND)),
    (
        "[2025-01-21 04:41:44] CRITICAL [a.util:158, rank=6] x",
        Line("[a.util:158, rank=6] x", UTC_SECOND, level="critical"),
    ),
    ("2025-01-21 04:41:44 - root - INFO - text", Line("text", UTC_SECOND, level="info")),
    ("2025-01-21 04:41:44 - WARNING - a.b - text", Line("text", UTC_SECOND, level="warning")),
    ("2025-01-21 04:41:44 ERROR: text", Line("text", UTC_SECOND, level="error")),
    ("2025-01-21 04:41:44 ERROR text", Line("text", UTC_SECOND, level="error")),
    ("2025-01-21 04:41:44 | ERROR    | a.b:run:12 - text", Line("text", UTC_SECOND, level="error")),
    ("[2025-01-21 04:41:44] [INFO] [scaler.py:183:update] [app] text", Line("[app] text", UTC_SECOND, level="info")),
    ("[2025-01-21 04:41:44][a.builder][WARNING] - text", Line("text", UTC_SECOND, level="warning")),
    (
        "[2025-01-21 04:41:44] a.b.api: [ERROR] failed (exitcode: 1)",
        Line("failed (exitcode: 1)", UTC_SECOND, level="error"),
    ),
    ("[INFO] 2025-01-21 04:41:44 run: text", Line("run: text", UTC_SECOND, level="info")),
    ("[INFO|trainer.py:571] 2025-01-21 04:41:44 >> text", Line("text", UTC_SECOND, level="info")),
    ("[ERROR] text", Line("text", level="error")),
    ("ERROR:a.b.api:failed", Line("failed", level="error")),
    ("2025-01-21 04:41:44: E a/b/driver.cc:806] failed", Line("failed", UTC_SECOND, level="error")),
    ("[2025-01-21 04:41:44 E 27110 27110] logging.cc:120: text", Line("text", UTC_SECOND, level="error")),
    ("[2025-01-21 04:41:44 E 1 1] (raylet) a/b.cc:1: text", Line("text", UTC_SECOND, level="error")),
    ("ERROR 01-21 04:41:44 [exec.py:470]     indented", Line("    indented", UTC_SECOND, level="error")),
    ("W0121 04:41:44 102926 /a/b/api.py:897] text", Line("text", UTC_SECOND, level="warning")),
    ("I0121 04:41:44       1 a.go:162] text", Line("text", UTC_SECOND, level="info")),
    ("[E121 04:41:44.909476913 A.cpp:607] [Rank 1] x", Line("[Rank 1] x", UTC_SECOND, level="error")),
    ("[E A.cpp:474] [Rank 2] x", Line("[Rank 2] x", level="error")),
    ("[rank1]:[E A.cpp:474] x", Line("x", rank=1, writer="rank1", level="error")),
    ("2025-01-21 04:41:44 [rank0]:     deep", Line("    deep", UTC_SECOND, rank=0, writer="rank0")),
    ("node-01:229:558 [3] NCCL WARN x", Line("NCCL WARN x", host="node-01", writer="node-01:229")),
    ("node-01:229:558 [3] a.cc:9 NCCL WARN x", Line("a.cc:9 NCCL WARN x", host="node-01", writer="node-01:229")),
    (
        "[1,3]<stdout>:node-01:229:558 [0] NCCL INFO x",
        Line("NCCL INFO x", host="node-01", rank=3, writer="mpi 1,3 stdout"),
    ),
    (
        "[2025-01-21 04:41:44] node-01:229:558 [3] NCCL WARN x",
        Line("NCCL WARN x", UTC_SECOND, host="node-01", writer="node-01:229"),
    ),
    ("  time      : 2025-01-21_04:41:44", Line("  time      : 2025-01-21_04:41:44", UTC_SECOND)),
]


@pytest.mark.parametrize(("text", "line"), [*LAUNCHERS, *SYSTEM, *APPLICATIONS])
def test_a_prefix_is_taken_off(text: str, line: Line) -> None:
    assert peel(text, ZONED) == line


UNTOUCHED = [
    "",
    " ",
    "plain text",
    '  File "x.py", line 3',
    "\tat a.b",
    "0:error",
    "1234567: x",
    "     5: x",
    "12:30 o'clock",
    "error: x",
    "RuntimeError: x",
    "torch.cuda.OutOfMemoryError: CUDA out of memory",
    "socket.gaierror: [Errno -2]",
    "train.py: error: unrecognized arguments",
    "python3: can't open file",
    "python3.11: can't open file",
    "slurmstepd-node-01: error: x",
    "slurmstepd: error: Detected 1 oom_kill event",
    "srun: error: node-01: tasks 1-3: Out Of Memory",
    "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028",
    "mlx5_core 0000:5c:00.0: x",
    "nvme0n1: I/O error",
    "eth0: link down",
    "gpu0: hot",
    "fp16: True",
    "top-5: 0.3",
    "layer1.0: x",
    "loss: 3",
    "NCCL WARN x",
    "[Rank 1] Watchdog",
    "[RANK 7] Epoch 0",
    "[0]:",
    "[3] text",
    "[c10d] The server socket",
    "[app] text",
    "[rankless]: x",
    "[epoch3]: x",
    "[E] text",
    "[tid 841] x",
    "[440575.0] error: x",
    "(most recent call last)",
    "(a pid=x) y",
    "ERROR: text",
    "ERROR text",
    "WARNING: text: more",
    "-- Boot 0123456789abcdef0123456789abcdef --",
    "https://node-01:8080/x",
    "{'loss': 2.0}",
]


@pytest.mark.parametrize("text", UNTOUCHED)
def test_what_a_program_said_stays(text: str) -> None:
    assert peel(text, ZONED) == Line(text)


PROSE_AFTER_A_STAMP = [
    ("2025-01-21 04:41:44 step-10 loss: 3", "step-10 loss: 3"),
    ("2025-01-21T04:41:44Z training loop: done", "training loop: done"),
    ("2025-01-21 04:41:44 INFORMATION: x", "INFORMATION: x"),
    ("2025-01-21 04:41:44 stderr Finally", "stderr Finally"),
    ("2025-01-21 04:41:44 error: x", "error: x"),
    ("[    1.000000] EXT4-fs error (device dm-0): x", "EXT4-fs error (device dm-0): x"),
    ("[    1.000000] mlx5_core 0000:5c:00.0: x", "mlx5_core 0000:5c:00.0: x"),
]


@pytest.mark.parametrize(("text", "message"), PROSE_AFTER_A_STAMP)
def test_words_after_a_stamp_are_no_header(text: str, message: str) -> None:
    line = peel(text, ZONED)
    assert (line.message, line.host, line.program, line.writer) == (message, None, None, "")


MOMENTS = [
    ("2025-01-21T04:41:44Z stderr F 2020-01-01T00:00:00Z x", RULES, UTC_SECOND),  # the outer one of two UTC
    ("2020-01-01 00:00:00 [rank0]: 2025-01-21T04:41:44Z x", RULES, UTC_SECOND),  # the inner one where only it is UTC
    ("2025-01-21 04:41:44 [2020-01-01 00:00:00] x", RULES, LOCAL_SECOND),  # the outer one of two local ones
    ("Mar  4 10:08:05 n kernel: [    1.000000] x", ClockRules(boot_us=JAN_21 - SECOND), Moment(JAN_21, 1)),
    ("Mar  4 10:08:05 n kernel: x", RULES, Moment(5393285 * SECOND, SECOND, Basis.YEARLESS)),
]


@pytest.mark.parametrize(("text", "rules", "moment"), MOMENTS)
def test_the_first_utc_stamp_is_the_moment_else_the_first(text: str, rules: ClockRules, moment: Moment) -> None:
    line = peel(text, rules)
    assert line.moment == moment
    assert line.message == "x"


def test_a_writer_is_the_same_at_any_time() -> None:
    writers = {peel(f"[pod/w-0/c] 2025-01-21T04:41:{n:02}Z stderr F [rank1]: x", RULES).writer for n in range(60)}
    assert writers == {"pod/w-0/c stderr rank1"}


PIECES = st.lists(
    st.sampled_from([text for text, _ in (*LAUNCHERS, *SYSTEM, *APPLICATIONS)] + UNTOUCHED) | st.text(max_size=8),
    max_size=4,
).map("".join)


@given(st.text() | PIECES)
@example("[" * 100)
@example("1: " * 100)
@example("[rank1]: " * 100)
@example("\ud800")
def test_any_text_is_a_line_that_ends_in_its_message(text: str) -> None:
    line = peel(text, RULES)
    assert text.endswith(line.message)
    assert line.rank is None or line.rank >= 0


@pytest.mark.parametrize("text", [text for text, _ in (*SYSTEM, *APPLICATIONS)])
def test_a_message_has_nothing_more_to_take_off(text: str) -> None:
    message = peel(text, ZONED).message
    assert peel(message, ZONED).message == message


HOSTILE = [
    "[",
    "1: ",
    "a.",
    "a-1.",
    "<4>",
    '[x a="',
    "a:1:1 ",
    "(a pid=1",
    "[rank1",
    "2025-01-21T04:41:44Z ",
    " ",
    "I0121 ",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_no_text_makes_it_backtrack(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    with ends():
        for prefix in ("", "<4>1 2025-01-21T04:41:44Z n a 1 - ", "[2025-01-21T04:41:44] "):
            peel(prefix + text, RULES)
