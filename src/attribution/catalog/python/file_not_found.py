"""PY013: a file that the program needs does not exist."""

import re
from collections.abc import Iterator

from attribution.contracts.vocabulary import Action, Role, Source, SubDomain
from attribution.events.symptom import SymptomType
from attribution.rules.api import Finding, Match, PrintedBy, extractor

# Files that processes make for one another: they vanish with the process that made them.
_OF_PROCESSES = re.compile(
    r"^(?:/dev/shm/|/proc/|/sys/|/tmp/(?:pymp-|torch_|torchelastic_|tmp)|/run/|psm_|/psm_)|\.sock$|\.lock$"
)
_OF_DATA = re.compile(
    r"\.(?:bin|idx|npy|npz|arrow|parquet|jsonl|tfrecord|h5|hdf5|tar|lmdb|mdb|csv|tsv|jpg|jpeg|png|wav|flac|mp4|npz)"
    r"(?:\.gz|\.zst)?$",
    re.IGNORECASE,
)

SYMPTOMS = (
    SymptomType(
        name="FILE_NOT_FOUND",
        role=Role.CAUSE,
        meaning="a file that is not where the job looks for it",
        sub_domain=SubDomain.USER_CONFIG,
        actions=(Action.FIX_USER_CONFIG,),
        tags=("app_failure",),
    ),
    SymptomType(
        name="DATA_FILE_NOT_FOUND",
        role=Role.CAUSE,
        meaning="a data file that is not where the job looks for it",
        sub_domain=SubDomain.DATA,
        actions=(Action.FIX_DATA, Action.FIX_USER_CONFIG),
        tags=("app_failure",),
    ),
)


@extractor(
    id="PY013",
    name="file-not-found",
    since="0.1.0",
    literals=("FileNotFoundError",),
    # Ranks that write into each other's lines leave marks between the words.
    pattern=(
        r"FileNotFoundError\W{1,60}\[Errno 2\] No such file or directory:? ?['\"](?P<path>[^'\"]{1,400})",
        r"^\W{0,40}(?:\w{1,60}\.){0,8}FileNotFoundError: .{0,200}?['\" ](?P<path>/[^'\" ,;]{1,400})",
        r"^\W{0,40}(?:\w{1,60}\.){0,8}FileNotFoundError(?::|$)",
    ),
    emits=("FILE_NOT_FOUND", "DATA_FILE_NOT_FOUND"),
    printed_by=PrintedBy("CPython", ">=3.3", "OSError with errno ENOENT; libraries raise it with texts of their own"),
    sources=(Source.APPLOG, Source.SCHEDULER),
)
def file_not_found(match: Match) -> Iterator[Finding]:
    """A path of the job does not lead to a file.

    Why: a wrong path, a mount that is missing on one node, or a file that was never made; a restart fails the same way.
    Misses: files that other processes make and remove, such as sockets and shared memory; those are left out.
    Next step: look for the path on the node that failed and inside its container; compare with a node that found it.
    """
    path = match["path"] or ""
    if _OF_PROCESSES.search(path):
        return
    yield Finding(
        "DATA_FILE_NOT_FOUND" if _OF_DATA.search(path) else "FILE_NOT_FOUND",
        fields={"path": path or None},
        discriminator=path[:120],
    )


CASES = """
- name: a configuration
  given: |
    node-01.rank3 +0.0s applog | FileNotFoundError: [Errno 2] No such file or directory: '/data/job/config.yaml'
  expect: |
    node-01.rank3 +0.0s FILE_NOT_FOUND path=/data/job/config.yaml
- name: an index of a data set
  given: |
    node-01 +0.0s applog | FileNotFoundError: [Errno 2] No such file or directory: '/data/corpus_text_document.idx'
  expect: |
    node-01 +0.0s DATA_FILE_NOT_FOUND path=/data/corpus_text_document.idx
- name: ranks that write into each other's lines
  given: |
    node-01 +0.0s applog | ^^^FileNotFoundError^^: ^^    [Errno 2] No such file or directory: '/data/job/config.yaml'^^
  expect: |
    node-01 +0.0s FILE_NOT_FOUND path=/data/job/config.yaml
- name: a socket of a process that has ended
  because: it is missing because its maker is gone
  given: |
    node-01 +0.0s applog | FileNotFoundError: [Errno 2] No such file or directory: '/tmp/pymp-3kx9/listener-77'
  expect: none
- name: its other forms
  given: |
    node-01 +0.0s applog | FileNotFoundError: Couldn't find any data file at /data/job/set
    node-01 +1.0s applog | FileNotFoundError: no checkpoint to resume from
  expect: |
    node-01 +0.0s FILE_NOT_FOUND path=/data/job/set
    node-01 +1.0s FILE_NOT_FOUND
"""
