"""The evidence of a diagnosis as a bundle gives the same answer again, and says that it is an excerpt."""

import tarfile
from io import BytesIO
from pathlib import Path

import httpx
import pytest

from attribution.bundle.reader import open_bundle
from attribution.contracts.context import ExecutionContext
from attribution.contracts.diagnosis import Diagnosis
from attribution.contracts.result import AttributionBlueprintResult
from attribution.contracts.vocabulary import Source, SubDomain
from attribution.dashboard.pages.excerpt import pack
from attribution.dashboard.views import excerpt as excerpts
from attribution.dashboard.views.excerpt import NOTE, excerpt
from attribution.diagnosis.engine import diagnose
from attribution.extraction.ruleset import RuleSets
from attribution.presentation import text

from tests.conftest import SAMPLES
from tests.dashboard.conftest import result_of
from tests.dashboard.test_decided import address_of
from tests.presentation import builders


def packed(result: AttributionBlueprintResult, folder: Path) -> Path:
    """The bundle of a result as a file."""
    path = folder / "attempt.tar.gz"
    with path.open("wb") as file:
        pack(result, "attribution-0", file)
    return path


def names_in(path: Path) -> list[str]:
    with tarfile.open(path) as tar:
        return tar.getnames()


def content(path: Path, name: str) -> str:
    with tarfile.open(path) as tar:
        member = tar.extractfile(f"attribution-0/{name}")
        assert member is not None
        return member.read().decode()


@pytest.mark.slow
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_an_excerpt_of_a_sample_gets_the_answer_of_the_whole(sample: Path, shipped: RuleSets, tmp_path: Path) -> None:
    with open_bundle(sample) as evidence:
        whole, context = diagnose(evidence, shipped), evidence.context
    again = of_excerpt(whole, context, shipped, tmp_path)
    assert (again.terminal_state, again.sub_domain) == (whole.terminal_state, whole.sub_domain)
    assert [cause.symptom for cause in again.causes[:1]] == [cause.symptom for cause in whole.causes[:1]]
    # Which of several nodes with the same cause stands first hangs on stamped lines that an excerpt may not hold.
    assert {(c.symptom, c.node) for c in again.causes} == {(c.symptom, c.node) for c in whole.causes}
    assert again.partial is not None and again.partial.endswith(NOTE)
    assert NOTE[:30] in " ".join(text.render(again, width=200).split())
    assert all(line.status in {"ok", "empty"} for line in again.coverage)


def of_excerpt(whole: Diagnosis, context: ExecutionContext, shipped: RuleSets, folder: Path) -> Diagnosis:
    """The diagnosis of the excerpt of a diagnosis."""
    result = AttributionBlueprintResult(
        terminal_state=whole.terminal_state, sub_domain=whole.sub_domain, context=context, diagnosis=whole
    )
    with open_bundle(packed(result, folder)) as evidence:
        return diagnose(evidence, shipped)


def test_lines_stand_in_their_order_once_and_in_files_like_their_own(tmp_path: Path) -> None:
    shape = builders.single()
    later = builders.line(
        "e2", "later", 1, stream="syslog/node-02.log", line=814, offset=90_400, before=("cut …", "813 ")
    )
    path = packed(result_of(shape.model_copy(update={"evidence": (*shape.evidence, later)})), tmp_path)
    assert names_in(path) == [f"attribution-0/{name}" for name in ("README", "context.yaml", "syslog/node-02.log")]
    before, decisive, after, last = content(path, "syslog/node-02.log").splitlines()
    assert decisive == builders.XID_149 and last == "later"
    assert before == shape.evidence[0].before[0] and after == shape.evidence[0].after[0]


def test_a_stream_is_that_of_its_writer_whichever_node_a_line_is_about(tmp_path: Path) -> None:
    told = builders.line("e1", "srun: error: node-02: task 8: Killed", node="node-02", rank=8, source=Source.APPLOG)
    shape = builders.single().model_copy(
        update={
            "evidence": (told.model_copy(update={"stream": "applog/job.log"}),),
            "coverage": (builders.covered(Source.APPLOG, "node-01", stream="applog/job.log"),),
        }
    )
    (stream,) = excerpt(result_of(shape)).evidence.streams
    assert (stream.key.node, stream.key.rank, stream.key.stream) == ("node-01", None, "applog/job.log")


