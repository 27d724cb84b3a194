"""What the Service counts, as Prometheus metrics in a registry of its own."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as MEDIA_METRICS

from attribution.contracts.diagnosis import CatalogIdentity, Diagnosis

__all__ = ["MEDIA_METRICS", "Meters"]

_REQUEST_SECS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_ATTRIBUTION_SECS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)


class Meters:
    """One set of metrics. Labels take values of closed sets only, so that no client can make series without end."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "attribution_requests_total", "Requests answered.", ("method", "route", "status"), registry=self.registry
        )
        self.request_seconds = Histogram(
            "attribution_request_seconds",
            "Seconds from request to answer.",
            ("route",),
            buckets=_REQUEST_SECS,
            registry=self.registry,
        )
        self.observations = Counter(
            "attribution_observations_total",
            "Observations received, by what became of them.",
            ("outcome",),
            registry=self.registry,
        )
        for outcome in ("accepted", "duplicate", "rejected"):
            self.observations.labels(outcome)
        self.sessions = Gauge("attribution_sessions_open", "Sessions in the store.", registry=self.registry)
        self.attributions = Counter(
            "attribution_attributions_total",
            "Diagnoses computed.",
            ("sub_domain", "terminal_state"),
            registry=self.registry,
        )
        self.attribution_seconds = Histogram(
            "attribution_attribution_seconds",
            "Seconds that computing a diagnosis took.",
            buckets=_ATTRIBUTION_SECS,
            registry=self.registry,
        )
        self.attributions_cached = Counter(
            "attribution_attributions_cached_total", "Diagnoses answered without computing.", registry=self.registry
        )
        self.catalog = Gauge(
            "attribution_catalog_info", "The catalog in use.", ("version", "digest"), registry=self.registry
        )
        self.reloads = Counter(
            "attribution_catalog_reloads_total",
            "Attempts to load the rules anew.",
            ("outcome",),
            registry=self.registry,
        )
        for outcome in ("ok", "failed"):
            self.reloads.labels(outcome)
        self.v1_ignored_keys = Counter(
            "attribution_v1_ignored_keys_total",
            "Keys in V1 requests that are not known and were ignored.",
            ("part",),
            registry=self.registry,
        )

    def uses(self, catalog: CatalogIdentity) -> None:
        """Say which catalog is in use now."""
        self.catalog.clear()
        self.catalog.labels(catalog.version, catalog.digest).set(1)

    def attributed(self, diagnosis: Diagnosis, seconds: float) -> None:
        """Count a diagnosis that was computed."""
        self.attributions.labels(diagnosis.sub_domain.value, diagnosis.terminal_state.value).inc()
        self.attribution_seconds.observe(seconds)

    def text(self) -> bytes:
        """All metrics in the text format."""
        return generate_latest(self.registry)
