"""What fails more often than the fleet stands out; what chance explains, or was set aside, does not."""

from datetime import timedelta
from typing import Any

import pytest

from attribution.contracts.context import ExecutionContext, Gpu, Nic, Node
from attribution.contracts.diagnosis import DemotedBy, Device, Symptom
from attribution.contracts.vocabulary import Confidence, DeviceKind, Role, SubDomain, SymptomStatus
from attribution.store.database import Store
from attribution.store.histories import (
    Part,
    Span,
    begin,
    clusters,
    clusters_of_node,
    clusters_of_unit,
    node_history,
    unit_history,
    worst_nodes,
)
from attribution.store.hot_spots import HotSpots, hot_spots
from attribution.store.queries import ALL_TENANTS, NodeRole, Order, PageRequest, ResultFilters, list_in, list_results
from attribution.store.results import write_result
from attribution.store.selection import reading
from attribution.store.units import Pcis, UnitKind, kind_of, units

from tests.store.asking import survey
from tests.store.results import NOW, cause, result

LINK = Device(kind=DeviceKind.NVLINK, ids={"pci": "0000:1b:00", "index": "3", "link": "8"})
PORT = Device(kind=DeviceKind.SWITCH_PORT, ids={"name": "leaf-3", "port": "12"})


def spots(store: Store, tenant: Any = None, span: int = 30) -> HotSpots:
    with reading(store, tenant) as asking:
        return hot_spots(asking, NOW, span)


def standing_out(found: HotSpots) -> set[tuple[str, str]]:
    return {(row.node, row.unit) for row in found.rows if row.stands_out}


def attempts(store: Store, count: int, first: int = 0, tenant: str | None = None, **more: Any) -> None:
    """Attempts of the ten nodes, an hour apart."""
    nodes = tuple(Node(name=f"node-{n:02}") for n in range(10))
    for n in range(first, first + count):
        write_result(store, result(f"job-{n}", -60 * (n % 400), nodes=nodes, **more), NOW, tenant)


def test_a_node_and_its_link_stand_out(store: Store) -> None:
    attempts(store, 13)
    attempts(store, 6, 100, causes=(cause(node="node-04", device=LINK, sub_domain=SubDomain.NVLINK_FABRIC),))
    attempts(store, 1, 200, causes=(cause(node="node-05"),))
    found = spots(store)
    assert standing_out(found) == {("node-04", ""), ("node-04", "gpu 0000:1b:00"), ("node-04", "gpu 0000:1b:00 link 8")}
    node = next(row for row in found.rows if row.kind is UnitKind.NODE and row.node == "node-04")
    assert (node.failures, node.attempts) == (6, 20)
    assert node.expected == pytest.approx(20 * 7 / 200)
    assert node.by_chance < 0.01 and node.last_at is not None
    assert found.fleet.nodes == 10 and found.fleet.node_attempts == 200 and found.fleet.attempts == 20


def test_one_failure_is_no_hot_spot_nor_is_chance(store: Store) -> None:
    attempts(store, 10)
    attempts(store, 1, 100, causes=(cause(node="node-04"),))
    assert spots(store).rows == ()
    for n in range(10):
        attempts(store, 1, 200 + 10 * n, causes=(cause(node=f"node-{n:02}", device=None),))
    assert standing_out(spots(store)) == set()
    attempts(store, 1, 300, causes=(cause(node="node-04", device=None),))
    assert [(row.node, row.failures) for row in spots(store).rows if row.kind is UnitKind.NODE] == [("node-04", 3)]


def test_a_part_counts_once_for_each_attempt(store: Store) -> None:
    fabric = {"node": "node-04", "device": LINK, "sub_domain": SubDomain.NVLINK_FABRIC}
    attempts(store, 4, causes=(cause("XID_79", **fabric), cause("XID_48", **fabric)))
    attempts(store, 2, 100, causes=(cause("XID_48", "node-05", device=LINK),))
    found = spots(store)
    assert {(row.node, row.unit, row.failures) for row in found.rows} == {
        ("node-04", unit, 4) for unit in ("", "gpu 0000:1b:00", "gpu 0000:1b:00 link 8")
    }
    assert {row.last_at for row in found.rows} == {NOW}
    assert found.fleet.failures == {UnitKind.NODE: 6, UnitKind.GPU: 6, UnitKind.LINK: 6}


