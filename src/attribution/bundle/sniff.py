"""The first bytes of a file tell its format, or why it is no log at all. Pure functions over bytes."""

import json
import re
from typing import Any

from attribution.contracts.vocabulary import Format

HEAD_BYTES = 1 << 16
"""How much of a file is looked at."""

_BINARY = (
    (b"\x7fELF", "is a program or core dump (ELF)"),
    (b"\x89PNG", "is an image (PNG)"),
    (b"\xff\xd8\xff", "is an image (JPEG)"),
    (b"GIF8", "is an image (GIF)"),
    (b"%PDF", "is a PDF document"),
    (b"PK\x03\x04", "is a zip file, such as a checkpoint"),
    (b"PK\x05\x06", "is an empty zip file"),
    (b"SQLite format 3\x00", "is an SQLite database"),
    (b"\x89HDF", "is an HDF5 file"),
    (b"PAR1", "is a Parquet file"),
    (b"\x93NUMPY", "is a NumPy array"),
    (b"LPKSHHRH", "is a binary systemd journal; export it with `journalctl -o json`"),
    (b"\xfd7zXZ\x00", "is compressed with xz; compress it with gzip or zstd instead"),
    (b"BZh", "is compressed with bzip2; compress it with gzip or zstd instead"),
    (b"\x04\x22\x4d\x18", "is compressed with lz4; compress it with gzip or zstd instead"),
    (b"7z\xbc\xaf\x27\x1c", "is a 7-Zip archive; unpack it first"),
    (b"\x1f\x8b", "is compressed twice; decompress it once"),
    (b"\x28\xb5\x2f\xfd", "is compressed twice; decompress it once"),
    (b"\xff\xfe", "is UTF-16 text; convert it to UTF-8"),
    (b"\xfe\xff", "is UTF-16 text; convert it to UTF-8"),
)
_PICKLE = re.compile(rb"\x80[\x02-\x05][\x95\x80(}\]cKX\x8c]")
_ODD_CONTROLS = bytes(c for c in range(1, 32) if c not in b"\a\b\t\n\v\f\r\x1b") + b"\x7f"
_HOLE = re.compile(rb"\0{4,}")
"""What is left in a log that was truncated while its writer went on, or that a network file system lost a part of."""
_JSON_START = re.compile(rb"\{\s*[\"}]|\[\s*[{\[\]]")
_METRIC_LINE = re.compile(
    rb"# (?:HELP|TYPE) [A-Za-z_:]"
    rb"|[A-Za-z_:][\w:]*(?:\{[^\n]*\})? +(?:[-+]?[\d.]+(?:[eE][-+]?\d+)?|NaN|[-+]Inf)(?: +-?\d+)?\s*$"
)
_SACCT_HEADER = re.compile(rb"(?:\w+\|)*(?:JobID|JobIDRaw)\|(?:[\w%/]+\|)*[\w%/]+\|?\s*$", re.IGNORECASE)


def is_tar(head: bytes) -> bool:
    """Whether the bytes are the start of a tar archive that says so."""
    return head[257:262] == b"ustar"


def why_no_log(head: bytes) -> str | None:
    """Why a file with this start is no log, as the end of a sentence about the file; None if it may be one.

    Some NUL bytes, control characters and invalid UTF-8 do not make a log binary: writers die in the middle of lines.
    """
    for magic, reason in _BINARY:
        if head.startswith(magic):
            return reason
    if _PICKLE.match(head):
        return "is a pickle dump, which is never unpickled; write the dump as JSON"
    if is_tar(head):
        return "is an archive; unpack it first"
    text = _HOLE.sub(b"", head) if b"\0" in head else head
    nuls = text.count(0)
    odd = len(text) - len(text.translate(None, _ODD_CONTROLS))
    if nuls > 8 and nuls * 10 > len(text) * 3:
        return "is binary data or UTF-16 text without a mark"
    if odd > 8 and odd * 20 > len(text) - nuls:
        return "is binary data"
    if _is_diagnosis(text):
        return "is a diagnosis, not evidence"
    return None


def _is_diagnosis(text: bytes) -> bool:
    start = text[:400].lstrip()
    return start.startswith(b"{") and b'"schema_version"' in start and b'"terminal_state"' in start


