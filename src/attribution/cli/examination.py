"""Everything that a run of the Blueprint needs is looked at, and told one line a thing."""

from collections.abc import Sequence

from attribution.blueprint.connectors.registry import Registry
from attribution.blueprint.orchestrator import Parts
from attribution.blueprint.settings import BlueprintSettings
from attribution.cli.checkup import Finding, Health, connector_checks, run_checks, service_checks, store_check
from attribution.cli.watch import store_url
from attribution.presentation.columns import visible

TIMEOUT_SECS = 30.0
"""How long all of it may take, if not said otherwise."""


def examined(
    settings: BlueprintSettings, parts: Parts, registry: Registry, timeout_secs: float = TIMEOUT_SECS
) -> list[Finding]:
    """What is found of the Service, of each connector and of the store, within one time for all of it."""
    store = store_check(store_url(settings), frozenset(parts.sinks))
    return list(run_checks([*service_checks(settings), *connector_checks(parts, registry), store], timeout_secs))


def is_well(findings: Sequence[Finding]) -> bool:
    """Whether nothing is broken."""
    return all(finding.health is not Health.BROKEN for finding in findings)


def tell(findings: Sequence[Finding]) -> None:
    """One line each, and what to do below it."""
    room = max(len(finding.what) for finding in findings)
    for finding in findings:
        print(f"{finding.health.value:<8} {visible(finding.what):<{room}}  {visible(finding.text)}")
        if finding.remedy and finding.health is not Health.OK:
            print(f"{'':<8} {'':<{room}}  -> {visible(finding.remedy)}")
