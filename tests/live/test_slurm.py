"""The Slurm connector on a real Slurm: what the recorded rows cannot show."""

import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from attribution.blueprint.attempt import Attempt, Query
from attribution.blueprint.connectors.base import ConnectorError
from attribution.blueprint.connectors.context.slurm import SlurmContexts, SlurmSettings
from attribution.contracts.context import ExecutionContext
from attribution.contracts.vocabulary import Status

from lab.laboratory import ENDED
from lab.servers.processes import LabError, wait_for
from lab.servers.slurm import SlurmCluster
from tests.conftest import ROOT

pytestmark = pytest.mark.live
SECS = 120


def connector(cluster: SlurmCluster, **settings: object) -> SlurmContexts:
    return SlurmContexts(SlurmSettings.model_validate({"slurm_conf": cluster.conf, **settings}))


def found(connector: SlurmContexts, query: Query) -> Mapping[tuple[str, int], Attempt]:
    items = list(connector.discover(query))
    assert all(isinstance(item, Attempt) for item in items), items
    return {(a.context.workload_id, a.context.attempt): a for a in items if isinstance(a, Attempt)}


def recorded(cluster: SlurmCluster, job: str, count: int = 1) -> Mapping[tuple[str, int], Attempt]:
    """The attempts of a job once accounting knows how so many of them ended; until then it calls each `allocation`."""
    own = connector(cluster)

    def ended() -> bool:
        contexts = [a.context for a in found(own, Query(job=job)).values()]
        return len(contexts) >= count and all(c.ended_at and c.name != "allocation" for c in contexts)

    assert wait_for(ended, SECS, 0.5), f"job {job} did not end"
    return found(own, Query(job=job))


def test_the_check_tells_the_version(cluster: SlurmCluster) -> None:
    told = connector(cluster).check()
    assert told.startswith("slurm") and told.endswith("and of node events")


def test_a_job_of_odd_name_and_script_is_found_by_id_and_by_time(cluster: SlurmCluster) -> None:
    before = datetime.now(UTC) - timedelta(seconds=5)
    job = cluster.submit("--job-name=a|b TIMEOUT", "--output=/dev/null", "--wrap=echo '\n9|x|TIMEOUT|'\nexit 3")
    attempt = recorded(cluster, job)[(job, 1)]
    context = attempt.context
    assert (context.scheduler_state, context.exit_code, context.name) == ("FAILED", 3, "a|b TIMEOUT")
    assert context.user == "root" and context.cluster == "lab" and len(context.nodes) == 1
    assert context.started_at is not None and before <= context.started_at <= datetime.now(UTC)
    assert found(connector(cluster), Query(start=before))[(job, 1)].context == context
    assert (job, 1) not in found(connector(cluster), Query(end=before))
    assert attempt.evidence[0].body.count(f"\n{job}") == 3, "the job, its batch script and its extern step"
    assert attempt.evidence[1].status is Status.OK


def test_tasks_of_an_array_are_workloads_of_their_own(cluster: SlurmCluster) -> None:
    job = cluster.submit("--array=0-2", "--output=/dev/null", "--wrap=exit $((SLURM_ARRAY_TASK_ID * 4))")
    attempts = recorded(cluster, job, 3)
    assert {key: a.context.exit_code for key, a in attempts.items()} == {
        (f"{job}_0", 1): 0,
        (f"{job}_1", 1): 4,
        (f"{job}_2", 1): 8,
    }
    raw = attempts[(f"{job}_1", 1)].context.scheduler_ids["job"]
    assert raw != job
    assert list(found(connector(cluster), Query(job=raw))) == [(f"{job}_1", 1)]


def test_components_of_a_job_are_one_workload(cluster: SlurmCluster) -> None:
    job = cluster.submit("--ntasks=1", "--output=/dev/null", ":", "--nodes=2", "--wrap=srun --het-group=0,1 false")
    (attempt,) = recorded(cluster, job).values()
    assert attempt.context.workload_id == job and attempt.context.scheduler_state == "FAILED"
    assert len(attempt.context.nodes) == 3 and attempt.context.exit_code == 1


