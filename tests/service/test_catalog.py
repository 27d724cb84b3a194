"""The catalog is verified before it is used, and replaced only by one that is verified too."""

from pathlib import Path

import pytest

from attribution.cli.catalog import load_rules
from attribution.contracts.errors import ConfigurationError, Problem
from attribution.diagnosis.verify import verify
from attribution.extraction.ruleset import RuleSets
from attribution.rules.loader import load_catalog
from attribution.rules.model import Extractor

from tests.service.helpers import Desk, problem, serving, syslog

RULE = """
id: TST900
name: toy-quota-used
status: preview
since: 0.1.0
summary: The toy's quota is used up.
why: A retry fails the same way.
misses: Other toys.
next_step: Ask for a larger quota.
printed_by: {program: toy, versions: '>=1', source: toy.c}
extract:
  from: [applog]
  literals: ['toy quota exceeded']
  pattern: '^toy quota exceeded'
emit: {symptom: TOY_QUOTA}
symptom:
  role: cause
  meaning: a full quota of the toy
  sub_domain: resource_limit
  actions: [raise_limit]
  ends_job: 'yes'
  terminal_state: failed
cases:
  - name: the quota is used up
    given: |
      node-01 +0.0s applog | toy quota exceeded
    expect: |
      node-01 +0.0s TOY_QUOTA
  - name: the toy tells its configuration
    because: the words are there, nothing was refused
    given: |
      node-01 +0.0s applog | will stop when toy quota exceeded
    expect: none
"""
FAILING = RULE.replace("node-01 +0.0s TOY_QUOTA\n", "node-02 +0.0s TOY_QUOTA\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "rules"
    found.mkdir()
    (found / "toy.yaml").write_text(RULE)
    return found


def rules_of(folder: Path) -> RuleSets:
    return RuleSets(load_catalog([folder]))


def test_a_case_that_fails_stops_the_start(folder: Path, tmp_path: Path) -> None:
    (folder / "toy.yaml").write_text(FAILING)
    with (
        pytest.raises(ConfigurationError) as error,
        serving(lambda: rules_of(folder), tmp_path, verify_rules=verify),
    ):
        pass
    assert "R035 has a case `the quota is used up` of TST900 that does not hold:" in str(error.value)


def test_rules_that_cannot_be_loaded_stop_the_start(folder: Path, tmp_path: Path) -> None:
    (folder / "toy.yaml").write_text(RULE.replace("id: TST900", "id: toy"))
    with pytest.raises(ConfigurationError, match=r"toy\.yaml:2:1"), serving(lambda: rules_of(folder), tmp_path):
        pass


async def reload(desk: Desk) -> None:
    await desk.service.reload()


def test_a_reload_takes_a_better_catalog_and_refuses_a_worse_one(folder: Path, tmp_path: Path) -> None:
    with serving(lambda: rules_of(folder), tmp_path, verify_rules=verify) as desk:
        portal = desk.http._transport._portal  # type: ignore[attr-defined]
        session = desk.open()
        toy = {"source": "applog", "node": "node-01", "body": "toy quota exceeded\n"}
        desk.submit(session, toy)
        first = desk.attribution(session)
        assert first["diagnosis"]["causes"][0]["meaning"] == "a full quota of the toy"
        before = desk.http.get("/v2/catalog").json()
        assert (before["reloads"], before["last_reload"], before["cases"]) == (0, None, 2)

        for text, code in ((FAILING, "R035"), (RULE + "x: 1\n", "D011"), (RULE.replace("'^toy", "'(^toy"), "R004")):
            (folder / "toy.yaml").write_text(text)
            portal.call(reload, desk)
            after = desk.http.get("/v2/catalog").json()
            assert after["last_reload"]["ok"] is False
            assert after["last_reload"]["problems"][0]["code"] == code
            assert after["catalog"] == before["catalog"]
            assert desk.attribution(session) == first
        assert desk.metric("attribution_catalog_reloads_total", outcome="failed") == 3

        (folder / "toy.yaml").write_text(RULE.replace("a full quota of the toy", "no room in the toy"))
        portal.call(reload, desk)
        after = desk.http.get("/v2/catalog").json()
        assert (after["reloads"], after["last_reload"]["ok"]) == (4, True)
        assert after["catalog"]["digest"] != before["catalog"]["digest"]
        again = desk.attribution(session)
        assert again["revision"] == 2
        assert again["diagnosis"]["causes"][0]["meaning"] == "no room in the toy"
        assert again["diagnosis"]["catalog"] == after["catalog"]
        digest = after["catalog"]["digest"]
        assert desk.metric("attribution_catalog_info", version=after["catalog"]["version"], digest=digest) == 1
        assert desk.metric("attribution_catalog_reloads_total", outcome="ok") == 1


def test_rules_that_raise_while_they_are_loaded_are_refused(folder: Path, tmp_path: Path) -> None:
    loads = iter([rules_of(folder)])

    def load() -> RuleSets:
        found = next(loads, None)
        if found is None:
            raise RuntimeError("a rule's own code")
        return found

    with serving(load, tmp_path) as desk:
        desk.http._transport._portal.call(reload, desk)  # type: ignore[attr-defined]
        told = desk.http.get("/v2/catalog").json()["last_reload"]
        assert (told["ok"], told["problems"][0]["code"]) == (False, "V005")
        assert desk.open()


def test_tokens_are_reloaded_with_the_rules(folder: Path, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("first-token-00001 a\n")
    with serving(lambda: rules_of(folder), tmp_path, {"tokens_file": tokens}) as desk:
        portal = desk.http._transport._portal  # type: ignore[attr-defined]

        def status(token: str) -> int:
            return desk.http.get("/v2/catalog", headers={"authorization": f"Bearer {token}"}).status_code

        tokens.write_text("broken\n")
        portal.call(reload, desk)
        assert status("first-token-00001") == 200
        tokens.write_text("second-token-0001 a\n")
        portal.call(reload, desk)
        assert (status("first-token-00001"), status("second-token-0001")) == (401, 200)


def test_the_catalog_is_told(desk: Desk) -> None:
    snapshot = desk.http.get("/v2/catalog/snapshot").json()
    catalog = desk.service.rulebook.rules.sets.catalog
    assert snapshot["catalog"] == {"version": catalog.version, "digest": catalog.digest}
    assert [rule["id"] for rule in snapshot["rules"]] == [rule.info.id for rule in catalog.rules]
    assert desk.http.get("/v2/catalog").json()["rules"] == snapshot["rules"]
    assert desk.http.get("/v2/catalog/symptoms").json()["symptoms"] == snapshot["symptoms"]
    rule = desk.http.get("/v2/catalog/rules/xid001").json()
    assert rule in snapshot["rules"] and rule["id"] == "XID001"
    assert desk.http.get(f"/v2/catalog/rules/{rule['name']}").json() == rule
    problem(desk.http.get("/v2/catalog/rules/NOPE"), 404, "not-found")


def test_the_plan_tells_what_the_catalog_can_use(desk: Desk) -> None:
    plan = desk.http.get("/v2/collection-plan").json()
    sources = {source["source"]: source for source in plan["sources"]}
    catalog = desk.service.rulebook.rules.sets.catalog
    xid = catalog.rule("XID001")
    assert isinstance(xid, Extractor) and set(xid.literals) <= set(sources["syslog"]["literals"])
    assert "DCGM_FI_DEV_XID_ERRORS" in sources["node_metrics"]["metrics"]
    assert plan["catalog_digest"] == desk.service.rulebook.rules.identity.digest


def test_that_all_cases_hold_is_remembered_and_a_failure_is_not(folder: Path, tmp_path: Path, monkeypatch) -> None:
    from attribution.cli import catalog

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    asked: list[str] = []

    def counting(rules: RuleSets) -> tuple[Problem, ...]:
        asked.append(rules.catalog.digest)
        return verify(rules)

    monkeypatch.setattr(catalog, "verify", counting)
    assert catalog.verified(rules_of(folder)) == catalog.verified(rules_of(folder)) == ()
    assert len(asked) == 1
    (folder / "toy.yaml").write_text(FAILING)
    failed = catalog.verified(rules_of(folder))
    assert len(failed) == 1 and len(asked) >= 2
    assert [str(failure) for failure in catalog.verified(rules_of(folder))] == [str(failure) for failure in failed]


def test_an_operators_rules_are_used_beside_the_shipped_ones(folder: Path, tmp_path: Path) -> None:
    with serving(lambda: load_rules([folder]), tmp_path) as desk:
        session = desk.open()
        desk.submit(session, {"source": "applog", "node": "node-01", "body": "toy quota exceeded\n"})
        assert desk.attribution(session)["diagnosis"]["sub_domain"] == "resource_limit"
        desk.submit(session, syslog(0))
