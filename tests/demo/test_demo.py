"""The demo shows everything at work, and leaves nothing running however it ends."""

import json
import os
import shutil
import signal
import socket
from pathlib import Path

import httpx
import pytest

from tests.demo.processes import command, port

SAMPLES = Path(__file__).resolve().parents[2] / "samples"


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    """Two of the bundled samples."""
    folder = tmp_path / "samples"
    for name in ("completed-with-noise", "nvlink-signal-integrity"):
        shutil.copytree(SAMPLES / name, folder / name)
    return folder


@pytest.mark.slow
def test_once_prints_every_diagnosis_and_leaves_the_store(samples: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    elsewhere = {"ATTRIBUTION_TOKENS_FILE": "/nowhere", "HTTP_PROXY": "http://127.0.0.1:9"}
    with command("demo", "--once", "--samples", samples, "--store", folder, **elsewhere) as demo:
        code, stdout, stderr = demo.ended()
        assert code == 0, stderr
        assert "failed · hardware / nvlink_fabric" in stdout and "completed · nothing wrong" in stdout
        assert "demo" not in stdout
        assert "demo: workload 418201 is the sample nvlink-signal-integrity\n" in stderr
        assert "demo: workload 418566 is the sample completed-with-noise\n" in stderr
        assert "workload 418201, attempt 1" in stdout
        assert "2 samples diagnosed over HTTP" in stderr
        assert "generated" not in stderr
        assert demo.none_left()
    assert (folder / "attribution.db").exists()


@pytest.mark.slow
def test_it_stays_until_ctrl_c_and_takes_the_next_free_port(samples: Path) -> None:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", 8080))
            taken.listen()
        except OSError:
            pass  # somebody else has it, which is as good
        with command("demo", "--samples", samples, "--attempts", "3") as demo:
            told = demo.told("web on http://")
            assert port(told) > 8080 and "(port 8080 is taken)" in told
            address = f"http://127.0.0.1:{port(demo.told('Open http://', 'stdout'))}"
            listed = httpx.get(f"{address}/attempts.json", trust_env=False).json()
            assert {item["sub_domain"] for item in listed["attempts"]} == {"none", "nvlink_fabric"}
            assert [item["cluster"] for item in listed["attempts"]].count("demo") == 3
            assert listed["total"] == 5, "nothing is generated twice"
            demo.process.send_signal(signal.SIGINT)
            demo.process.send_signal(signal.SIGINT)
            code, _, stderr = demo.ended()
            assert code == 0 and "Traceback" not in stderr, stderr
            assert not demo.left()
            with pytest.raises(httpx.ConnectError):
                httpx.get(address, trust_env=False)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_however_it_is_ended(samples: Path, number: signal.Signals) -> None:
    with command("demo", "--samples", samples) as demo:
        demo.told("Open http://", "stdout")
        os.kill(demo.process.pid, number)
        assert demo.process.wait(600) == (-number if number is signal.SIGKILL else 0)
        assert demo.none_left(), demo.left()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_when_it_is_ended_while_it_starts(samples: Path, number: signal.Signals) -> None:
    with command("demo", "--once", "--samples", samples) as demo:
        demo.told("web on http://")
        os.kill(demo.process.pid, number)
        assert demo.process.wait(600) == (130 if number is signal.SIGINT else -number)
        assert demo.none_left(), demo.left()


@pytest.mark.slow
def test_the_folder_of_a_killed_demo_is_swept_and_that_of_a_living_one_kept(samples: Path, tmp_path: Path) -> None:
    shutil.rmtree(samples / "nvlink-signal-integrity")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with command("demo", "--samples", samples, TMPDIR=str(temporary)) as killed:
        killed.told("web on http://")
        killed.process.kill()
        killed.process.wait(30)
        assert killed.none_left()
    (dead,) = temporary.glob("attribution-demo-*")
    with command("demo", "--samples", samples, TMPDIR=str(temporary)) as living:
        living.told("web on http://")
        (alive,) = temporary.glob("attribution-demo-*")
        assert alive != dead
        with command("demo", "--once", "--samples", samples, TMPDIR=str(temporary)) as other:
            code, _, stderr = other.ended()
            assert code == 0, stderr
        assert list(temporary.glob("attribution-demo-*")) == [alive]


@pytest.mark.slow
def test_a_sample_without_an_answer_fails_the_demo(samples: Path) -> None:
    shutil.rmtree(samples / "completed-with-noise")
    (samples / "completed-with-noise").mkdir()
    (samples / "completed-with-noise" / "context.yaml").write_text(json.dumps({"workload_id": ""}))
    with command("demo", "--once", "--samples", samples) as demo:
        code, stdout, stderr = demo.ended()
        assert code == 1
        assert "nvlink_fabric" in stdout
        assert "`attribution run` ended with" in stderr
        assert demo.none_left()


def test_a_folder_without_samples_is_told(tmp_path: Path) -> None:
    with command("demo", "--once", "--samples", tmp_path) as demo:
        code, _, stderr = demo.ended()
    assert code == 2 and "finds no bundle" in stderr and len(stderr.splitlines()) == 1


@pytest.mark.slow
def test_two_demos_at_once_keep_out_of_each_other_s_way(samples: Path) -> None:
    shutil.rmtree(samples / "nvlink-signal-integrity")
    with (
        command("demo", "--once", "--samples", samples) as first,
        command("demo", "--once", "--samples", samples) as second,
    ):
        for demo in (first, second):
            code, stdout, stderr = demo.ended()
            assert code == 0 and "completed · nothing wrong" in stdout, stderr
