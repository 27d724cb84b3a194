"""Kernel and system logs of nodes, and the logs of the fabric manager and of the management controller."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime

from bench.scenarios.fleet import Node, iso
from bench.scenarios.scene import Scene, SystemLine
from bench.scenarios.writers.files import Files


def write(files: Files, scene: Scene, form: str) -> None:
    """The system log of every node that has one."""
    for index, lines in sorted(scene.systems.items()):
        node = scene.fleet.nodes[index]
        last = scene.silent_from.get(index, float("inf"))
        kept = sorted((line for line in lines if line.at <= last), key=lambda line: line.at)
        match form:
            case "journal_json":
                files.add(f"syslog/{node.name}.json", _journal(scene, node, kept))
            case "loki":
                files.add(f"syslog/{node.name}.json", _loki(scene, node, kept))
            case "dmesg":
                files.add(f"syslog/{node.name}.dmesg", _dmesg(node, kept))
            case "dmesg_and_journal":
                files.add(f"syslog/{node.name}.dmesg.log", _dmesg(node, kept))
                files.add(f"syslog/{node.name}.journal.log", _plain(scene, node, kept, "rfc3164"))
            case _:
                files.add(f"syslog/{node.name}.log", _plain(scene, node, kept, form))


def since_boot(node: Node, at: float) -> str:
    """The kernel's own stamp, which no wall clock moves."""
    return f"[{max(0.0, at - node.booted):12.6f}]"


def header(line: SystemLine) -> str:
    """Program and process as syslog writes them."""
    return f"{line.program}: " if line.program == "kernel" else f"{line.program}[{line.pid}]: "


def stamp(moment: datetime, form: str) -> str:
    """A stamp at the head of a line of a system log."""
    if form == "iso":
        return iso(moment, 6).replace("Z", "+00:00")
    return f"{moment:%b} {moment.day:2d} {moment:%H:%M:%S}"


def _plain(scene: Scene, node: Node, lines: Sequence[SystemLine], form: str) -> str:
    result = []
    for line in lines:
        text = line.text
        if form == "rfc3164_kernel" and line.program == "kernel":
            text = f"{since_boot(node, line.at)} {text}"
        result.append(f"{stamp(scene.fleet.wall(node, line.at), form)} {node.name} {header(line)}{text}")
    return "\n".join(result)


def _dmesg(node: Node, lines: Sequence[SystemLine]) -> str:
    return "\n".join(
        f"{since_boot(node, line.at)} {line.text}"
        for line in lines
        if line.program == "kernel" and line.at >= node.booted
    )


def _journal(scene: Scene, node: Node, lines: Sequence[SystemLine]) -> str:
    boot = f"{int(node.booted * 1000) * 2654435761 % 2**128:032x}"
    result = []
    for line in lines:
        record = {
            "__REALTIME_TIMESTAMP": str(int((line.at + node.skew) * 1e6)),
            "__MONOTONIC_TIMESTAMP": str(int(max(0.0, line.at - node.booted) * 1e6)),
            "_BOOT_ID": boot,
            "_TRANSPORT": "kernel" if line.program == "kernel" else "syslog",
            "PRIORITY": str(line.priority),
            "SYSLOG_IDENTIFIER": line.program,
            "_HOSTNAME": node.name,
            "MESSAGE": line.text,
        }
        if line.program != "kernel":
            record["_PID"] = str(line.pid)
        result.append(json.dumps(record))
    return "\n".join(result)


def _loki(scene: Scene, node: Node, lines: Sequence[SystemLine]) -> str:
    values = [
        [
            str(int((line.at + node.skew) * 1e6) * 1000),
            f"{stamp(scene.fleet.wall(node, line.at), 'rfc3164')} {node.name} {header(line)}{line.text}",
        ]
        for line in lines
    ]
    return json.dumps([{"stream": {"job": "syslog", "host": node.name}, "values": values}])


def fabric_manager(files: Files, scene: Scene) -> None:
    """The fabric manager's log of every node that has one."""
    for index, lines in sorted(scene.fabric.items()):
        node = scene.fleet.nodes[index]
        texts = [
            f"[{scene.fleet.wall(node, at):%b %d %Y %H:%M:%S}] [{level}] [tid {1800 + index % 900}] {text}"
            for at, level, text in sorted(lines)
        ]
        files.add(f"fabric_manager/{node.name}.log", "\n".join(texts))


def controller(files: Files, scene: Scene) -> None:
    """Event logs of management controllers, as `ipmitool sel elist` prints them, in UTC."""
    for index, lines in sorted(scene.bmc.items()):
        node = scene.fleet.nodes[index]
        texts = []
        for number, (at, sensor, event) in enumerate(sorted(lines)):
            moment = scene.fleet.wall(node, at).astimezone(UTC)
            texts.append(f"{number + 1:4x} | {moment:%m/%d/%Y} | {moment:%H:%M:%S} | {sensor} | {event}")
        files.add(f"bmc/{node.name}.txt", "\n".join(texts))
