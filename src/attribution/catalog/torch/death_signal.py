"""TORCH031: a signal that reached torchrun itself."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import Source
from attribution.extraction.decoders.results import SIGNALS
from attribution.rules.api import Finding, Match, PrintedBy, extractor

_SYMPTOMS = {"SIGINT": "TORCHRUN_INTERRUPTED", "SIGHUP": "TORCHRUN_HANGUP"}


@extractor(
    id="TORCH031",
    name="torch-death-signal",
    since="0.1.0",
    literals=(" death signal, shutting down workers", "SignalException: Process "),
    pattern=(
        r"Received (?:Signals\.)?(?P<signal>SIG[A-Z]{2,6}|\d{1,2}) death signal, shutting down workers",
        r"SignalException: Process \d+ got signal: (?:Signals\.)?(?P<signal>SIG[A-Z]{2,6}|\d{1,2})\b",
    ),
    emits=("TORCHRUN_TERMINATED", "TORCHRUN_INTERRUPTED", "TORCHRUN_HANGUP"),
    printed_by=PrintedBy("torchrun", ">=1.9", "SimpleElasticAgent.run and _terminate_process_handler"),
    sources=(Source.APPLOG, Source.SYSLOG, Source.SCHEDULER),
)
def death_signal(match: Match) -> Iterator[Finding]:
    """torchrun received a signal and ends its workers; interrupt and hang-up come from a terminal.

    Why: the launcher was ended from outside, so nothing that its workers print afterwards is a cause.
    Misses: who sent a SIGTERM: scheduler, a person, or a script that saw another process fail.
    Next step: for SIGTERM read the scheduler's record; for SIGHUP start the job detached from the terminal.
    """
    given = match["signal"] or ""
    name = SIGNALS.get(int(given), given) if given.isdecimal() else given
    yield Finding(_SYMPTOMS.get(name, "TORCHRUN_TERMINATED"), fields={"signal": name})


CASES = r"""
- name: a closed terminal
  given: |
    node-01 +0.0s applog | W0101 00:00:00.194000 85946 torch/distributed/elastic/agent/server/api.py:719] Received 1 death signal, shutting down workers
  expect: |
    node-01 +0.0s TORCHRUN_HANGUP signal=SIGHUP
- name: Ctrl-C
  given: |
    node-01 +0.0s applog | WARNING:torch.distributed.elastic.agent.server.api:Received Signals.SIGINT death signal, shutting down workers
    node-01 +0.1s applog | torch.distributed.elastic.multiprocessing.api.SignalException: Process 2326 got signal: 2
  expect: |
    node-01 +0.0s TORCHRUN_INTERRUPTED signal=SIGINT
    node-01 +0.1s TORCHRUN_INTERRUPTED signal=SIGINT
- name: a request to end
  given: |
    node-01 +0.0s applog | W0101 00:00:00.388000 125339 torch/distributed/elastic/agent/server/api.py:754] Received 15 death signal, shutting down workers
  expect: |
    node-01 +0.0s TORCHRUN_TERMINATED signal=SIGTERM
- name: a signal of another kind
  because: nothing is shut down
  given: |
    node-01 +0.0s applog | monitor: no death signal, shutting down workers is not needed
  expect: none
"""
