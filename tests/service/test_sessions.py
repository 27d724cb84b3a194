"""A session is opened, filled, asked and ended; every answer is over everything accepted before."""

from attribution.service.attributing import Memory

from tests.service.helpers import CONTEXT, XID_79, Desk, problem, serving, syslog


def test_the_same_attempt_has_one_session_and_the_context_is_replaced(desk: Desk) -> None:
    running = {**CONTEXT, "scheduler_state": "RUNNING", "ended_at": None}
    first = desk.open(running)
    desk.submit(first, syslog(0))
    assert desk.attribution(first)["diagnosis"]["terminal_state"] == "running"
    assert desk.open(CONTEXT) == first
    assert desk.attribution(first)["diagnosis"]["terminal_state"] != "running"


def test_attempt_cluster_workload_and_tenant_each_make_a_session_of_their_own(desk: Desk) -> None:
    changes = [{}, {"attempt": 2}, {"cluster": "other"}, {"workload_id": "job-8"}, {"tenant": "team-a"}]
    assert len({desk.open({**CONTEXT, **change}) for change in changes}) == len(changes)
    for change in changes:
        session = desk.open({**CONTEXT, **change})
        assert desk.http.get(f"/v2/attributors/{session}").status_code == 200


def test_an_answer_names_the_session_its_end_and_the_catalog(desk: Desk) -> None:
    answer = desk.http.post("/v2/attributors", json=CONTEXT).json()
    assert answer["expires_at"] == "2026-05-05T04:00:00Z"
    assert answer["catalog"]["digest"] == desk.service.rulebook.rules.identity.digest


def test_a_batch_is_idempotent_and_tells_what_became_of_each(desk: Desk) -> None:
    session = desk.open()
    first = desk.submit(session, syslog(0), syslog(0))
    assert [item["outcome"] for item in first["observations"]] == ["accepted", "duplicate"]
    conflict = syslog(9)
    again = desk.submit(session, syslog(0), conflict)
    assert [item["outcome"] for item in again["observations"]] == ["duplicate", "rejected"]
    assert again["observations"][1]["reason"].startswith("conflict: bytes 0 to ")
    assert (again["accepted"], again["duplicate"], again["rejected"]) == (0, 1, 1)
    assert desk.metric("attribution_observations_total", outcome="rejected") == 1
    assert desk.metric("attribution_observations_total", outcome="duplicate") == 2


def test_one_bad_observation_is_rejected_and_the_others_are_kept(desk: Desk) -> None:
    session = desk.open()
    zone = {**syslog(0), "offset": 10**30, "clock": {"zone": "Mars/Base"}}
    bad = [{"source": "nowhere"}, {"source": "syslog", "rank": -1, "bodi": ""}, "text", zone]
    answer = desk.submit(session, bad[0], syslog(0), *bad[1:])  # type: ignore[arg-type]
    assert [item["index"] for item in answer["observations"]] == [0, 1, 2, 3, 4]
    assert [item["outcome"] for item in answer["observations"]] == ["rejected", "accepted", *["rejected"] * 3]
    reasons = [item["reason"] for item in answer["observations"]]
    assert reasons[0].startswith("invalid: /source: `nowhere` is not a known value (one of: `applog`")
    assert "/rank: " in reasons[2] and "/bodi: `bodi` is not a known key (did you mean `body`?)" in reasons[2]
    assert reasons[3] == "invalid: should be an object, not a text"
    assert reasons[4].startswith("invalid: /clock/zone: `Mars/Base` is no time zone that this machine knows (give ")
    assert reasons[4].endswith("; /offset: is over 9007199254740991")


def test_the_revision_grows_only_when_the_diagnosis_changes(desk: Desk) -> None:
    session = desk.open()
    assert [desk.attribution(session)["revision"] for _ in range(2)] == [1, 1]
    desk.submit(session, syslog(0))
    changed = desk.attribution(session)
    assert changed["revision"] == 2
    assert changed["diagnosis"]["sub_domain"] == "gpu_hardware"
    desk.submit(session, syslog(0))
    assert desk.attribution(session)["revision"] == 2