def test_samples_of_a_metric_come_back_as_its_series(tmp_path: Path) -> None:
    text = 'node_filesystem_avail_bytes{mountpoint="/scratch \\"a\\"",instance="node-02:9100"} 0'
    shape = builders.metric()
    line = shape.evidence[0].model_copy(update={"text": text, "stream": "metrics/node.json"})
    path = packed(result_of(shape.model_copy(update={"evidence": (line,)})), tmp_path)
    assert '"__name__": "node_filesystem_avail_bytes"' in content(path, "metrics/node.json")
    assert r'"mountpoint": "/scratch \"a\""' in content(path, "metrics/node.json")
    with open_bundle(path) as evidence:
        (stream,) = evidence.streams
        assert stream.key.source is Source.NODE_METRICS and stream.format == "prometheus_metrics"


def test_the_scheduler_record_of_the_context_is_told_by_the_context_alone() -> None:
    line = builders.line("e1", "scheduler_state: TIMEOUT", source=Source.SCHEDULER, node=None, stream="context")
    shape = builders.single().model_copy(update={"evidence": (line,)})
    found = excerpt(result_of(shape, scheduler_state="TIMEOUT", partial="its pods are gone"))
    assert found.evidence.streams == ()
    assert found.evidence.context.scheduler_state == "TIMEOUT"
    assert found.evidence.context.partial == f"its pods are gone; {NOTE}"


@pytest.mark.parametrize(
    "stream",
    [
        "../../etc/passwd",
        "/etc/passwd",
        "syslog/../../x",
        "syslog/\x00\u202e.log",
        "..",
        "syslog/" + "x" * 5000,
        "a\nb",
        "",
    ],
)
def test_no_stream_names_a_file_outside(stream: str, tmp_path: Path) -> None:
    line = builders.line("e1", "text\r\nmore", stream=stream, node="..", rank=3)
    shape = builders.single().model_copy(update={"evidence": (line,), "coverage": ()})
    path = packed(result_of(shape), tmp_path)
    for name in names_in(path):
        parts = name.split("/")
        assert parts[0] == "attribution-0" and ".." not in parts and all(part.isprintable() for part in parts)
        assert all(0 < len(part) < 200 for part in parts)
    with open_bundle(path) as evidence:
        (found,) = [item for item in evidence.streams if item.segments]
        with found.segments[0].open() as file:
            assert file.read() == b"text\\r\\nmore\n"


def test_what_finds_no_room_is_counted_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excerpts, "MAX_BYTES", 250)
    lines = tuple(builders.line(f"e{n}", "x" * 100, n, line=n + 1) for n in range(5))
    found = excerpt(result_of(builders.single().model_copy(update={"evidence": lines})))
    assert found.left_out == 3
    assert "3 lines found no room" in found.readme


def test_the_readme_says_what_the_whole_said_and_where_each_line_stood() -> None:
    readme = excerpt(result_of(builders.single())).readme
    assert "hardware / nvlink_fabric; first cause NVLINK_SIGNAL_INTEGRITY." in readme
    assert "syslog/node-02.log:812  NVL001" in readme
    assert "first cause" not in excerpt(result_of(builders.none())).readme
    assert excerpt(result_of(builders.hostile())).readme.replace("\n", "").isprintable()


def test_it_is_downloaded_from_the_page(pages: httpx.Client, tmp_path: Path, shipped: RuleSets) -> None:
    address = address_of(pages, "job-single")
    answer = pages.get(f"{address}/excerpt.tar.gz")
    key = address.rpartition("/")[2]
    assert answer.headers["content-type"] == "application/gzip"
    assert answer.headers["content-disposition"] == f'attachment; filename="attribution-{key[:12]}.tar.gz"'
    assert int(answer.headers["content-length"]) == len(answer.content)
    with tarfile.open(fileobj=BytesIO(answer.content)) as tar:
        assert {name.split("/")[0] for name in tar.getnames()} == {f"attribution-{key[:12]}"}
    path = tmp_path / "x.tar.gz"
    path.write_bytes(answer.content)
    with open_bundle(path) as evidence:
        assert diagnose(evidence, shipped).sub_domain is SubDomain.NVLINK_FABRIC


def test_an_unknown_attempt_has_none(pages: httpx.Client) -> None:
    assert pages.get(f"/attempts/{'0' * 32}/excerpt.tar.gz").status_code == 404