def test_what_was_refused_and_what_never_became_eligible_is_found(cluster: SlurmCluster) -> None:
    before = datetime.now(UTC) - timedelta(seconds=5)
    held = cluster.submit("--hold", "--output=/dev/null", "--wrap=true")
    cluster.run("scancel", held)
    with pytest.raises(LabError, match=r"[Nn]ode configuration is not available|[Mm]emory"):
        cluster.submit("--mem=900G", "--output=/dev/null", "--wrap=true")
    assert recorded(cluster, held)[(held, 1)].context.scheduler_state == "CANCELLED by 0"
    never = found(connector(cluster), Query(start=before))[(held, 1)].context
    assert (never.started_at, never.nodes, never.exit_code) == (None, (), None)

    def of_the_refused() -> list[ExecutionContext]:
        contexts = [a.context for a in found(connector(cluster), Query(start=before)).values()]
        return [context for context in contexts if "900G" in (context.launch_command or "")]

    assert wait_for(lambda: bool(of_the_refused()), SECS, 0.5)
    refused = of_the_refused()
    assert [(c.scheduler_state, c.started_at, c.nodes, c.exit_code) for c in refused] == [("FAILED", None, (), None)]


def test_a_requeued_job_has_an_attempt_for_each_execution(cluster: SlurmCluster) -> None:
    job = cluster.submit("--requeue", "--output=/dev/null", '--wrap=[ -n "$SLURM_RESTART_COUNT" ] || sleep 300')
    cluster.wait_state(job, frozenset({"RUNNING"}), SECS)
    cluster.run("scontrol", "requeue", job)
    cluster.wait_state(job, frozenset({"PENDING"}), SECS)
    time.sleep(3)  # slurmd refuses a credential of the second in which it revoked one
    cluster.run("scontrol", "update", f"jobid={job}", "StartTime=now")
    attempts = recorded(cluster, job, 2)
    assert [a.context.scheduler_state for a in attempts.values()] == ["REQUEUED", "COMPLETED"]
    assert attempts[(job, 2)].context.previous_attempts == ("attempt 1: REQUEUED",)


def test_a_reason_for_a_node_is_evidence_of_the_jobs_it_had(cluster: SlurmCluster) -> None:
    job = cluster.submit("--nodelist=node-02", "--no-requeue", "--output=/dev/null", "--wrap=sleep 300")
    cluster.wait_state(job, frozenset({"RUNNING"}), SECS)
    reason = "xid 79: GPU has fallen off the bus"
    cluster.run("scontrol", "update", "nodename=node-02", "state=down", f"reason={reason}")
    attempt = recorded(cluster, job)[(job, 1)]
    cluster.resume_node("node-02")
    assert attempt.context.scheduler_state == "NODE_FAIL"
    events = found(connector(cluster), Query(job=job))[(job, 1)].evidence[1].body
    assert f"|DOWN|{reason}|root(0)" in events


def test_a_database_that_is_away_is_said(cluster: SlurmCluster, tmp_path: Path) -> None:
    conf = tmp_path / "slurm.conf"
    lines = cluster.conf.read_text().splitlines()
    away = [f"{line.partition('=')[0]}=1" if line.startswith("AccountingStoragePort") else line for line in lines]
    conf.write_text("\n".join(away) + "\n")
    with pytest.raises(ConnectorError, match=r"`sacct` (ended with exit code 1|did not end within)"):
        list(connector(cluster, slurm_conf=conf, timeout_secs=20).discover(Query()))


def test_the_epilog_has_the_job_that_ended_diagnosed(cluster: SlurmCluster, tmp_path: Path) -> None:
    config, log = tmp_path / "blueprint.yaml", tmp_path / "diagnosis.log"
    config.write_text(f"context: {{slurm: {{slurm_conf: {cluster.conf}}}}}\nsinks: {{stdout: {{format: ndjson}}}}\n")
    program = ROOT / ".venv" / "bin" / "attribution"
    hook = cluster.folder / "etc" / "epilog.d" / "attribution"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(
        f"#!/bin/sh\nexport PATH={os.environ['PATH']}:/usr/bin:/bin ATTRIBUTION_COMMAND={program} "
        f"ATTRIBUTION_CONFIG={config} ATTRIBUTION_LOG={log}\nexec {ROOT}/examples/slurm/epilog.sh\n"
    )
    hook.chmod(0o755)
    try:
        job = cluster.submit("--output=/dev/null", "--wrap=exit 7")
        assert wait_for(lambda: log.exists() and f'"workload_id":"{job}"' in log.read_text(), 2 * SECS, 0.5)
    finally:
        hook.unlink()
    assert cluster.state(job) in ENDED, "the epilog holds the job up"
