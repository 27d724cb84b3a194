"""The settings of `attribution run --watch`."""

from typing import Literal

from pydantic import Field

from attribution.configuration.secrets import Address, Secret
from attribution.contracts.base import Strict


class WatchSettings(Strict):
    """How attempts are watched for, and how patiently each is worked on."""

    store: Address | None = Field(
        default=None,
        description="database that remembers what was done, shared by several watchers; that of `sinks.database` if "
        "not given, else one in the state folder",
    )
    interval_secs: float = Field(default=30.0, gt=0, description="from the start of one round of discovery to the next")
    lookback_secs: float = Field(
        default=86400.0, ge=0, description="how far back the first round looks; later ones begin where the last ended"
    )
    overlap_secs: float = Field(
        default=3600.0, ge=0, description="how far a round looks back beyond the last one, for records that come late"
    )
    settle_secs: float = Field(
        default=60.0, ge=0, description="wait after the end of an attempt, so that late logs arrive"
    )
    retries: int = Field(default=5, ge=0, description="how often an attempt that cannot be diagnosed is tried again")
    retry_secs: float = Field(
        default=60.0, gt=0, description="wait before an attempt or a delivery is tried again; doubles, up to an hour"
    )
    delivery_secs: float = Field(
        default=604800.0, ge=0, description="how long a result is offered to a sink that does not take it"
    )
    lease_secs: float = Field(
        default=120.0, ge=3, description="after which another may take over what a watcher that vanished had begun"
    )
    losses: int = Field(
        default=20, ge=1, description="how many workers may vanish with one attempt before it is given up"
    )
    backlog: int = Field(default=10_000, ge=1, description="attempts that wait beyond which nothing more is discovered")
    keep_secs: float = Field(
        default=7776000.0, ge=0, description="how long an attempt is remembered that is done and is not found any more"
    )
    shutdown_secs: float = Field(
        default=30.0, ge=0, description="how long what is begun may take to end once the watcher is asked to stop"
    )
    progress_secs: float = Field(default=30.0, gt=0, description="an attempt that takes longer says how far it is")
    metrics_host: str = Field(default="127.0.0.1", description="address on which metrics are served")
    metrics_port: int | None = Field(
        default=None, ge=0, le=65535, description="port of the metrics; 0 takes a free one, none serves no metrics"
    )
    metrics_token: Secret | None = Field(
        default=None, description="bearer token that readers of the metrics show; needed beyond loopback"
    )
    log_format: Literal["json", "text"] | None = Field(
        default=None, description="form of the log lines; text on a terminal, else json"
    )
