"""What tests of a connector need: rules that every connector keeps, a server and a command that fail on purpose.

    from attribution.testing import HttpCollectorCompliance, Reply, comply

    class TestMine(HttpCollectorCompliance):
        ...

Nothing here needs pytest; docs/writing-connectors.md shows how a package of its own uses it.
"""

from attribution.testing.command import CommandAnswer, FakeCommand
from attribution.testing.compliance import (
    collected,
    collector_complies,
    comply,
    context_connector_complies,
    retries_of,
    says_all,
    sink_complies,
)
from attribution.testing.http_compliance import HttpCollectorCompliance
from attribution.testing.server import Handler, Reply, Request, Server, faulty

__all__ = [
    "CommandAnswer",
    "FakeCommand",
    "Handler",
    "HttpCollectorCompliance",
    "Reply",
    "Request",
    "Server",
    "collected",
    "collector_complies",
    "comply",
    "context_connector_complies",
    "faulty",
    "retries_of",
    "says_all",
    "sink_complies",
]
