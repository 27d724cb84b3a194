"""Answers as `sacct` and `sacctmgr` do, from rows that a test wrote. Run as either of them, by the name it is called.

The environment variable FAKE_SLURM names a JSON file: `rows` and `events` (lists of mappings, times as text in UTC),
`version`, and for faults `sleep_secs`, `stderr`, `exit_code`, `hidden_fields` (listed, and refused when asked for),
`noise_bytes` (so many bytes in place of rows), `cut_chars` and `cut_event_chars` (rows and events break off there).
"""

import json
import os
import random
import re
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def main() -> int:
    told = json.loads(Path(os.environ["FAKE_SLURM"]).read_text())
    name = Path(sys.argv[0]).name
    time.sleep(told.get("sleep_secs", {}).get(name, 0))
    if name in told.get("stderr", {}):
        sys.stderr.write(told["stderr"][name])
        return told.get("exit_code", 1)
    return sacctmgr(told) if name == "sacctmgr" else sacct(told)


def sacct(told: dict[str, Any]) -> int:
    options = {}
    for word in sys.argv[1:]:
        key, _, value = word.removeprefix("--").partition("=")
        options[key] = value
    if "version" in options:
        print(told["version"])
        return 0
    rows = told["rows"]
    known = list(rows[0])
    if "helpformat" in options:
        print("\n".join(" ".join(f"{field:<19}" for field in known[at : at + 4]) for at in range(0, len(known), 4)))
        return 0
    fields = options["format"].split(",")
    refused = [field for field in fields if field not in known or field in told.get("hidden_fields", [])]
    if refused:
        sys.stderr.write(f'sacct: error: Invalid field requested: "{refused[0]}"\n')
        return 1
    mark = options.get("delimiter", "|")
    if "noise_bytes" in told:
        sys.stdout.buffer.write(random.Random(1).randbytes(told["noise_bytes"]))
        return 0
    lines = [mark.join(stamped(field, row[field]) for field in fields) for row in rows if wanted(row, options, rows)]
    sys.stdout.write("".join(f"{line}\n" for line in lines)[: told.get("cut_chars")])
    return 0


def wanted(row: dict[str, str], options: dict[str, str], rows: list[dict[str, str]]) -> bool:
    is_step = "." in row["JobID"]
    if is_step and "allocations" in options:
        return False
    job = next(other for other in rows if other["DBIndex"] == row["DBIndex"] and "." not in other["JobID"])
    if "duplicates" not in options and any(
        other["JobID"] == job["JobID"] and int(other["DBIndex"]) > int(job["DBIndex"]) for other in rows
    ):
        return False
    for option, field in (("user", "User"), ("partition", "Partition"), ("accounts", "Account")):
        if option in options and job[field] not in options[option].split(","):
            return False
    if "allusers" not in options and job["User"] != "ada":
        return False
    if "jobs" in options:
        names = re.split(r"[_+]", job["JobID"])[0], job["JobID"], job["JobIDRaw"]
        return any(asked in names for asked in options["jobs"].split(","))
    state = job["State"].split()[0]
    if "state" in options and state not in options["state"].split(","):
        return False
    if "state" not in options and job["Eligible"] == "Unknown":
        return False  # a window without states leaves out what never became eligible
    end = job["End"]
    return end == "Unknown" or options["starttime"] <= end <= options["endtime"]


def stamped(field: str, value: str) -> str:
    """A time as the caller asks for it by the environment."""
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", value):
        return value
    if os.environ.get("SLURM_TIME_FORMAT") == "%s":
        return str(int(datetime.fromisoformat(value).replace(tzinfo=UTC).timestamp()))
    return value if os.environ.get("TZ") == "UTC" else "in the zone of the caller"


def sacctmgr(told: dict[str, Any]) -> int:
    options = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    nodes = options["nodes"].split(",") if "nodes" in options else None
    lines = []
    for row in told["events"]:
        over = row["TimeEnd"] not in {"Unknown"} and row["TimeEnd"] < options["start"]
        if row["NodeName"] and nodes is not None and row["NodeName"] not in nodes:
            continue
        if row["TimeStart"] <= options["end"] and not over:
            lines.append("|".join(stamped(field, row[field]) for field in options["format"].split(",")))
    sys.stdout.write("".join(f"{line}\n" for line in lines)[: told.get("cut_event_chars")])
    return 0


if __name__ == "__main__":
    sys.exit(main())
