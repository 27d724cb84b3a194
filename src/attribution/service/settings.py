"""What of the Service can be set; every limit is a number with its unit in its name."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from attribution.configuration.secrets import Address
from attribution.contracts.base import Strict


class Limits(Strict):
    """What one request, one session and one tenant may ask for."""

    body_bytes: int = Field(default=32 << 20, ge=1, description="bytes of a request's body as it is sent")
    decoded_bytes: int = Field(default=64 << 20, ge=1, description="bytes of a request's body when decompressed")
    body_secs: float = Field(default=60, gt=0, description="seconds that a request's body may take to arrive")
    arriving_bytes: int = Field(
        default=256 << 20, ge=1, description="bytes of all bodies in memory as they were sent; more are refused as busy"
    )
    bodies: int = Field(default=8, ge=1, description="bodies read at the same time; others wait when they have arrived")
    reading_bytes: int = Field(
        default=256 << 20, ge=1, description="bytes of all bodies read at the same time, decompressed; others wait"
    )
    waiting_bodies: int = Field(default=256, ge=0, description="bodies that may wait; more are refused as busy")
    context_bytes: int = Field(default=8 << 20, ge=1, description="bytes of a context, decompressed")
    context_nodes: int = Field(default=20_000, ge=1, description="nodes of a context")
    batch_observations: int = Field(default=10_000, ge=1, description="observations of one batch")
    session_observations: int = Field(default=200_000, ge=1, description="observations of one session")
    session_bytes: int = Field(default=1 << 30, ge=1, description="bytes of all bodies of one session, decoded")
    observation_bytes: int = Field(default=64 << 20, ge=1, description="bytes of one observation's body, decoded")
    tenant_sessions: int = Field(default=10_000, ge=1, description="open sessions of one tenant")
    attributions: int = Field(default=2, ge=1, description="attributions computed at the same time")
    waiting_attributions: int = Field(default=64, ge=0, description="attributions that may wait for their turn")
    attribution_secs: float = Field(default=300, gt=0, description="seconds after which a caller is told to come back")


class ServiceSettings(Strict):
    """The settings of `attribution serve`."""

    host: str = Field(
        default="127.0.0.1", min_length=1, description="address to listen on; beyond loopback needs tokens"
    )
    port: int = Field(default=8000, ge=0, le=65535, description="port to listen on; 0 takes a free one")
    store: Address | None = Field(
        default=None,
        description="where sessions are kept: a file, sqlite:/// or postgresql:// (default: the state folder)",
    )
    rules: tuple[Path, ...] = Field(default=(), description="folders of your own rules, loaded beside the shipped ones")
    tokens_file: Path | None = Field(default=None, description="file with a line `token tenant` for each token")
    metrics_open_on_loopback: bool = Field(
        default=False, description="answer /metrics without a token to callers on the same machine"
    )
    log_format: Literal["json", "text"] | None = Field(
        default=None, description="how log lines on stderr are written (default: text on a terminal, else json)"
    )
    idle_secs: float = Field(default=86_400, gt=0, description="seconds without a call after which a session ends")
    sweep_secs: float = Field(default=300, gt=0, description="seconds between two searches for ended sessions")
    cache_bytes: int = Field(default=256 << 20, ge=0, description="bytes of diagnoses kept in memory")
    drain_secs: float = Field(
        default=0, ge=0, description="seconds between `not ready` and closing the port, for load balancers to notice"
    )
    stop_secs: int = Field(default=30, ge=0, description="seconds that running requests have to end when stopping")
    limits: Limits = Limits()
