"""A rule folder is loaded whole or refused with every error in it, each with a code, its place and what to do."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from attribution.bundle.evidence import Evidence, EvidenceStream, StreamKey, text_segment
from attribution.cli.catalog import SHIPPED
from attribution.contracts.context import ExecutionContext
from attribution.contracts.errors import ConfigurationError
from attribution.contracts.vocabulary import Source
from attribution.diagnosis.verify import verify
from attribution.extraction.extract import extract
from attribution.extraction.ruleset import RuleSets
from attribution.rules.checks import check_thrift
from attribution.rules.loader import load_catalog
from attribution.rules.model import Catalog

from tests.rules.toys import GOOD, PYTHON, swapped


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, str | bytes]], Catalog]:
    """Writes the files of a rule folder and loads it; its paths show as `rules/…`."""
    monkeypatch.chdir(tmp_path)

    def write_and_load(files: Mapping[str, str | bytes]) -> Catalog:
        for name, text in files.items():
            path = tmp_path / "rules" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        (tmp_path / "rules").mkdir(exist_ok=True)
        return load_catalog([Path("rules")])

    return write_and_load


Load = Callable[[Mapping[str, str | bytes]], Catalog]


def test_a_file_that_cannot_be_read_is_an_error(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, mode: str) -> bytes:
        raise PermissionError(13, "Permission denied", str(self))

    load({"a.yaml": GOOD})
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ConfigurationError) as error:
        load_catalog([Path("rules")])
    assert str(error.value) == "rules/a.yaml: R001 cannot be read: Permission denied (put it right, or move it away)"


def test_all_errors_of_all_files_come_at_once_in_order(load: Load) -> None:
    files = {
        "z/a.yaml": swapped(GOOD, "keep: [what]", "keep: [wat]"),
        "b.yaml": "id: [\n",
        "c.py": "import os\n",
        "a.yaml": "id: TOY009\nnome: x\n",
    }
    with pytest.raises(ConfigurationError) as error:
        load(files)
    found = [(problem.place.file, problem.code) for problem in error.value.problems]
    assert list(dict.fromkeys(found)) == [
        ("rules/a.yaml", "D012"),
        ("rules/a.yaml", "D011"),
        ("rules/b.yaml", "D001"),
        ("rules/c.py", "R013"),
        ("rules/z/a.yaml", "R006"),
    ]


def test_a_good_folder_loads_and_its_cases_hold(load: Load) -> None:
    catalog = load({"a.yaml": GOOD, "b.py": PYTHON, "retired.yaml": "retired: {TOY009: was wrong}\n"})
    assert [rule.info.id for rule in catalog.rules] == ["TOY001", "TOY002"]
    assert catalog.retired == {"TOY009": "was wrong"}
    info = catalog.rules[1].info
    assert (info.summary, info.why, info.misses, info.next_step) == ("It went bang.", "Because.", "Nothing.", "Look.")
    assert str(info.place) == "rules/b.py:17:1"
    assert verify(RuleSets(catalog)) == ()


def test_an_operators_rule_fires_beside_the_shipped_ones(tmp_path: Path, shipped: RuleSets) -> None:
    (tmp_path / "own.yaml").write_text(GOOD.replace("BOOM", "OWN_TOY_BOOM"))
    catalog = load_catalog([SHIPPED, tmp_path])
    assert len(catalog.rules) == len(shipped.catalog.rules) + 1
    stream = EvidenceStream(StreamKey(Source.APPLOG, "n", None, "a"), segments=(text_segment("boom: disk\n"),))
    found = extract(Evidence(ExecutionContext(workload_id="w"), (stream,)), RuleSets(catalog)).events
    assert [(event.rule, event.get("what")) for event in found] == [("TOY001", "disk")]


def digest(folder: Path, files: Mapping[str, str]) -> str:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return load_catalog([folder]).digest


def test_the_digest_names_the_content_and_not_the_place(tmp_path: Path) -> None:
    base = digest(tmp_path / "one", {"a.yaml": GOOD, "b.py": PYTHON})
    assert base == digest(tmp_path / "elsewhere" / "two", {"b.py": PYTHON, "a.yaml": GOOD})
    changed = [
        {"a.yaml": GOOD + " ", "b.py": PYTHON},
        {"a.yaml": GOOD, "b.py": PYTHON + "#"},
        {"c.yaml": GOOD, "b.py": PYTHON},
        {"a.yaml": GOOD, "b.py": PYTHON, "tables/t.yaml": "retired: {TOY009: was wrong}\n"},
        {"a.yaml": GOOD},
    ]
    digests = [digest(tmp_path / str(number), files) for number, files in enumerate(changed)]
    assert len({base, *digests}) == len(changed) + 1


def test_a_checked_catalog_is_taken_from_the_cache_and_a_damaged_entry_is_survived(load: Load) -> None:
    entries: dict[str, bytes] = {}

    def cache(name: str, make: Callable[[], bytes]) -> bytes:
        return entries.get(name) or entries.setdefault(name, make())

    load({"a.yaml": GOOD, "b.py": PYTHON})
    first = load_catalog([Path("rules")], cache=cache)
    (name,) = entries
    for data in (entries[name], b"", b"{", b"[]", b"{}", b'{"rules/a.yaml": 3}'):
        entries[name] = data
        again = load_catalog([Path("rules")], cache=cache)
        assert again.digest == first.digest
        assert [rule.info.id for rule in again.rules] == ["TOY001", "TOY002"]
        assert verify(RuleSets(again)) == ()


def test_an_empty_folder_is_told_although_the_rest_was_checked_before(load: Load) -> None:
    entries: dict[str, bytes] = {}

    def cache(name: str, make: Callable[[], bytes]) -> bytes:
        return entries.get(name) or entries.setdefault(name, make())

    load({"a.yaml": GOOD})
    load_catalog([Path("rules")], cache=cache)
    Path("nothing").mkdir()
    with pytest.raises(ConfigurationError, match="nothing: R001 holds no rules"):
        load_catalog([Path("rules"), Path("nothing")], cache=cache)


def test_a_link_to_nothing_is_an_error(load: Load) -> None:
    Path("rules").mkdir()
    Path("rules/b.yaml").symlink_to("nowhere.yaml")
    with pytest.raises(ConfigurationError, match=r"rules/b\.yaml: R001 cannot be read: No such file"):
        load({"a.yaml": GOOD})


def test_a_folder_that_cannot_be_listed_is_an_error(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    scandir = os.scandir

    def refuse(path: Path) -> Iterator[os.DirEntry[str]]:
        if path.name == "deep":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(ConfigurationError, match=r"rules/deep: R001 cannot be read: Permission denied"):
        load({"a.yaml": GOOD, "deep/b.py": PYTHON})


def test_a_pipe_is_no_rule_file(load: Load) -> None:
    Path("rules").mkdir()
    os.mkfifo("rules/f.yaml")
    with pytest.raises(ConfigurationError, match=r"rules/f\.yaml: R001 cannot be read: it is no file"):
        load({"a.yaml": GOOD})


def test_a_link_to_a_folder_is_told(load: Load) -> None:
    Path("rules").mkdir()
    Path("rules/self").symlink_to(".")
    Path("rules/.data").symlink_to(".")
    with pytest.raises(ConfigurationError) as error:
        load({"a.yaml": GOOD})
    assert [str(problem.place) for problem in error.value.problems] == ["rules/self"]


def test_names_that_are_no_text_are_read_and_shown(load: Load) -> None:
    load({os.fsdecode(b"caf\xe9.yaml"): GOOD, os.fsdecode(b"caf\xe9.py"): PYTHON})
    with pytest.raises(ConfigurationError, match=r"rules/\\xe9\.yaml:2:1: D001"):
        load({os.fsdecode(b"\xe9.yaml"): "id: [\n"})


def test_a_folder_of_an_operators_may_be_called_tables(load: Load) -> None:
    assert [rule.info.id for rule in load({"tables/a.yaml": GOOD}).rules] == ["TOY001"]


def beside_shipped(files: Mapping[str, str]) -> list[str]:
    """What is told of an operator's files beside the shipped rules, cases aside."""
    for name, text in files.items():
        Path(name).write_text(text)
    try:
        catalog = load_catalog([SHIPPED, *map(Path, files)])
    except ConfigurationError as error:
        return [str(problem) for problem in error.problems]
    return [str(problem) for problem in check_thrift(catalog)]


@pytest.mark.slow
def test_an_operators_rules_keep_out_of_the_way_of_shipped_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own = GOOD.replace("BOOM", "OWN_TOY_BOOM")
    assert beside_shipped({"a.yaml": swapped(own, "TOY001", "CTR901")}) == []
    assert beside_shipped({"a.yaml": swapped(own, "TOY001", "CTR899")}) == [
        "a.yaml:1:1: R038 has the id `CTR899`, which a later version may give to a shipped rule "
        "(take a number from 900 on)"
    ]
    (taken,) = beside_shipped({"a.yaml": swapped(own, "TOY001", "CTR001")})
    assert taken.startswith("a.yaml:1:1: R002 is called `CTR001`, as is the shipped ")
    assert taken.endswith("(take a number from 900 on)")
    assert beside_shipped({"a.yaml": own, "r.yaml": "retired: {CTR001: gone}\n"}) == [
        "r.yaml:1:11: R011 retires the id `CTR001`, which a shipped rule uses "
        "(remove the line: a folder retires ids of its own only)"
    ]
