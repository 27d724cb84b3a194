"""Series are read from whatever a Prometheus answers, and are the same however they were cut."""

import json
import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attribution.events.event import Sample
from attribution.extraction.series import Series, host_of, merge, read_series, refusal

T = 1_796_025_590
GPU3 = {
    "__name__": "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
    "Hostname": "gpu02",
    "UUID": "GPU-13000000-0000-4000-8000-000000000003",
    "device": "nvidia3",
    "gpu": "3",
    "instance": "gpu02:9400",
    "job": "dcgm",
    "modelName": "NVIDIA H100 80GB HBM3",
    "pci_bus_id": "00000000:1A:00.0",
}


def _answer(result: list[object], kind: str = "matrix") -> dict[str, object]:
    return {"status": "success", "data": {"resultType": kind, "result": result}}


def _bytes(document: object) -> bytes:
    return json.dumps(document).encode()


def _values(*pairs: tuple[float, str]) -> dict[str, object]:
    return {"metric": GPU3, "values": [list(pair) for pair in pairs]}


def test_a_matrix_is_read() -> None:
    (series,), unreadable = read_series(_bytes(_answer([_values((T, "0"), (T + 60, "2"))])))
    assert unreadable == 0
    assert series.name == "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"
    assert series.get("pci_bus_id") == "00000000:1A:00.0"
    assert series.get("__name__") is None
    assert series.labels == tuple(sorted(series.labels))
    assert series.samples == (Sample(T * 1_000_000, 0.0), Sample((T + 60) * 1_000_000, 2.0))


def test_a_vector_is_read_with_its_milliseconds() -> None:
    item = {"metric": {"__name__": "up", "instance": "127.0.0.1:17501", "job": "dcgm"}, "value": [T + 0.112, "1"]}
    (series,), _ = read_series(_bytes(_answer([item], "vector")))
    assert series.samples == (Sample(T * 1_000_000 + 112_000, 1.0),)


def test_a_query_may_have_taken_the_name_away() -> None:
    item = {"metric": {"Hostname": "gpu02", "gpu": "3"}, "value": [T, "1830"]}
    (series,), unreadable = read_series(_bytes(_answer([item], "vector")))
    assert (series.name, unreadable) == ("", 0)


def test_data_result_item_and_a_list_of_answers_are_read_alike() -> None:
    answer = _answer([_values((T, "1"), (T + 60, "2"))])
    data = answer["data"]
    assert isinstance(data, dict)
    forms = [answer, data, data["result"], data["result"][0], [answer, answer]]
    assert len({read_series(_bytes(form)) for form in forms}) == 1


def test_answers_one_a_line_are_joined() -> None:
    lines = [_answer([_values((T + 60, "2"))]), _answer([_values((T, "1"))]), {"status": "error", "error": "no"}]
    (series,), unreadable = read_series(b"\n".join(_bytes(line) for line in lines) + b"\n")
    assert unreadable == 0
    assert [sample.value for sample in series.samples] == [1.0, 2.0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NaN", None), ("nan", None), ("StaleNaN", None), ("stale", None), (None, None),
        ("+Inf", math.inf), ("-Inf", -math.inf), ("1e3", 1000.0), ("0.5", 0.5), (7, 7.0), ("-0", 0.0),
    ],
)  # fmt: skip
def test_values_are_read_as_prometheus_writes_them(text: object, value: float | None) -> None:
    (series,), unreadable = read_series(_bytes(_answer([{"metric": {"__name__": "m"}, "value": [T, text]}], "vector")))
    assert (series.samples, unreadable) == ((Sample(T * 1_000_000, value),), 0)


@pytest.mark.parametrize("text", ["", "hello", "1_000", "0x10", " 1", "١", True, [], {}, 10**400])
def test_a_value_that_is_no_number_is_counted(text: object) -> None:
    pairs = [[T, text], [T + 60, "1"]]
    (series,), unreadable = read_series(_bytes([{"metric": {"__name__": "m"}, "values": pairs}]))
    assert (len(series.samples), unreadable) == (1, 1)


@pytest.mark.parametrize("time", ["yesterday", None, True, -1, 1e300, 10**25, "1" * 5000, []])
def test_a_time_that_is_none_is_counted(time: object) -> None:
    assert read_series(_bytes([{"metric": {"__name__": "m"}, "value": [time, "1"]}])) == ((), 1)


