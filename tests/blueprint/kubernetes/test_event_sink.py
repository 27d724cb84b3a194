"""An Event on the job: about the right object, harmless, bounded, and once for each thing that is said."""

from contextlib import closing
from typing import Any

import pytest

from attribution.blueprint.connectors.base import ConnectorError, SinkBusy, SinkRefused
from attribution.blueprint.connectors.sinks.kubernetes_event import KubernetesEvent, KubernetesEventSettings
from attribution.contracts.result import AttributionBlueprintResult
from attribution.contracts.vocabulary import TerminalState
from attribution.testing import Reply

from tests.blueprint.kubernetes.double import BOTH_WAYS, Reached, status
from tests.blueprint.kubernetes.things import SPACE, uid
from tests.blueprint.results import SNAPSHOT, result

IDS = {"namespace": SPACE, "kind": "Job", "api_version": "batch/v1", "name": "train", "uid": uid(1)}


def of_job(**changes: Any) -> AttributionBlueprintResult:
    found = result("w", scheduler="kueue", scheduler_ids=IDS)
    diagnosis = found.diagnosis.model_copy(update=changes)
    return found.model_copy(update={"diagnosis": diagnosis, "terminal_state": diagnosis.terminal_state})


def sink(reached: Reached, **changes: Any) -> KubernetesEvent:
    return KubernetesEvent(KubernetesEventSettings(**reached.settings, **changes))


def write(reached: Reached, found: AttributionBlueprintResult, **changes: Any) -> None:
    with closing(sink(reached, **changes)) as own:
        own.write(found, lambda: SNAPSHOT)


@BOTH_WAYS
def test_an_event_about_the_job(reached: Reached) -> None:
    write(reached, of_job(), dashboard_url="https://pages.example/")
    (event,) = reached.cluster.created
    assert event["involvedObject"] == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "train",
        "namespace": SPACE,
        "uid": uid(1),
    }
    assert (event["type"], event["reason"]) == ("Warning", "AttributionDiagnosis")
    assert event["metadata"]["namespace"] == SPACE and event["metadata"]["name"].startswith("train.")
    assert event["message"].startswith("attempt 1 failed: ") and "No cause is in the evidence." in event["message"]
    assert " | https://pages.example/attempts/" in event["message"]


@BOTH_WAYS
def test_what_was_inferred_or_is_missing_is_said(reached: Reached) -> None:
    write(reached, of_job(inferred=("nodes",), partial="2 pods were gone before they were seen"))
    text = reached.cluster.created[0]["message"]
    assert "| inferred: nodes" in text and "| partial: 2 pods were gone before they were seen" in text


@BOTH_WAYS
def test_the_same_result_adds_no_event_and_another_one_does(reached: Reached) -> None:
    write(reached, of_job())
    write(reached, of_job())
    assert len(reached.cluster.created) == 1
    write(reached, of_job(summary="A cause was found."))
    assert len(reached.cluster.created) == 2


def test_a_good_end_is_no_warning(reached: Reached) -> None:
    write(reached, of_job(terminal_state=TerminalState.COMPLETED))
    assert reached.cluster.created[0]["type"] == "Normal"


def test_hostile_text_is_bounded_and_has_no_control_characters(reached: Reached) -> None:
    write(reached, of_job(summary="\x1b[31m\u202eevil\x00\n" + "ü" * 5000), dashboard_url="https://pages.example/")
    text = reached.cluster.created[0]["message"]
    assert len(text.encode()) <= 1024 and text.isprintable() and "evil" in text
    assert "https://pages.example/attempts/" in text


def test_results_of_other_schedulers_are_none_of_its_business(reached: Reached) -> None:
    other = result("job-7", scheduler="slurm", scheduler_ids={"job": "7"})
    assert not sink(reached).wants(other) and sink(reached).wants(of_job())
    assert not sink(reached, only_terminal_states=("timed_out",)).wants(of_job())
    write(reached, other)
    assert reached.cluster.created == []


@BOTH_WAYS
def test_a_missing_right_is_told_with_its_remedy(reached: Reached) -> None:
    with closing(sink(reached)) as own:
        assert own.check().startswith("may write events through")
        reached.cluster.denied = {"create events"}
        with pytest.raises(ConnectorError, match=r"may not create events in all namespaces \(bind a role"):
            own.check()
        with pytest.raises(ConnectorError, match="grant that right"):
            own.write(of_job(), lambda: SNAPSHOT)


@BOTH_WAYS
def test_a_server_that_is_busy_is_asked_again_later_and_one_that_refuses_is_not(reached: Reached) -> None:
    reached.server.handler = lambda request: status(429, "TooManyRequests", "slow down")
    with pytest.raises(SinkBusy, match="slow down"):
        write(reached, of_job())
    reached.server.handler = lambda request: status(422, "Invalid", "Event is invalid")
    with pytest.raises(SinkRefused, match="Event is invalid"):
        write(reached, of_job())


@BOTH_WAYS
def test_a_token_that_the_cluster_does_not_know(reached: Reached) -> None:
    reached.server.handler = lambda request: Reply(401, '{"kind": "Status", "reason": "Unauthorized", "message": "no"}')
    with pytest.raises(ConnectorError, match="give credentials that the cluster knows"):
        write(reached, of_job())