@pytest.mark.parametrize(
    "innocent",
    [
        {"causes": (cause(node="node-04", sub_domain=SubDomain.USER_CODE),)},
        {"causes": (cause(node="node-04", confidence=Confidence.ONE_OF_SEVERAL),)},
        {
            "diagnosis": {
                "interesting_nodes": ("node-04",),
                "symptoms": (
                    Symptom(
                        symptom="XID_79",
                        role=Role.CAUSE,
                        node="node-04",
                        device=LINK,
                        status=SymptomStatus.DEMOTED,
                        demoted_by=DemotedBy(rule="R1", reason="another explains it"),
                        count=9,
                    ),
                ),
            }
        },
    ],
    ids=["the job's code", "one of several", "set aside"],
)
def test_nothing_else_counts_against_a_unit(store: Store, innocent: dict[str, Any]) -> None:
    attempts(store, 8)
    attempts(store, 5, 100, **innocent)
    found = spots(store)
    assert found.rows == () and found.fleet.failures.get(UnitKind.GPU, 0) == 0


def test_a_port_of_a_switch_is_compared_with_its_like(store: Store) -> None:
    network = {"sub_domain": SubDomain.NETWORK_FABRIC}
    attempts(store, 9, causes=(cause(node="node-01", device=PORT, **network),))
    for n in range(6):
        other = Device(kind=DeviceKind.SWITCH_PORT, ids={"name": "leaf-3", "port": str(20 + n)})
        attempts(store, 1, 100 + n, causes=(cause(node="node-02", device=other, **network),))
    found = spots(store)
    port = next(row for row in found.rows if row.kind is UnitKind.SWITCH_PORT)
    assert (port.node, port.unit, port.failures, port.attempts) == ("", "switch leaf-3 port 12", 9, None)
    assert port.expected == pytest.approx(15 / 7) and port.stands_out


def test_days_and_tenants_bound_what_is_seen(store: Store) -> None:
    attempts(store, 12)
    bad = {"causes": (cause(node="node-04"),)}
    attempts(store, 6, 400, **bad)
    attempts(store, 6, 100, "red", **bad)
    old = [result(f"old-{n}", -40 * 24 * 60 - n, **bad) for n in range(3)]
    for item in old:
        write_result(store, item, NOW)
    assert next(row.failures for row in spots(store).rows if row.kind is UnitKind.NODE) == 6
    assert next(row.failures for row in spots(store, None, 90).rows if row.kind is UnitKind.NODE) == 9
    assert spots(store, "red").fleet.attempts == 6 and spots(store, "nobody").fleet.nodes == 0
    assert next(row.failures for row in spots(store, ALL_TENANTS).rows if row.kind is UnitKind.NODE) == 12
    assert spots(store, "nobody").rows == ()


