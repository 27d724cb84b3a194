"""What a watcher counts, as Prometheus metrics in a registry of its own."""

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECS = (0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800)

FOUND = ("new", "changed", "known", "running", "same", "unusable")
DIAGNOSES = ("ok", "retried", "postponed", "given_up", "lost")
DELIVERIES = ("done", "retried", "failed", "lost")
STATES = ("waiting", "working", "diagnosed", "given_up")


class Meters:
    """One set of metrics. Labels are closed sets and names of configured connectors: no log makes a series."""

    def __init__(self, contexts: Sequence[str], sinks: Sequence[str]) -> None:
        self.registry = CollectorRegistry()
        self.rounds = self._counter(
            "rounds_total", "Rounds of discovery, by context connector and how they went.", ("connector", "outcome")
        )
        self.round_seconds = self._histogram("round_seconds", "Seconds that a round of discovery took.")
        self.last_round = self._gauge(
            "last_round_timestamp_seconds", "When a connector was last asked without an error.", ("connector",)
        )
        self.found = self._counter("found_total", "Attempts found, by what was new about them.", ("outcome",))
        self.attempts = self._gauge("attempts", "Attempts that are remembered, by how far they are.", ("state",))
        self.oldest_ready_seconds = self._gauge(
            "oldest_ready_seconds", "How long the attempt waits for a worker that waits longest."
        )
        self.diagnoses = self._counter("diagnoses_total", "Work on attempts that ended, by how.", ("outcome",))
        self.diagnosis_seconds = self._histogram("diagnosis_seconds", "Seconds that work on an attempt took.")
        self.delay_seconds = self._histogram(
            "delay_seconds", "Seconds from when an attempt was ready to its diagnosis.", (1, 5, 15, 60, 300, 900, 3600)
        )
        self.observations = self._counter("observations_total", "Observations collected of diagnosed attempts.")
        self.collected_bytes = self._counter("collected_bytes_total", "Bytes of them.")
        self.deliveries = self._counter(
            "deliveries_total", "Results offered to sinks, by what became of them.", ("sink", "outcome")
        )
        self.undelivered = self._gauge(
            "undelivered", "Results that a sink has yet to take, or refused.", ("sink", "state")
        )
        self.held = self._gauge("held", "1 while the Service cannot be had and nothing new is begun.")
        self.leases_lost = self._counter("leases_lost_total", "Leases that could not be renewed in time.")
        for name in contexts:
            for outcome in ("ok", "failed", "held"):
                self.rounds.labels(name, outcome)
        for sink in sinks:
            for outcome in DELIVERIES:
                self.deliveries.labels(sink, outcome)
            for state in ("pending", "failed"):
                self.undelivered.labels(sink, state)
        for counter, values in ((self.found, FOUND), (self.diagnoses, DIAGNOSES)):
            for value in values:
                counter.labels(value)
        for state in STATES:
            self.attempts.labels(state)

    def text(self) -> bytes:
        """All metrics in the text format."""
        return generate_latest(self.registry)

    def _counter(self, name: str, meaning: str, labels: Sequence[str] = ()) -> Counter:
        return Counter(f"attribution_watch_{name}", meaning, labels, registry=self.registry)

    def _gauge(self, name: str, meaning: str, labels: Sequence[str] = ()) -> Gauge:
        return Gauge(f"attribution_watch_{name}", meaning, labels, registry=self.registry)

    def _histogram(self, name: str, meaning: str, buckets: Sequence[float] = _SECS) -> Histogram:
        return Histogram(f"attribution_watch_{name}", meaning, buckets=buckets, registry=self.registry)
