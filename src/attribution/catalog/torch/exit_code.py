"""TORCH030: a worker process that torchrun saw end with an error."""

from collections.abc import Iterator

from attribution.contracts.vocabulary import Source
from attribution.extraction.decoders.results import ending
from attribution.rules.api import Finding, Match, PrintedBy, extractor


@extractor(
    id="TORCH030",
    name="torch-exit-code",
    since="0.1.0",
    literals=("failed (exitcode: ",),
    pattern=r"\bfailed \(exitcode: (?P<code>-?\d{1,5})\) local_rank: (?P<local_rank>-?\d+) \(pid: (?P<pid>\d+)\)",
    emits=("PROCESS_EXIT_CODE",),
    printed_by=PrintedBy(
        "torchrun", ">=1.9", "MultiprocessContext and SubprocessContext of torch/distributed/elastic/multiprocessing"
    ),
    sources=(Source.APPLOG, Source.SYSLOG, Source.SCHEDULER),
)
def exit_code(match: Match) -> Iterator[Finding]:
    """torchrun saw a worker end with an error; the code or signal says how, not why.

    Why: signal 9 points at memory or at somebody who killed it, 11 and 6 at a crash, 1 at an exception in the log.
    Misses: the reason, and failures of other nodes.
    Next step: read the log of the local rank that is named; for SIGKILL look for the memory limit in kernel and
    scheduler records.
    """
    end = ending(int(match["code"] or 0))
    yield Finding(
        "PROCESS_EXIT_CODE",
        fields={
            "exit_code": None if end.exit_code is None else str(end.exit_code),
            "signal": end.name or (None if end.signal is None else str(end.signal)),
            "local_rank": match["local_rank"],
            "pid": match["pid"],
        },
    )


CASES = r"""
- name: an exception, old and recent log forms
  given: |
    node-01 +0.0s applog | ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 0 (pid: 178) of binary: /usr/bin/python
    node-01 +1.0s applog | E0101 00:00:01.368000 103939 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1) local_rank: 2 (pid: 103943) of binary: /usr/bin/python
  expect: |
    node-01 +0.0s PROCESS_EXIT_CODE exit_code=1 local_rank=0 pid=178
    node-01 +1.0s PROCESS_EXIT_CODE exit_code=1 local_rank=2
- name: a kill
  given: |
    node-01 +0.0s applog | [2026-01-01 00:00:00,164] torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: -9) local_rank: 1 (pid: 178) of binary: /usr/bin/python
  expect: |
    node-01 +0.0s PROCESS_EXIT_CODE signal=SIGKILL local_rank=1
- name: another program's exit code
  because: it names no local rank
  given: |
    node-01 +0.0s applog | step 3 failed (exitcode: 2)
  expect: none
"""