def test_histories_tell_what_a_node_and_its_parts_were(store: Store) -> None:
    aside = Symptom(
        symptom="NCCL_TIMEOUT", role=Role.EFFECT, node="node-04", device=LINK, status=SymptomStatus.DEMOTED, count=2
    )
    attempts(store, 3)
    attempts(store, 2, 30, causes=(cause(node="node-04", device=LINK), cause("XID_48", "node-04", device=LINK)))
    attempts(
        store,
        1,
        50,
        causes=(cause(node="node-05"),),
        diagnosis={"symptoms": (aside,), "interesting_nodes": ("node-04",)},
    )
    attempts(store, 4, 60, "red", causes=(cause(node="node-04", device=LINK),))
    since = begin(NOW, 30)
    with reading(store, None) as asking:
        found = node_history(asking, "node-04", Span("", since))
        link = unit_history(asking, "node-04", "gpu 0000:1b:00 link 8", Span("", since), most=2)
        lines, count = worst_nodes(asking, since)
        searched, _ = worst_nodes(asking, since, "DE-05")
        assert worst_nodes(asking, since, "%\0_")[0] == ()
        assert unit_history(asking, "node-04", "gpu %", Span("", since)).entries == ()
    assert found.roles == {"allocated": 6, "affected": 2, "interesting": 1, "excluded": 0, "attempts": 6}
    assert sum(day.attempts for day in found.days) == 6 and sum(day.causes for day in found.days) == 2
    assert [(item.symptom, item.causes, item.findings, item.aside) for item in found.findings] == [
        ("XID_48", 2, 0, 0),
        ("XID_79", 2, 0, 0),
        ("NCCL_TIMEOUT", 0, 0, 1),
    ]
    assert [(item.unit, item.causes, item.findings) for item in found.units] == [
        ("gpu 0000:1b:00", 2, 1),
        ("gpu 0000:1b:00 link 8", 2, 1),
    ]
    assert link.parts == {Part.CAUSE: 2, Part.CANDIDATE: 0, Part.FINDING: 0, Part.ASIDE: 1}
    assert [(entry.part, entry.symptoms) for entry in link.entries] == [(Part.CAUSE, ("XID_79", "XID_48"))] * 2
    assert link.more
    assert [(line.node, line.attempts, line.affected, line.blamed) for line in lines] == [
        ("node-04", 6, 2, 2),
        ("node-05", 6, 1, 1),
    ]
    assert count == 2 and [line.node for line in searched] == ["node-05"]
    with reading(store, "nobody") as asking:
        assert node_history(asking, "node-04", Span("", since)).days == () and worst_nodes(asking, since) == ((), 0)
        assert unit_history(asking, "node-04", "gpu 0000:1b:00 link 8", Span("", since)).entries == ()
    with reading(store, ALL_TENANTS) as asking:
        assert node_history(asking, "node-04", Span("", NOW - timedelta(days=99))).roles["affected"] == 6


def test_nodes_of_one_name_in_several_clusters_are_told_apart(store: Store) -> None:
    bad = {"causes": (cause(node="node-04", device=LINK, sub_domain=SubDomain.NVLINK_FABRIC),)}
    attempts(store, 4, cluster="alpha", **bad)
    attempts(store, 2, 100, cluster="beta", **bad)
    attempts(store, 1, 200, **bad)
    attempts(store, 1, 300, "red", cluster="red's", **bad)
    link, since = "gpu 0000:1b:00 link 8", begin(NOW, 30)
    with reading(store, None) as asking:
        assert clusters(asking) == ("", "alpha", "beta")
        assert list(clusters_of_node(asking, "node-04")) == list(clusters_of_unit(asking, "node-04", link))
        newest = clusters_of_node(asking, "node-04")
        assert max(newest, key=lambda cluster: newest[cluster]) == "alpha" and set(newest) == {"", "alpha", "beta"}
        for cluster, number in (("alpha", 4), ("beta", 2), ("", 1), ("red's", 0)):
            span = Span(cluster, since)
            found = node_history(asking, "node-04", span)
            assert (found.roles["affected"], sum(day.causes for day in found.days)) == (number, number)
            assert [line.causes for line in found.findings] == [number] * bool(number)
            assert [line.causes for line in found.units] == [number, number] * bool(number)
            assert unit_history(asking, "node-04", link, span).parts[Part.CAUSE] == number
            lines, count = worst_nodes(asking, since, cluster=cluster)
            assert [(line.cluster, line.affected, line.attempts) for line in lines] == [
                (cluster, number, number)
            ] * bool(number)
            rows = list_in(asking, ResultFilters(node="node-04", node_cluster=cluster), Order.NEWEST, PageRequest())
            assert len(rows.rows) == number
        lines, count = worst_nodes(asking, since, "04")
        assert count == 3 and [(line.cluster, line.affected) for line in lines] == [("alpha", 4), ("beta", 2), ("", 1)]
        found = hot_spots(asking, NOW)
        assert {(row.cluster, row.failures) for row in found.rows} == {("alpha", 4)}
        assert (found.fleet.nodes, found.fleet.attempts, found.fleet.units[UnitKind.LINK]) == (30, 7, 30)
        assert hot_spots(asking, NOW, cluster="beta").rows == () and hot_spots(asking, NOW, cluster="beta").fleet.nodes
        assert hot_spots(asking, NOW, cluster="beta").fleet.node_attempts == 20


