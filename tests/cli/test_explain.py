"""`explain` tells what every word of the product means; the pages of a toy catalog and of codes are kept whole.

Renew the kept pages with `python -m tests.cli.test_explain` and read the difference.
"""

import re
import tempfile
from pathlib import Path

import pytest

from attribution.catalog.fabric.tables import sxids
from attribution.catalog.tables import nvlink5, xids
from attribution.cli.explain import page
from attribution.cli.explain_codes import code_behind
from attribution.cli.manual import WIDTH
from attribution.contracts.error_codes import CODES, FAMILIES
from attribution.contracts.errors import ConfigurationError
from attribution.contracts.vocabulary import SubDomain
from attribution.extraction.ruleset import RuleSets
from attribution.rules.model import Catalog

from tests.cli.toys import toy_rules

GOLDEN = Path(__file__).parent / "golden"
WORDS = (
    "TOY001", "toy-rank-stalled", "TOY003", "TOY004", "TOY005", "TOY_LOST", "TOY_STALLED", "toy_fault", "XID79", "149",
    "149/4", "145/0", "SXID20034", "R005", "gpu_hardware", "data",
)  # fmt: skip
"""What is kept. Of codes the part that tables tell: the toy catalog has no symptom for them."""


def kept(catalog: Catalog, word: str) -> str:
    text = "\n".join(page(catalog, word))
    return re.sub(r"^Written in .*/", "Written in ", text, flags=re.MULTILINE) + "\n"


def file_of(word: str) -> Path:
    return GOLDEN / f"explain-{word.replace('/', '.')}.txt"


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> RuleSets:
    return toy_rules(tmp_path_factory.mktemp("toys"))


@pytest.mark.parametrize("word", WORDS)
def test_a_page_is_as_it_was(toys: RuleSets, word: str) -> None:
    assert kept(toys.catalog, word) == file_of(word).read_text()


def test_every_kept_page_has_a_word() -> None:
    assert sorted(GOLDEN.glob("explain-*.txt")) == sorted(file_of(word) for word in WORDS)


def test_every_rule_symptom_and_tag_has_a_page(shipped: RuleSets) -> None:
    catalog = shipped.catalog
    for rule in catalog.rules:
        lines = list(page(catalog, rule.info.id))
        assert lines == list(page(catalog, rule.info.name))
        assert lines[0].startswith(f"{rule.info.id} {rule.info.name}  (")
        assert sum(line.startswith("Written in attribution/catalog/") for line in lines) == 1
        for heading in ("Why: ", "Misses: ", "Next step: "):
            assert sum(line.startswith(heading) for line in lines) == 1, rule.info.id
        long = [line for line in lines if len(line) > WIDTH and line[:1].isalpha()]
        assert all(line.startswith((rule.info.id, "Must not fire on", "Fires on", "Written in")) for line in long), long
    for name in catalog.symptoms:
        assert next(page(catalog, name)).startswith(f"{name}  (symptom, ")
    for tag in catalog.tag_meanings:
        assert next(page(catalog, f"tag:{tag}")) == f"tag:{tag}  (tag)"
        assert next(page(catalog, f"TAG:{tag.upper()}")) == f"tag:{tag}  (tag)"
    for sub_domain in SubDomain:
        assert next(page(catalog, sub_domain)).startswith(f"{sub_domain}  (sub_domain of ")


def test_every_code_has_a_page(shipped: RuleSets) -> None:
    catalog = shipped.catalog
    for code, entry in xids().items():
        lines = list(page(catalog, f"Xid {code}"))
        assert lines[0] == f"Xid {code} {entry.mnemonic}"
        assert any(line.startswith(f"XID_{code}  (symptom") for line in lines) == (f"XID_{code}" in catalog.symptoms)
    for row in sxids()["codes"]:
        assert next(page(catalog, f"SXid {row['code']}")) == f"SXid {row['code']} {row['name']}"
        assert next(page(catalog, str(row["code"]))) == f"SXid {row['code']} {row['name']}"
    for sub in nvlink5().reasons:
        lines = list(page(catalog, f"149/{sub}"))
        assert any(line.startswith("NVLINK_") for line in lines), sub


def test_a_rule_that_is_called_as_an_xid_names_the_xid(shipped: RuleSets) -> None:
    assert list(page(shipped.catalog, "XID101"))[-1] == "See also: attribution explain 101, for the Xid of that number"
    assert next(page(shipped.catalog, "101")).startswith("Xid 101 ")


def test_no_other_rule_is_taken_for_an_xid() -> None:
    assert [code_behind(id) for id in ("XIDX900", "XID901", "TOY079", "XID079")] == [""] * 4


@pytest.mark.parametrize(
    ("word", "symptom"),
    [
        ("149/4", "NVLINK_SIGNAL_INTEGRITY"),
        ("XID149.15", "NVLINK_OPERATOR_DOWN"),
        ("149:32", "NVLINK_PEER_DOWN"),
        ("149/3", "NVLINK_LINK_DOWN"),
        ("SXID12028", "NVSWITCH_TRAFFIC_REFUSED"),
        ("xid-79", "XID_79"),
        ("Xid:79", "XID_79"),
        ("Xid: 79", "XID_79"),
        ("SXid: 12028", "NVSWITCH_TRAFFIC_REFUSED"),
    ],
)
def test_a_code_tells_what_is_made_of_it(shipped: RuleSets, word: str, symptom: str) -> None:
    assert any(line.startswith(f"{symptom}  (symptom") for line in page(shipped.catalog, word))


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("9999", "knows no Xid 9999 (see: attribution explain XID001)"),
        ("XID999999", "knows no Xid 999999 (see: attribution explain XID001)"),
        ("x" * 100_000, f"knows no rule, symptom or code `{'x' * 63}…` (see: attribution rules list)"),
        ("\x1b[2J", "knows no rule, symptom or code `\\x1b[2J` (see: attribution rules list)"),
        ("SXID99999", "knows no SXid 99999 (see: attribution explain SXID001)"),
        ("149/63", "knows no sub-code 63 of Xid 149 (see: attribution explain 149)"),
        ("979/3", "knows no sub-codes of Xid 979 (sub-codes are those of Xids 144 to 150, such as 149/4)"),
        ("R905", "knows no error R905 (did you mean `R035`?)"),
        ("gpu_hardwar", "knows no rule, symptom or code `gpu_hardwar` (did you mean `gpu_hardware`?)"),
    ],
)
def test_an_unknown_word_is_told(shipped: RuleSets, word: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        list(page(shipped.catalog, word))


def test_every_error_code_is_explained(root: Path) -> None:
    sources = sorted((root / "src" / "attribution").rglob("*.py"))
    text = "\n".join(path.read_text() for path in sources if path.name != "error_codes.py")
    used = set(re.findall(rf'"([{"".join(FAMILIES)}]\d{{3}})"', text))
    assert used == set(CODES)
    assert list(CODES) == sorted(CODES)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        catalog = toy_rules(Path(name)).catalog
        GOLDEN.mkdir(exist_ok=True)
        for word in WORDS:
            file_of(word).write_text(kept(catalog, word))
