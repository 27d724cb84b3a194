"""Whatever is given, the command answers with its result, or with one sentence and an exit code; never a traceback."""

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from attribution.cli.main import COMMANDS

from tests.cli.commands import ATTRIBUTION, RULE, apart, run
from tests.cli.toys import shipped_is


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Evidence and rules, good and bad."""
    root = tmp_path_factory.mktemp("cli")
    logs = root / "good" / "applog"
    logs.mkdir(parents=True)
    (logs / "node-01.log").write_text("2026-05-04T03:00:00Z toy boom: disk\n")
    (root / "empty").mkdir()
    (root / "passed-over").mkdir()
    (root / "passed-over" / "model.safetensors").write_bytes(bytes(100))
    for name, text in (
        ("bad-context", "workload_id: x\nnodez: []\n"),
        ("no-yaml", "a: b: c\n"),
        ("backwards", "started_at: 2026-05-04T03:00:00Z\nended_at: 2026-05-04T02:00:00Z\n"),
    ):
        (root / name / "applog").mkdir(parents=True)
        (root / name / "applog" / "a.log").write_text("step 1\n")
        (root / name / "context.yaml").write_text(text)
    (root / "garbage.gz").write_bytes(b"\x1f\x8bgarbage")
    (root / "zeros.gz").write_bytes(gzip.compress(bytes(1000))[:-20])
    (root / "own").mkdir()
    (root / "own" / "boom.yaml").write_text(RULE.replace("a boom", "a boom ☢"))
    (root / "bad-rules").mkdir()
    (root / "bad-rules" / "a.yaml").write_text(RULE.replace("summary:", "sumary:"))
    (root / "no-rules").mkdir()
    for name in ("own.yml", "own.txt"):
        (root / name).write_text(RULE)
    return root


BAD: list[tuple[str, int, Sequence[str]]] = [
    ("diagnose nowhere", 3, ["nowhere: B001 does not exist (check the path)"]),
    ("diagnose garbage.gz", 3, [
        "garbage.gz: B004 cannot be decompressed: compressed data ends early after 0 bytes (copy the file again)"]),
    ("diagnose empty", 3, [
        "empty: B005 holds no evidence (put logs into it, such as applog/node-01.log or syslog/node-01.log)"]),
    ("diagnose passed-over", 3, [
        "passed-over: B005 holds no evidence: all 1 files were passed over (put logs into it, such as "
        "applog/node-01.log or syslog/node-01.log)"]),
    ("diagnose /dev/null", 3, ["/dev/null: B002 is neither a file nor a folder (give a folder, a log file, or a .tar, "
                               ".tar.gz or .tar.zst archive)"]),
    ("diagnose bad-context", 2, [
        "bad-context/context.yaml:2:1: D011 has the unknown key `nodez` (did you mean `nodes`?)"]),
    ("diagnose no-yaml", 2, [
        "no-yaml/context.yaml:1:5: D001 is not valid YAML: mapping values are not allowed in this context"]),
    ("diagnose backwards", 2, ["backwards/context.yaml:1:1: D014 `ended_at` is before `started_at`"]),
    ("diagnose good --context nowhere.yaml", 3, ["nowhere.yaml: B001 does not exist (check the path)"]),
    ("diagnose good --rules nowhere", 2, ["nowhere: C001 does not exist (give a folder of rules, or one rule file)"]),
    ("diagnose good --rules own.yml", 2, ["own.yml: C001 is no rule file (call it .yaml)"]),
    ("diagnose good --rules own.txt", 2, ["own.txt: C001 is no rule file (rule files end in .yaml or .py)"]),
    ("diagnose good --rules no-rules", 2, ["no-rules: R001 holds no rules (name a folder of rule files)"]),
    ("diagnose good --rules bad-rules", 2, [
        "bad-rules/a.yaml:1:1: D012 lacks the key `summary` (add it)",
        "bad-rules/a.yaml:5:1: D011 has the unknown key `sumary` (did you mean `summary`?)"]),
    ("diagnose good --fail-on nvlink", 2, [
        "--fail-on: C002 knows no sub_domain `nvlink` (did you mean `nvlink_fabric`?)"]),
    ("rules check --rules bad-rules", 2, [
        "bad-rules/a.yaml:1:1: D012 lacks the key `summary` (add it)",
        "bad-rules/a.yaml:5:1: D011 has the unknown key `sumary` (did you mean `summary`?)"]),
    ("why-not XID001 nowhere", 3, ["nowhere: B001 does not exist (check the path)"]),
    ("why-not XID001x good", 2, ["why-not: C003 knows no rule `XID001x` (did you mean `XID001`?)"]),
    ("why-not qqqqqqqqqqqq good", 2, ["why-not: C003 knows no rule `qqqqqqqqqqqq` (see: attribution rules list)"]),
    ("explain XID001x", 2, ["explain: C003 knows no rule, symptom or code `XID001x` (did you mean `XID001`?)"]),
    ("explain qqqqqqqqqqqq", 2, [
        "explain: C003 knows no rule, symptom or code `qqqqqqqqqqqq` (see: attribution rules list)"]),
    ("explain 9999", 2, ["explain: C003 knows no Xid 9999 (see: attribution explain XID001)"]),
]  # fmt: skip


@pytest.mark.parametrize(("words", "code", "problems"), BAD, ids=[bad[0] for bad in BAD])
def test_what_is_wrong_is_told_in_a_sentence(folder: Path, words: str, code: int, problems: Sequence[str]) -> None:
    answer = run(*words.split(), cwd=folder)
    assert (answer.returncode, answer.stdout) == (code, "")
    assert answer.stderr.splitlines() == [f"attribution: {problem}" for problem in problems]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["diagnose good --rules", "rules check"])
def test_names_of_files_do_not_act_on_the_terminal(folder: Path, tmp_path: Path, command: str) -> None:
    rules = tmp_path / "a\x1b[2Jb\n    c"
    rules.mkdir()
    (rules / "bad.yaml").write_text(RULE.replace("summary:", "sumary:"))
    answer = run(*command.split(), str(rules), cwd=folder)
    assert answer.returncode == 2
    assert "\x1b" not in answer.stderr
    assert len(answer.stderr.splitlines()) == 2 and r"a\x1b[2Jb\n    c/bad.yaml:5:1: D011" in answer.stderr


@pytest.mark.slow
def test_summaries_do_not_act_on_the_terminal(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(RULE.replace("It went boom.", r'"It \e[2J went\nboom."'))
    shown = run("rules", "list", "--rules", str(tmp_path), "--family", "TOY", cwd=folder)
    assert shown.stdout == "TOY901    extractor toy-boom  It \\x1b[2J went boom.\n"
    shown = run("explain", "TOY901", "--rules", str(tmp_path), cwd=folder)
    assert "It \\x1b[2J went boom." in shown.stdout and "\x1b" not in shown.stdout


@pytest.mark.parametrize(
    ("words", "last_line"),
    [
        ("", "attribution: error: the following arguments are required: COMMAND"),
        ("--frobnicate", "attribution: error: the following arguments are required: COMMAND"),
        ("diagnose", "attribution diagnose: error: the following arguments are required: path"),
        ("diagnose good --frobnicate", "attribution: error: unrecognized arguments: --frobnicate"),
        ("diagnose good --width wide", "attribution diagnose: error: argument --width: invalid int value: 'wide'"),
        ("rules", "attribution rules: error: the following arguments are required: ACTION"),
        ("why-not XID001", "attribution why-not: error: the following arguments are required: path"),
    ],
)
def test_wrong_usage(folder: Path, words: str, last_line: str) -> None:
    answer = run(*words.split(), cwd=folder)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith("usage: attribution") and answer.stderr.splitlines()[-1] == last_line


@pytest.mark.parametrize("words", ["frobnicate", "diagnose good --format xml"])
def test_a_wrong_choice_names_the_right_ones(folder: Path, words: str) -> None:
    answer = run(*words.split(), cwd=folder)
    assert answer.returncode == 2
    assert "invalid choice" in answer.stderr and "choose from" in answer.stderr


def test_a_truncated_file_is_diagnosed_as_far_as_it_goes(folder: Path) -> None:
    body = b"2026-05-04T03:00:00Z step 1 loss 2.1\n" * 5000
    (folder / "cut.log.gz").write_bytes(gzip.compress(body)[:-100])
    answer = run("diagnose", "cut.log.gz", "--format", "json", cwd=folder)
    assert answer.returncode == 0, answer.stderr
    (coverage,) = json.loads(answer.stdout)["coverage"]
    assert coverage["status"] == "partial" and "ends early" in coverage["reason"]


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["insufficient_evidence"], 1),
        (["none"], 0),
        (["none", "insufficient_evidence"], 1),
        ([], 0),
    ],
)
def test_fail_on(folder: Path, names: list[str], code: int) -> None:
    """The answer is written all the same."""
    flags = [word for name in names for word in ("--fail-on", name)]
    answer = run("diagnose", "good", "--rules", "own", "--format", "json", *flags, cwd=folder)
    assert json.loads(answer.stdout)["sub_domain"] == "insufficient_evidence"
    assert (answer.returncode, answer.stderr) == (code, "")


def test_an_operators_rule_is_used_by_every_command(folder: Path) -> None:
    own = ("--rules", "own")
    assert "TOY901" in run("rules", "list", *own, cwd=folder).stdout
    assert "It fired on 1 line;" in run("why-not", "toy-boom", "good", *own, cwd=folder).stdout
    assert "It went boom." in run("explain", "TOY901", *own, cwd=folder).stdout
    symptoms = json.loads(run("diagnose", "good", "--format", "json", *own, cwd=folder).stdout)["symptoms"]
    assert [symptom["symptom"] for symptom in symptoms] == ["TOY_BOOM"]


# --- output -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        "--help",
        "--version",
        "diagnose --help",
        "rules list",
        "explain XID001",
        "diagnose good",
        "diagnose good --format json",
    ],
)
def test_a_closed_pipe_is_no_error(folder: Path, words: str) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        done = subprocess.run(
            [ATTRIBUTION, *words.split()], cwd=folder, stdout=write_end, stderr=subprocess.PIPE, text=True, timeout=6000
        )
    finally:
        os.close(write_end)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_pipe_gets_no_colours(folder: Path) -> None:
    assert "\x1b" not in run("diagnose", "good", cwd=folder).stdout


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True)])
def test_no_color_is_honoured_on_a_terminal(folder: Path, env: dict[str, str], coloured: bool) -> None:
    import pty

    ours, theirs = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    with subprocess.Popen(
        [ATTRIBUTION, "diagnose", "good", "--rules", "own"],
        cwd=folder,
        env={**kept, "TERM": "xterm", **env},
        stdout=theirs,
    ) as process:
        os.close(theirs)
        parts = []
        try:
            while part := os.read(ours, 65536):
                parts.append(part)
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        assert process.wait(timeout=6000) == 0
    assert (b"\x1b[" in b"".join(parts)) is coloured


@pytest.mark.parametrize(
    "words", ["explain TOY_BOOM --rules own", "diagnose good --rules own", "rules list --rules own"]
)
def test_a_terminal_without_utf8_is_no_error(folder: Path, words: str) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env = {**kept, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([ATTRIBUTION, *words.split()], cwd=folder, env=env, capture_output=True, timeout=6000)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_same_evidence_gives_the_same_bytes(folder: Path) -> None:
    words = ("diagnose", "good", "--format", "json")
    first = apart(*words, cwd=folder, PYTHONHASHSEED="1")
    assert first.stdout == apart(*words, cwd=folder, PYTHONHASHSEED="2").stdout != ""


# --- help and start ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str) -> None:
    answer = run(command, "--help", COLUMNS="100")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith(f"usage: attribution {command}")
    assert COMMANDS[command][1:] in " ".join(answer.stdout.split())
    flags = re.findall(r"^  (--[a-z-]+)[^\n]{0,40}\n?\s+(\S+)", answer.stdout, re.MULTILINE)
    assert all(text and not text.startswith("-") for _, text in flags), "every flag says what it does"


@pytest.mark.parametrize(
    ("action", "says"),
    [
        ("list", "List the rules."),
        ("check", "Load every rule and run every case."),
        ("new", "Write the file of a new rule, made from one log line."),
        ("diff", "Tell which diagnoses of a corpus move when the rules change."),
    ],
)
def test_every_action_on_rules_has_help(action: str, says: str) -> None:
    answer = run("rules", action, "--help", COLUMNS="100")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith(f"usage: attribution rules {action} ") and says in answer.stdout


def test_help_lists_every_command() -> None:
    text = run("--help", COLUMNS="100").stdout
    assert all(
        re.search(rf"^    {name} +{re.escape(what[:30])}", text, re.MULTILINE) for name, what in COMMANDS.items()
    )


def test_version() -> None:
    assert re.fullmatch(r"attribution \d+\.\d+\.\d+\n", apart("--version").stdout)


HEAVY = {"pydantic", "yaml", "hyperscan", "re2", "msgspec", "zstandard", "numpy", "attribution.rules"}


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["nonsense"]])
def test_starting_imports_nothing_heavy(words: list[str]) -> None:
    code = (
        "import sys\nfrom attribution.cli.main import run\n"
        f"sys.argv = ['attribution', *{words}]\n"
        "try:\n    run()\nexcept SystemExit:\n    pass\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert "attribution.cli.main" in done.stderr.split()
    assert HEAVY & set(done.stderr.split()) == set()


# --- where an operator's rules are named ------------------------------------------------------------------------------


def test_the_environment_names_folders_of_rules(folder: Path) -> None:
    both = ",".join(("own", str(folder / "own"), ""))
    for words in ("rules list", "explain TOY901", "why-not toy-boom good"):
        answer = run(*words.split(), cwd=folder, ATTRIBUTION_RULES=both)
        assert (answer.returncode, answer.stderr) == (0, "")
        assert "TOY901" in answer.stdout
    diagnosis = json.loads(run("diagnose", "good", "--format", "json", cwd=folder, ATTRIBUTION_RULES="own").stdout)
    assert [symptom["symptom"] for symptom in diagnosis["symptoms"]] == ["TOY_BOOM"]
    shipped = json.loads(run("diagnose", "good", "--format", "json", cwd=folder).stdout)
    assert shipped["catalog"]["digest"] != diagnosis["catalog"]["digest"]
    verbose = run("diagnose", "good", "--verbose", cwd=folder, ATTRIBUTION_RULES="own").stdout
    assert diagnosis["catalog"]["digest"] in verbose


def test_a_folder_that_the_environment_names_must_exist(folder: Path) -> None:
    answer = run("rules", "list", cwd=folder, ATTRIBUTION_RULES="nowhere")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr == (
        "attribution: $ATTRIBUTION_RULES: nowhere: C001 does not exist (give a folder of rules, or one rule file)\n"
    )


def test_rules_that_are_named_twice_are_loaded_once(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped_is(tmp_path / "shipped", monkeypatch)
    answer = run("rules", "check", "own/boom.yaml", "--rules", "own", cwd=folder, ATTRIBUTION_RULES=str(folder / "own"))
    assert (answer.returncode, answer.stdout.count("cases hold")) == (0, 1), answer.stderr
    shipped = run("rules", "check", tmp_path / "shipped" / "nccl", cwd=folder)
    assert shipped.stdout == run("rules", "check", cwd=folder).stdout != answer.stdout


# --- rules list -------------------------------------------------------------------------------------------------------


def listed(*words: str) -> list[dict[str, Any]]:
    return list(json.loads(run("rules", "list", "--format", "json", *words).stdout))


def test_filters_of_one_flag_widen_and_different_flags_narrow() -> None:
    everything = listed()
    by_prefix, by_folder = listed("--family", "pyx"), listed("--family", "container")
    assert {row["family"] for row in by_prefix} == {"PYX"} and {row["folder"] for row in by_folder} == {"container"}
    both = listed("--family", "PYX", "--family", "gpu")
    assert len(both) == len(by_prefix) + len(listed("--family", "gpu")) < len(everything)
    relations = listed("--kind", "relation", "--symptom", "XID_79")
    assert "REL001" in {row["id"] for row in relations}, "a relation names the symptom by one of its tags"
    assert {row["kind"] for row in relations} == {"relation"}
    storage = listed("--sub-domain", "storage")
    assert storage and all("storage" in row["sub_domains"] for row in storage)
    assert {row["status"] for row in listed("--status", "stable")} == {"stable"}


def test_the_text_list_has_one_rule_a_line() -> None:
    assert len(run("rules", "list", "--family", "PYX").stdout.splitlines()) == len(listed("--family", "PYX"))


def test_a_filter_that_leaves_nothing_says_so(folder: Path) -> None:
    words = ("rules", "list", "--rules", "own", "--status", "deprecated", "--family", "TOY")
    assert run(*words, cwd=folder).stdout == "no rule is left by these filters\n"
    assert run(*words, "--format", "json", cwd=folder).stdout == "[]\n"


@pytest.mark.parametrize(
    ("flag", "word", "said"),
    [
        ("--family", "containr", "C002 knows no `containr` (did you mean `container`?)"),
        ("--symptom", "XID_79000", "C002 knows no `XID_79000`"),
        ("--sub-domain", "storag", "C002 knows no `storag` (did you mean `storage`?)"),
    ],
)
def test_a_filter_that_no_rule_could_pass_is_refused(flag: str, word: str, said: str) -> None:
    answer = run("rules", "list", flag, word)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith(f"attribution: {flag}: {said}")