def test_the_last_failure_of_a_node_is_the_last_that_counts(store: Store) -> None:
    attempts(store, 10)
    for n in range(3):
        write_result(store, result(f"bad-{n}", -60 * (n + 9), (cause(node="node-01"),)), NOW)
    write_result(store, result("late", -1, (cause("OOM", "node-01", sub_domain=SubDomain.USER_CODE),)), NOW)
    unsure = cause("XID_48", "node-01", confidence=Confidence.ONE_OF_SEVERAL)
    write_result(store, result("later", 0, (unsure,)), NOW)
    for more in ({}, {"user": "ada"}, {"cause": "XID_79"}, {"workload_id": "bad-1"}):
        filters = ResultFilters(node="node-01", node_role=NodeRole.BLAMED, **more)
        listed = [row.workload_id for row in list_results(store, None, filters).rows]
        assert listed == ([] if "user" in more else ["bad-1"] if "workload_id" in more else ["bad-0", "bad-1", "bad-2"])
        assert survey(store, None, filters).total == len(listed)
    node, gpu = spots(store).rows
    assert node.kind is not gpu.kind and node.last_at == gpu.last_at == NOW - timedelta(hours=9)


@pytest.mark.parametrize(
    ("kind", "ids", "names"),
    [
        ("gpu", {"pci": "0000:1b:00", "uuid": "GPU-1", "index": "0"}, ("gpu 0000:1b:00",)),
        ("gpu", {"uuid": "GPU-1"}, ("gpu 0000:3b:00",)),
        ("gpu", {"uuid": "GPU-9"}, ("gpu GPU-9",)),
        ("gpu", {"index": "7"}, ("gpu 7",)),
        ("nvlink", {"link": "8"}, ("nvlink link 8",)),
        ("nic", {"name": "mlx5_0", "port": "1"}, ("nic mlx5_0", "nic mlx5_0 port 1")),
        ("nic", {"name": "mlx5_2", "port": "1"}, ("nic 0000:5c:00", "nic 0000:5c:00 port 1")),
        ("nic", {"name": "ens3"}, ("nic 0000:5c:00",)),
        ("nic", {"pci": "0000:5c:00"}, ("nic 0000:5c:00",)),
        ("nic", {"name": "mlx5_5"}, ("nic mlx5_5",)),
        ("switch_port", {"name": "leaf-3", "port": "12"}, ("switch leaf-3", "switch leaf-3 port 12")),
        ("gpu", {}, ()),
    ],
)
def test_a_unit_has_one_name(kind: str, ids: dict[str, str], names: tuple[str, ...]) -> None:
    cards = [("mlx5_2", "ens3", "0000:5c:00.0"), ("mlx5_4", None, "0000:5d:00.0"), ("mlx5_5", None, "0000:5d:00.1")]
    nics = tuple(Nic(name=name, netdev=netdev, pci=pci) for name, netdev, pci in cards)
    node = Node(name="node-01", gpus=(Gpu(index=0, uuid="GPU-1", pci="0000:3b:00"),), nics=(*nics, Nic(name="mlx5_9")))
    pcis = Pcis(ExecutionContext(workload_id="job-1", nodes=(node,)))
    assert units(Device(kind=DeviceKind(kind), ids=ids), "node-01", pcis) == names
    assert all(kind_of(name) is not UnitKind.NODE for name in names)
