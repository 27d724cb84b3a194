"""A typed client of the Attribution Service."""

from attribution.client.client import AttributionClient, BatchLimits, Tagged
from attribution.client.errors import ServiceError, ServiceMisunderstood, ServiceProblem, ServiceUnreachable
from attribution.client.retry import Retries

__all__ = [
    "AttributionClient",
    "BatchLimits",
    "Retries",
    "ServiceError",
    "ServiceMisunderstood",
    "ServiceProblem",
    "ServiceUnreachable",
    "Tagged",
]
