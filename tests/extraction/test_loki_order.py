"""Entries of a log store are ordered by their times: it lists them label set after label set."""

import json
from pathlib import Path
from typing import Any

from attribution.bundle.reader import open_bundle
from attribution.events.event import event_order
from attribution.events.moment import Order
from attribution.extraction.extract import extract
from attribution.extraction.ruleset import RuleSets

_NS = 1_778_000_000_000_000_000
_SECOND = 1_000_000_000


def _stream(secs: int, line: str, **labels: str) -> dict[str, Any]:
    return {"stream": {"node": "node-02", **labels}, "values": [[str(_NS + secs * _SECOND), line]]}


def test_what_a_rank_wrote_first_came_first_wherever_its_labels_stand(tmp_path: Path, shipped: RuleSets) -> None:
    launcher = "[2026-05-05 16:53:28,226] torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: 1) local_rank: 0 (pid: 7) of binary: python"  # noqa: E501
    rank = "node-02:7:8 [0] misc/socket.cc:483 NCCL WARN socketStartConnect: Connect to 10.0.0.1<42875> failed : No route to host"  # noqa: E501
    body = {
        "data": {
            "resultType": "streams",
            "result": [_stream(8, launcher, job="x"), _stream(6, rank, job="x", rank="9")],
        }
    }
    (tmp_path / "applog").mkdir()
    (tmp_path / "applog" / "node-02.json").write_text(json.dumps({"status": "success", **body}))
    with open_bundle(tmp_path) as evidence:
        events = {event.symptom: event for event in extract(evidence, shipped).events}
    route, ended = events["NCCL_NO_ROUTE"], events["PROCESS_EXIT_CODE"]
    assert (route.node, route.rank) == ("node-02", 9)
    assert route.offset > ended.offset and event_order(route, ended) is Order.BEFORE
