"""A real Prometheus and a real VictoriaMetrics on loopback, with two hours of history, in a folder of their own."""

import socket
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx

from lab.servers.packages import install, missing
from lab.servers.packages import why_not as why_no_packages
from lab.servers.processes import end, run, wait_for

PACKAGES = ("prometheus", "victoria-metrics")
STEP_SECS = 15
MOST_SAMPLES = 20_000
"""Samples that one query of Prometheus may load: less than the history has."""

History = Sequence[tuple[str, dict[str, str], Sequence[tuple[float, float]]]]
"""Series: a name, labels, and samples in order of their times."""


class MetricServers:
    """Both servers with the same history. Ends them by their process ids."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self.prometheus = f"http://127.0.0.1:{_free_port()}"
        self.victoria = f"http://127.0.0.1:{_free_port()}"

    @staticmethod
    def why_not() -> str | None:
        """Why they cannot be had here, or None."""
        return why_no_packages(PACKAGES)

    def start(self, history: History) -> None:
        """Install what is missing, load the history, and start both."""
        if missing(PACKAGES):
            install(PACKAGES)
        text = self.folder / "history.om"
        text.write_text("".join(_openmetrics(history)))
        run(["promtool", "tsdb", "create-blocks-from", "openmetrics", str(text), str(self.folder / "data")], {})
        (self.folder / "prometheus.yml").write_text("scrape_configs: []\n")
        self._spawn(
            "prometheus",
            f"--config.file={self.folder}/prometheus.yml",
            f"--storage.tsdb.path={self.folder}/data",
            "--storage.tsdb.retention.time=10y",
            f"--query.max-samples={MOST_SAMPLES}",
            f"--web.listen-address={self.prometheus.removeprefix('http://')}",
        )
        self._spawn(
            "victoria-metrics",
            f"-storageDataPath={self.folder}/vm",
            f"-httpListenAddr={self.victoria.removeprefix('http://')}",
            "-retentionPeriod=10y",
        )
        assert wait_for(lambda: _is_well(f"{self.prometheus}/-/ready"), 60), "Prometheus is not ready"
        assert wait_for(lambda: _is_well(f"{self.victoria}/health"), 60), "VictoriaMetrics is not ready"
        lines = "".join(_exposition(history))
        httpx.post(f"{self.victoria}/api/v1/import/prometheus", content=lines, timeout=60).raise_for_status()
        httpx.get(f"{self.victoria}/internal/force_flush", timeout=60).raise_for_status()

    def stop(self) -> None:
        """End both."""
        for process in self._processes:
            end(process.pid)
            process.wait(timeout=30)

    def _spawn(self, *command: str) -> None:
        log = (self.folder / f"{command[0]}.log").open("wb")
        with log:
            self._processes.append(subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder))


def _openmetrics(history: History) -> Iterator[str]:
    """The history as text: families together, all of them gauges, as counters would have to end in `_total`."""
    known = ""
    for name, labels, samples in sorted(history, key=lambda series: series[0]):
        if name != known:
            known = name
            yield f"# TYPE {name} gauge\n"
        for at, value in samples:
            yield f"{name}{_labels(labels)} {value:g} {at:.3f}\n"
    yield "# EOF\n"


def _exposition(history: History) -> Iterator[str]:
    for name, labels, samples in history:
        for at, value in samples:
            yield f"{name}{_labels(labels)} {value:g} {round(at * 1000)}\n"


def _labels(labels: dict[str, str]) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels.items()) + "}"


def _is_well(url: str) -> bool:
    try:
        return httpx.get(url, timeout=2).status_code == 200
    except httpx.HTTPError:
        return False


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])