def find_format(head: bytes) -> Format:
    """The format of a document that starts with these bytes; text when nothing else is sure."""
    text = head.removeprefix(b"\xef\xbb\xbf").strip(b"\0").lstrip()
    if _JSON_START.match(text):
        return _json_format(text) or Format.TEXT
    lines = [line for line in text[:8192].split(b"\n")[:20] if line.strip()]
    if lines and len(text) > 8192:
        lines = lines[:-1] or lines
    if lines and _SACCT_HEADER.match(lines[0]) and b"state" in lines[0].lower():
        return Format.SACCT_PARSABLE2
    is_metrics = lines and all(_METRIC_LINE.match(line) or line.startswith(b"#") for line in lines)
    if is_metrics and (lines[0].startswith((b"# HELP ", b"# TYPE ")) or any(b"{" in line for line in lines)):
        return Format.PROMETHEUS_METRICS
    return Format.TEXT


def _json_format(text: bytes) -> Format | None:
    first = text.split(b"\n", 1)[0]
    for part in (first, text):
        try:
            value = json.loads(part)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, list):
            value = value[0] if value else {}
        return _format_of_object(value) if isinstance(value, dict) else None
    return _format_of_start(text)


def _format_of_object(value: dict[str, Any]) -> Format | None:
    """The format of a whole JSON object: a document, the first of an array, or the first line."""
    keys = value.keys()
    data = value.get("data")
    if isinstance(data, dict) and "resultType" in data:
        return Format.RAW_LOKI_STREAMS if data["resultType"] == "streams" else Format.PROMETHEUS_METRICS
    if keys >= {"stream", "values"} or ("streams" in keys and len(keys) == 1):
        return Format.RAW_LOKI_STREAMS
    if "metric" in keys and keys & {"value", "values", "histogram", "histograms"}:
        return Format.PROMETHEUS_METRICS
    if "__REALTIME_TIMESTAMP" in keys or ("MESSAGE" in keys and keys & {"_HOSTNAME", "_BOOT_ID", "SYSLOG_IDENTIFIER"}):
        return Format.JOURNAL_JSON
    if "apiVersion" in keys and "kind" in keys:
        return Format.KUBERNETES_OBJECTS
    jobs = value.get("jobs")
    if isinstance(jobs, list) and all(isinstance(job, dict) and "association" in job for job in jobs[:1]):
        return Format.SACCT_JSON
    if "entries" in keys and keys & {"version", "pg_config", "pg_status", "nccl_version", "nccl_comm_state"}:
        return Format.NCCL_FLIGHT_RECORDER
    if ("log" in keys and keys & {"stream", "time", "kubernetes"}) or ("kubernetes" in keys and "message" in keys):
        return Format.KUBERNETES_JSON
    return None


def _format_of_start(text: bytes) -> Format | None:
    """The format of a JSON document of several lines, or one longer than the head, by the keys seen in it.

    Keys inside quoted text do not count: their quotes are escaped there.
    """
    if (found := re.search(rb'"resultType"\s*:\s*"(\w+)"', text)) is not None:
        return Format.RAW_LOKI_STREAMS if found.group(1) == b"streams" else Format.PROMETHEUS_METRICS
    seen = {key for key in _SIGNS if re.search(rb'"' + key + rb'"\s*:', text)}
    for needed, choice, result in _SIGNATURES:
        if needed <= seen and (not choice or choice & seen):
            return result
    return None


_SIGNATURES: tuple[tuple[frozenset[bytes], frozenset[bytes], Format], ...] = (
    (frozenset({b"__REALTIME_TIMESTAMP"}), frozenset(), Format.JOURNAL_JSON),
    (frozenset({b"apiVersion", b"kind"}), frozenset(), Format.KUBERNETES_OBJECTS),
    (frozenset({b"entries"}), frozenset({b"pg_config", b"pg_status", b"nccl_version"}), Format.NCCL_FLIGHT_RECORDER),
    (frozenset({b"collective_seq_id"}), frozenset(), Format.NCCL_FLIGHT_RECORDER),
    (frozenset({b"metric"}), frozenset({b"value", b"values"}), Format.PROMETHEUS_METRICS),
    (frozenset({b"stream", b"values"}), frozenset(), Format.RAW_LOKI_STREAMS),
    (frozenset({b"jobs", b"association"}), frozenset(), Format.SACCT_JSON),
)
_SIGNS = sorted(frozenset().union(*(needed | choice for needed, choice, _ in _SIGNATURES)))