def test_an_error_answer_has_a_reason_and_no_series() -> None:
    body = _bytes({"status": "error", "errorType": "bad_data", "error": "1:5: parse error"})
    assert read_series(body) == ((), 0)
    assert refusal(body) == "bad_data: 1:5: parse error"
    assert refusal(b'{"status":"error"}\n{"status":"error","errorType":"a","error":"b"}') == "a: b; error: no reason"
    assert refusal(_bytes(_answer([]))) is None


@pytest.mark.parametrize(
    ("body", "unreadable"),
    [
        (b"", 0),
        (b"404 page not found\n", 1),
        (_bytes(_answer([])), 0),
        (b'{"status":"success","data":{"resultType":"scalar","result":[1796025590,"91"]}}', 1),
        (b'{"status":"success","data":["gpu01","gpu02"]}', 2),
        (b'{"status":"success","data":[{"__name__":"up","job":"dcgm"}]}', 1),
        (b'{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"m"},"val', 1),
        (b'[{"metric":{"__name__":"m"},"histogram":[1,{"count":"1"}]}]', 1),
        (b'[{"metric":{"__name__":3},"value":[1,"1"]}]', 1),
        (b'[{"metric":{"__name__":"m"},"value":"12"}]', 1),
        (b"[" * 100_000, 1),
        (b"[[[[[[]]]]]]", 1),
        (b'{"status":"error","error":' + b"[" * 900 + b"]" * 900 + b"}", 0),
        (b'{"resultType":[],"result":null}', 1),
    ],
)
def test_what_holds_no_series_is_counted_not_raised(body: bytes, unreadable: int) -> None:
    assert read_series(body) == ((), unreadable)


# --- exposition lines ---------------------------------------------------------------------------------------------

LINK = 'node_infiniband_link_downed_total{device="mlx5_0",port="1"}'


def test_exposition_lines_are_read() -> None:
    body = f"# HELP x y\n# TYPE x counter\n{LINK} 0 {T}000\n{LINK} 1 {T + 15}000\r\n\nplain 3 {T}000\n# EOF\n"
    (link, plain), unreadable = read_series(body.encode())
    assert unreadable == 0
    assert link.name == "node_infiniband_link_downed_total"
    assert link.labels == (("device", "mlx5_0"), ("port", "1"))
    assert link.samples == (Sample(T * 1_000_000, 0.0), Sample((T + 15) * 1_000_000, 1.0))
    assert (plain.name, plain.labels) == ("plain", ())


@pytest.mark.parametrize(
    ("time", "us"),
    [
        (f"{T}123", T * 1_000_000 + 123_000),
        (f"{T}", T * 1_000_000),
        (f"{T}.5", T * 1_000_000 + 500_000),
        ("99999999999", 99_999_999_999_000_000),
        ("100000000000", 100_000_000_000_000),
    ],
)
def test_times_are_seconds_or_milliseconds(time: str, us: int) -> None:
    (series,), _ = read_series(f"{LINK} 1 {time}".encode())
    assert series.samples == (Sample(us, 1.0),)


def test_a_line_without_a_time_needs_one_from_the_caller() -> None:
    assert read_series(f"{LINK} 1".encode()) == ((), 1)
    (series,), unreadable = read_series(f"{LINK} 1".encode(), at_us=5)
    assert (series.samples, unreadable) == ((Sample(5, 1.0),), 0)


def test_labels_may_hold_anything_and_an_empty_one_is_none() -> None:
    body = rf'm{{ a = "x, \"y\" }} \\ z\n #", pod="",}} 1 {T} # {{trace_id="q"}} 0.5'
    (series,), unreadable = read_series(body.encode())
    assert (series.labels, unreadable) == ((("a", 'x, "y" } \\ z\n #'),), 0)


def test_the_name_may_stand_among_the_labels() -> None:
    (series,), _ = read_series(f'{{__name__="up",job="a"}} 1 {T}'.encode())
    assert (series.name, series.labels) == ("up", (("job", "a"),))


@pytest.mark.parametrize(
    "line",
    [
        "m", "m{", 'm{a="1"', 'm{a="1"}', 'm{a=1} 1 5', 'm{a="1",a="2"} 1 5', 'm{a="1" b="2"} 1 5', "m one 5",
        "m 1 2 3", "m 1 tomorrow", '{a="1"} 1 5', "9m 1 5", 'm{,} 1 5', 'm{"a"} 1 5',
    ],
)  # fmt: skip
def test_a_line_that_is_none_is_counted(line: str) -> None:
    assert read_series(line.encode()) == ((), 1)


