"""What happened before is counted in attempts, and never counts the attempt itself or another tenant's."""

from datetime import timedelta

from attribution.contracts.diagnosis import Device
from attribution.contracts.vocabulary import Confidence, DeviceKind, SubDomain
from attribution.store.database import Store
from attribution.store.history import SeenWhat, seen_before
from attribution.store.queries import ALL_TENANTS
from attribution.store.results import write_result

from tests.store.results import NOW, cause, result

DAY = 24 * 60
GPU = cause().device


def test_earlier_attempts_are_counted_by_node_device_and_cause(store: Store) -> None:
    other_gpu = Device(kind=DeviceKind.GPU, ids={"pci": "0000:3b:00"})
    for n, (days, causes) in enumerate(
        (
            (0, (cause(),)),
            (1, (cause(), cause("XID_48"))),
            (2, (cause(device=other_gpu),)),
            (3, (cause(node="node-07"),)),
            (9, (cause("XID_48"),)),
            (31, (cause(),)),
        )
    ):
        write_result(store, result(f"job-{n}", -days * DAY, causes), NOW)
    write_result(store, result("theirs", -DAY, (cause(),)), NOW, "other")
    node, device, symptom = seen_before(store, None, "node-02", GPU, "XID_79", NOW)
    assert (node.what, device.what, symptom.what) == (SeenWhat.NODE, SeenWhat.DEVICE, SeenWhat.CAUSE)
    assert node.counts == ((7, 2), (30, 3))
    assert device.counts == ((7, 1), (30, 2))
    assert symptom.counts == ((7, 3), (30, 3))
    assert [row.workload_id for row in node.last] == ["job-1", "job-2", "job-4"]
    assert [row.workload_id for row in device.last] == ["job-1", "job-4"]
    write_result(store, result("elsewhere", -DAY, (cause(),), cluster="alpha"), NOW)
    elsewhere = seen_before(store, None, "node-02", GPU, None, NOW, cluster="alpha")
    assert [item.counts for item in elsewhere] == [((7, 1), (30, 1))] * 2
    assert [item.counts for item in seen_before(store, None, "node-02", GPU, None, NOW)] == [node.counts, device.counts]
    unsure = cause(confidence=Confidence.ONE_OF_SEVERAL)
    write_result(store, result("unsure", -DAY, (unsure,)), NOW)
    write_result(store, result("code", -DAY, (cause("BUG", sub_domain=SubDomain.USER_CODE),)), NOW)
    again = seen_before(store, None, "node-02", GPU, "XID_79", NOW)
    assert [item.counts for item in again[:2]] == [node.counts, ((7, 2), (30, 3))], "the device had part in the code's"
    assert again[2].counts == ((7, 5), (30, 5)) and [item.unsure for item in again] == [0, 0, 1]
    (all_seen,) = seen_before(store, ALL_TENANTS, "node-02", None, None, NOW, days=(7,), shown=1)
    assert all_seen.counts == ((7, 3),) and len(all_seen.last) == 1
    assert seen_before(store, "nobody", "node-02", None, None, NOW)[0].counts == ((7, 0), (30, 0))
    assert seen_before(store, None, None, GPU, None, NOW + timedelta(days=1))[0].counts == ((7, 0), (30, 0))
