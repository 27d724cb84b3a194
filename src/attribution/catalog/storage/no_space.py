"""STOR001: a program found no space left, on shared storage, in scratch space or in shared memory."""

import re
from collections.abc import Iterator

from attribution.contracts.vocabulary import Source
from attribution.rules.api import Finding, Match, PrintedBy, extractor

_SHARED_MEMORY = re.compile(r"^/dev/shm(?:/|$)")
_IMAGE = re.compile(
    r"pyxis: |enroot|squashfs|ApplyLayer|ailed to register layer|/var/lib/(?:containerd|docker|containers|kubelet)"
)
_SCRATCH = re.compile(r"^/(?:tmp|var/tmp|local|localscratch|scratch_local|ssd|nvme)(?:/|$)")


@extractor(
    id="STOR001",
    name="no-space-left",
    since="0.1.0",
    literals=("No space left on device", "(os error 28)"),
    pattern=(
        r"\[Errno 28\] No space left on device(?:: ['\"](?P<path>[^'\"]{1,300}))?",
        r"^[^:]{1,100}: (?:cannot [\w ]{1,40} |error writing )?['\"]?(?P<path>[^:'\"]{1,300})['\"]?: No space left on device",
        r"(?:rror|RROR|ailed|FAILED|write|errno 28)[^\n]{0,200}(?:No space left on device|\(os error 28\))",
    ),
    emits=("STORAGE_FULL", "SCRATCH_FULL", "SHARED_MEMORY_FULL"),
    printed_by=PrintedBy("CPython and tools", "any", "strerror(ENOSPC) of glibc"),
    sources=(Source.APPLOG, Source.SCHEDULER),
)
def no_space_left(match: Match) -> Iterator[Finding]:
    """A write failed because the file system of its path is full.

    Why: every later write fails the same way, and files that were being written are cut short.
    Misses: which file system it was, where the message has no path; it then counts as shared storage.
    Next step: look at the space and inodes of the path on the node; remove old checkpoints or move the path.
    """
    text, path = match.text, match["path"]
    if "NCCL" in text or "inotify" in text or "</torch_" in text or _IMAGE.search(text):
        return  # rules of those read them
    if path and _SHARED_MEMORY.match(path):
        symptom = "SHARED_MEMORY_FULL"
    elif path and _SCRATCH.match(path):
        symptom = "SCRATCH_FULL"
    else:
        symptom = "STORAGE_FULL"
    yield Finding(symptom, fields={"path": path})


CASES = """
- name: Python
  given: |
    node-01 +0.0s applog | OSError: [Errno 28] No space left on device: '/data/out/step10.pt'
  expect: |
    node-01 +0.0s STORAGE_FULL path=/data/out/step10.pt
- name: a tool
  given: |
    node-01 +0.0s applog | tee: train.log: No space left on device
  expect: |
    node-01 +0.0s STORAGE_FULL path=train.log
- name: scratch space
  given: |
    node-01 +0.0s applog | OSError: [Errno 28] No space left on device: '/tmp/cache/part-1'
  expect: |
    node-01 +0.0s SCRATCH_FULL path=/tmp/cache/part-1
- name: shared memory
  given: |
    node-01 +0.0s applog | OSError: [Errno 28] No space left on device: '/dev/shm/ring'
  expect: |
    node-01 +0.0s SHARED_MEMORY_FULL path=/dev/shm/ring
- name: NCCL
  because: its own rule reads it
  given: |
    node-01 +0.0s applog | include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device
  expect: none
- name: an image that is unpacked
  because: the image store is full, and its own rule says so
  given: |
    node-01 +0.0s scheduler | slurmstepd: error: pyxis:     tar: usr/lib/libcublas.so: Cannot write: No space left on device
  expect: none
- name: another form
  given: |
    node-01 +0.0s applog | write failed: No space left on device
  expect: |
    node-01 +0.0s STORAGE_FULL
"""
