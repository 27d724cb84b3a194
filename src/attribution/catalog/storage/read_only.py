"""STOR005: a program may not write because its path lies on a read-only file system."""

import re
from collections.abc import Iterator

from attribution.contracts.vocabulary import Source
from attribution.rules.api import Finding, Match, PrintedBy, extractor

_OF_IMAGES = re.compile(r"^/(?:usr|opt|etc|lib|lib64|bin|sbin|var|root|workspace|app)(?:/|$)")


@extractor(
    id="STOR005",
    name="read-only-file-system",
    since="0.1.0",
    literals=("Read-only file system",),
    pattern=(
        r"\[Errno 30\] Read-only file system(?:: ['\"](?P<path>[^'\"]{1,300}))?",
        r"^[^:]{1,100}: (?:cannot [\w ]{1,40} )?['\"]?(?P<path>[^:'\"]{1,300})['\"]?: Read-only file system",
    ),
    emits=("STORAGE_READ_ONLY", "CONTAINER_PATH_READ_ONLY"),
    printed_by=PrintedBy("CPython and tools", "any", "strerror(EROFS) of glibc"),
    sources=(Source.APPLOG, Source.SCHEDULER),
)
def read_only(match: Match) -> Iterator[Finding]:
    """A path cannot be written because its file system is mounted read-only.

    Why: a file system that met errors turns read-only; a container image is so by intent.
    Misses: which of the two it is, where the path could be of either; paths that images own count as the image's.
    Next step: look at the mount of the path on the node; if it is of the image, write elsewhere.
    """
    path = match["path"]
    image = path is not None and _OF_IMAGES.match(path) is not None
    yield Finding("CONTAINER_PATH_READ_ONLY" if image else "STORAGE_READ_ONLY", fields={"path": path})


CASES = """
- name: a shared folder
  given: |
    node-01 +0.0s applog | OSError: [Errno 30] Read-only file system: '/data/out/step10.pt'
  expect: |
    node-01 +0.0s STORAGE_READ_ONLY path=/data/out/step10.pt
- name: the image of a container
  given: |
    node-01 +0.0s applog | OSError: [Errno 30] Read-only file system: '/usr/local/lib/python3.11/site-packages/x.so'
  expect: |
    node-01 +0.0s CONTAINER_PATH_READ_ONLY
- name: a note
  because: nothing was refused
  given: |
    node-01 +0.0s applog | mounted as Read-only file system on purpose
  expect: none
- name: another form
  given: |
    node-01 +0.0s applog | touch: cannot touch '/data/out/flag': Read-only file system
  expect: |
    node-01 +0.0s STORAGE_READ_ONLY path=/data/out/flag
"""
