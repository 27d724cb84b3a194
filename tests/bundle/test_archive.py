"""Archives are read without trusting them."""

import gzip
import io
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from attribution.bundle.archive import ArchiveLimits
from attribution.bundle.reader import open_bundle
from attribution.contracts.errors import EvidenceError
from attribution.contracts.vocabulary import Status

from tests.examples import examples

Member = tuple[str, bytes] | tarfile.TarInfo


def tar(members: Iterable[Member], format: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format) as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                archive.addfile(info, io.BytesIO(member[1]))
    return out.getvalue()


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def told(path: Path) -> dict[str, tuple[str, str | None]]:
    with open_bundle(path) as evidence:
        return {stream.key.stream: (stream.status.value, stream.reason) for stream in evidence.streams}


GOOD = ("job-7/applog/node-01.log", b"step 1\n")
PACK: dict[str, Callable[[bytes], bytes]] = {
    "tar": lambda data: data,
    "tar.gz": gzip.compress,
    "tgz": gzip.compress,
    "tar.zst": zstandard.compress,
    "tzst": zstandard.compress,
    "bin": gzip.compress,
}


@pytest.fixture(autouse=True)
def nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterable[None]:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("format", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_an_archive_is_read_as_the_folder_in_it(tmp_path: Path, suffix: str, format: int) -> None:
    path = tmp_path / f"job-7.{suffix}"
    long = f"job-7/syslog/{'x' * 120}/node-02.log"
    path.write_bytes(PACK[suffix](tar([GOOD, (long, b"text"), ("job-7/context.yaml", b"workload_id: w")], format)))
    with open_bundle(path) as evidence:
        assert evidence.context.workload_id == "w"
        assert {s.key.stream for s in evidence.streams} == {"applog/node-01.log", long.removeprefix("job-7/")}
        with evidence.streams[0].segments[0].open() as file:
            assert file.read() == b"step 1\n"


def test_an_archive_without_a_folder_keeps_its_source_folder(tmp_path: Path) -> None:
    path = tmp_path / "job-7.tar.gz"
    path.write_bytes(gzip.compress(tar([("./applog/node-01.log", b"x")])))
    with open_bundle(path) as evidence:
        assert evidence.streams[0].key.stream == "applog/node-01.log"
        assert evidence.context.workload_id == "job-7"


def test_hostile_members_are_left_out_and_told(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    out = "has a name in the archive that leads out of the folder"
    members: list[Member] = [
        GOOD,
        ("/etc/cron.d/evil", b"x"),
        ("../evil.log", b"x"),
        ("job-7/applog/../../../evil.log", b"x"),
        special("job-7/link", tarfile.SYMTYPE, "/etc"),
        ("job-7/link/passwd", b"x"),
        special("job-7/hard.log", tarfile.LNKTYPE, "/etc/passwd"),
        special("job-7/device", tarfile.CHRTYPE),
        special("job-7/pipe", tarfile.FIFOTYPE),
        ("job-7/" + "d/" * 100 + "deep.log", b"x"),
        ("job-7/applog/node-01.log/below", b"x"),
        ("job-7/" + "n" * 300, b"x"),
    ]
    path.write_bytes(tar(members))
    streams = told(path)
    assert streams["applog/node-01.log"] == ("ok", None)
    assert streams["link/passwd"] == ("ok", None)  # the link was not made, so this is a plain folder
    assert streams["/etc/cron.d/evil"] == ("skipped", out)
    assert streams["../evil.log"] == ("skipped", out)
    assert streams["applog/../../../evil.log"] == ("skipped", out)
    link = "is a link in the archive; links are not unpacked"
    assert streams["link"] == streams["hard.log"] == ("skipped", link)
    assert streams["device"] == streams["pipe"] == ("skipped", "is no regular file in the archive")
    assert streams["d/" * 100 + "deep.log"][1] == "lies more than 64 folders deep in the archive"
    assert streams["applog/node-01.log/below"][0] == "skipped"
    assert streams["n" * 300][1] == "could not be unpacked: File name too long"
    assert len(streams) == len(members)
    assert not (tmp_path / "evil.log").exists()


def test_limits_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.zst"
    path.write_bytes(zstandard.compress(tar([(f"applog/n{i}.log", b"x" * 100) for i in range(20)])))
    cases = {
        ArchiveLimits(members=19): "holds more than 19 members",
        ArchiveLimits(total_bytes=1999): "holds more than 1999 bytes",
    }
    for limits, message in cases.items():
        with pytest.raises(EvidenceError) as caught, open_bundle(path, limits=limits):
            pass
        assert str(caught.value) == f"{path}: B007 {message} (unpack it yourself and give the folder)"
    with open_bundle(path, limits=ArchiveLimits(20, 2000)) as evidence:
        assert len(evidence.streams) == 20


def test_a_member_that_claims_more_than_there_is_does_not_count_as_read(tmp_path: Path) -> None:
    info = tarfile.TarInfo("applog/node-02.log")
    info.size = 1 << 40
    path = tmp_path / "a.tar"
    path.write_bytes(tar([GOOD])[:1024] + info.tobuf() + b"short")
    with pytest.raises(EvidenceError, match="B007"), open_bundle(path):
        pass


@pytest.mark.parametrize("suffix", ["tar", "tar.gz", "tar.zst"])
def test_a_cut_archive_gives_what_it_holds(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    noise = "".join(chr(97 + i * i % 23) for i in range(400_000)).encode()
    whole = tar([GOOD, ("job-7/applog/node-02.log", noise), ("job-7/applog/node-03.log", b"x")])
    path.write_bytes(PACK[suffix](whole[:200_000]))
    streams = told(path)
    assert streams["applog/node-01.log"] == ("ok", None)
    assert streams["applog/node-02.log"][0] == "partial"
    assert "applog/node-03.log" not in streams
    status, reason = streams[path.name]
    assert status == "error" and str(reason).startswith("the archive could not be read to its end")


def test_a_broken_header_is_not_taken_for_the_end(tmp_path: Path) -> None:
    data = bytearray(tar([GOOD, ("job-7/applog/node-02.log", b"x"), ("job-7/applog/node-03.log", b"x")]))
    second = data.index(b"job-7/applog/node-02.log")
    data[second + 148 : second + 156] = b"99999999"
    path = tmp_path / "a.tar"
    path.write_bytes(data)
    assert told(path)["a.tar"][0] == "error"


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_huge_header_is_not_read(tmp_path: Path, kind: bytes) -> None:
    info = special("x", kind)
    info.size = 1 << 32
    path = tmp_path / "a.tar"
    path.write_bytes(info.tobuf() + b"\0" * 10240)
    with pytest.raises(EvidenceError) as caught, open_bundle(path):
        pass
    assert "B006 is not a tar archive: a header of a member is too long" in str(caught.value)


def test_sparse_files_are_not_unpacked(tmp_path: Path) -> None:
    info = tarfile.TarInfo("job-7/applog/node-02.log")
    info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "1000000000000"}
    info.size = 512
    path = tmp_path / "a.tar"
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        good = tarfile.TarInfo(GOOD[0])
        good.size = len(GOOD[1])
        archive.addfile(good, io.BytesIO(GOOD[1]))
        archive.addfile(info, io.BytesIO(b"1\n0\n512\n".ljust(512, b"\0")))
    path.write_bytes(out.getvalue())
    assert told(path)["a.tar"] == ("error", "the archive could not be read to its end: holds a sparse file")


def test_names_of_any_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(tar([("applog/a\x1b\udcff.log", b"x"), ("applog/node-01.log", b"x")], tarfile.GNU_FORMAT))
    assert told(path)["applog/a??.log"] == ("ok", None)


def test_an_empty_archive_holds_no_evidence(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(tar([]))
    with pytest.raises(EvidenceError, match="B005 holds no evidence"), open_bundle(path):
        pass


@settings(max_examples=examples(150), deadline=None)
@given(data=st.data())
def test_any_damage_is_an_answer(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    raw = bytearray(tar([GOOD, ("job-7/syslog/node-02.log", b"y" * 700)], tarfile.GNU_FORMAT)[:4096])
    for _ in range(data.draw(st.integers(1, 12))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damage") / "a.tar"
    path.write_bytes(raw[: data.draw(st.integers(0, len(raw)))])
    try:
        with open_bundle(path) as evidence:
            assert all(stream.status in Status for stream in evidence.streams)
    except EvidenceError as error:
        assert error.problems