def test_an_etag_spares_an_unchanged_answer(desk: Desk) -> None:
    session = desk.open()
    path = f"/v2/attributors/{session}/attribution"
    etag = desk.http.get(path).headers["etag"]
    for named in (etag, f'"other", W/{etag}', "*"):
        same = desk.http.get(path, headers={"if-none-match": named})
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", etag)
    desk.submit(session, syslog(0))
    changed = desk.http.get(path, headers={"if-none-match": etag})
    assert changed.status_code == 200
    assert changed.headers["etag"] != etag


def test_an_unchanged_session_is_diagnosed_once(desk: Desk) -> None:
    session = desk.open()
    for _ in range(3):
        desk.attribution(session)
    assert desk.metric("attribution_attribution_seconds_count") == 1
    assert desk.metric("attribution_attributions_cached_total") == 2


def test_the_state_tells_counts_and_coverage(desk: Desk) -> None:
    session = desk.open()
    desk.submit(session, syslog(0), {"source": "bmc", "node": "node-01", "status": "error", "reason": "no answer"})
    state = desk.http.get(f"/v2/attributors/{session}").json()
    assert (state["observations"], state["bytes"]) == (2, len(syslog(0)["body"]))
    assert [(line["source"], line["status"], line["reason"]) for line in state["coverage"]] == [
        ("bmc", "error", "no answer"),
        ("syslog", "ok", None),
    ]


def test_what_has_ended_is_gone(desk: Desk) -> None:
    session = desk.open()
    path = f"/v2/attributors/{session}"
    assert desk.http.delete(path).status_code == 204
    for answer in (
        desk.http.get(path),
        desk.http.delete(path),
        desk.http.get(f"{path}/attribution"),
        desk.http.post(f"{path}/observations", json={"observations": []}),
    ):
        problem(answer, 404, "unknown-attributor")
    assert desk.open() != session


def test_a_call_renews_a_session_and_idleness_ends_it(shipped, tmp_path) -> None:
    with serving(shipped, tmp_path, {"idle_secs": 3600}) as desk:
        session = desk.open()
        for _ in range(3):
            desk.clock.later(minutes=50)
            assert desk.http.get(f"/v2/attributors/{session}/attribution").status_code == 200
        desk.clock.later(minutes=61)
        problem(desk.http.get(f"/v2/attributors/{session}"), 404, "unknown-attributor")


def test_sessions_survive_the_service(shipped, tmp_path) -> None:
    with serving(shipped, tmp_path) as before:
        session = before.open()
        before.submit(session, syslog(0))
        first = before.http.get(f"/v2/attributors/{session}/attribution")
    with serving(shipped, tmp_path) as after:
        again = after.http.get(f"/v2/attributors/{session}/attribution")
    assert again.content == first.content
    assert again.headers["etag"] == first.headers["etag"]


def test_evidence_is_not_logged(desk: Desk, capsys, caplog) -> None:
    session = desk.open()
    desk.submit(session, syslog(0), {"source": XID_79})
    desk.attribution(session)
    shown = capsys.readouterr()
    assert "Xid" not in shown.out + shown.err + caplog.text
    assert "/v2/attributors/{attributor_id}/attribution" in shown.out + shown.err + caplog.text


def test_the_memory_is_bounded_and_keeps_one_answer_a_session() -> None:
    class Answer:
        body = b"x" * 10

    memory = Memory(25)
    for number in range(5):
        memory.put((f"s{number}", "m", "c"), Answer())  # type: ignore[arg-type]
    assert len(memory) == 2 and memory.get(("s4", "m", "c")) and not memory.get(("s2", "m", "c"))
    memory.put(("s4", "n", "c"), Answer())  # type: ignore[arg-type]
    assert not memory.get(("s4", "m", "c")) and memory.get(("s3", "m", "c"))