@given(st.binary(max_size=300))
def test_no_bytes_raise(body: bytes) -> None:
    read_series(body)
    refusal(body)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["status", "data", "resultType", "result", "metric", "value", "values", "error"]), inner
        )
    ),
)


@given(st.lists(_JSON, max_size=3), st.text(alphabet='m{}="\\, #1.\n+eNa_\ufeff', max_size=60))
def test_no_document_and_no_line_raise(documents: list[object], text: str) -> None:
    read_series("\n".join([*(json.dumps(document) for document in documents), text]).encode("utf-8", "replace"))


# --- joining ------------------------------------------------------------------------------------------------------


def _series(name: str, *samples: tuple[int, float | None], **labels: str) -> Series:
    return Series(name, tuple(sorted(labels.items())), tuple(Sample(*sample) for sample in samples))


def test_a_number_beats_a_blank_and_a_smaller_one_a_larger() -> None:
    pieces = [
        _series("m", (1, 5.0), (2, None)),
        _series("m", (1, 3.0), (2, 9.0), (3, math.nan)),
        _series("m", (1, 4.0)),
    ]
    assert merge(pieces) == merge(reversed(pieces)) == (_series("m", (1, 3.0), (2, 9.0), (3, None)),)


_SAMPLES = st.dictionaries(st.integers(0, 50), st.none() | st.sampled_from([0.0, -0.0, 1.0, 2.5, math.inf]))
_PIECES = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), _SAMPLES).map(
        lambda p: Series.of({"__name__": p[0], "gpu": p[1]}, [Sample(us, value) for us, value in p[2].items()])
    ),
    max_size=6,
)


@given(_PIECES, st.randoms(use_true_random=False))
def test_order_and_repetition_do_not_matter(pieces: list[Series], random: Random) -> None:
    merged = merge(pieces)
    shuffled = pieces + pieces[:2]
    random.shuffle(shuffled)
    assert repr(merge(shuffled)) == repr(merged)
    assert repr(merge(merged)) == repr(merged)
    assert list(merged) == sorted(merged, key=lambda s: (s.name, s.labels))


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.data())
def test_a_body_cut_into_answers_reads_the_same(values: list[int], data: st.DataObject) -> None:
    pairs = [(T + 15 * i, str(value)) for i, value in enumerate(values)]
    cut = data.draw(st.integers(0, len(pairs)))
    back = data.draw(st.integers(0, cut))
    pieces = [_answer([_values(*pairs[back:])]), _answer([_values(*pairs[:cut])])]
    assert read_series(b"\n".join(map(_bytes, pieces))) == read_series(_bytes(_answer([_values(*pairs)])))


# --- host ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "node"),
    [
        ({"Hostname": "gpu02", "instance": "gpu01:9400"}, "gpu02"),
        ({"hostname": "gpu02", "instance": "10.0.0.7:9400"}, "gpu02"),
        ({"instance": "gpu02:9100", "job": "node"}, "gpu02"),
        ({"instance": "gpu02.example.org:9100"}, "gpu02"),
        ({"instance": "10.0.0.7:9100"}, "gpu02"),
        ({"instance": "[fd00::7]:9100"}, "gpu02"),
        ({"instance": "fd00::7"}, "gpu02"),
        ({"Hostname": "dcgm-exporter-cwbcm", "node": "gpu02"}, "gpu02"),
        ({"exported_instance": "gpu02:9100", "instance": "federate:9090"}, "gpu02"),
        ({"kubernetes_node": "gpu02"}, "gpu02"),
        ({"host": "login01", "instance": "127.0.0.1:9100"}, "login01"),
        ({"instance": "10.0.0.9:9100"}, "10.0.0.9"),
        ({"instance": "127.0.0.1:17502"}, None),
        ({"gpu": "3"}, None),
    ],
)
def test_the_host_is_named_by_labels(labels: dict[str, str], node: str | None) -> None:
    aliases = {"gpu02": "gpu02", "10.0.0.7": "gpu02", "fd00::7": "gpu02", "10": "wrong"}
    assert host_of(_series("m", **labels), aliases) == node
