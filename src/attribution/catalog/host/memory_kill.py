"""HOST102: the kernel killed a process because memory ran out, in a group or on the whole node."""

import re
from collections.abc import Iterator

from attribution.contracts.vocabulary import Source
from attribution.rules.api import Finding, Match, PrintedBy, extractor

_SERVICE = re.compile(
    r"^(?:systemd|sshd|dbus|cron|rsyslogd|snapd|polkitd|NetworkManager|chronyd|ntpd|containerd|dockerd|kubelet|crio|slurmd"
    r"|munged|nvidia-|nv-hostengine|dcgm|node_exporter|prometheus|vector|fluent|td-agent|telegraf|filebeat|otel|datadog"
    r"|agent$|promtail|grafana|auditd|amazon-ssm|google_|walinux|unattended|apt|dnf|yum|packagekitd|fwupd)"
)


@extractor(
    id="HOST102",
    name="memory-kill",
    since="0.1.0",
    literals=(
        "emory cgroup out of memory",
        "Out of memory: Kill",
        "Out of memory (oom_kill_allocating_task): Kill",
        "oom-kill:constraint=",
    ),
    pattern=(
        r"(?P<group>[Mm]emory cgroup out of memory): Kill(?:ed)? process (?P<pid>\d+),? \((?P<task>[^)]*)\)(?P<rest>.*)$",
        r"(?P<node>Out of memory(?: \(oom_kill_allocating_task\))?): Kill(?:ed)? process (?P<pid>\d+),? \((?P<task>[^)]*)\)(?P<rest>.*)$",
        r"oom-kill:constraint=CONSTRAINT_(?P<constraint>\w+),(?P<rest>.*)task=(?P<task>[^,]+),pid=(?P<pid>\d+)",
    ),
    emits=("CGROUP_OUT_OF_MEMORY", "NODE_OUT_OF_MEMORY", "SERVICE_OUT_OF_MEMORY"),
    printed_by=PrintedBy("Linux kernel", ">=3.10", "mm/oom_kill.c and mm/memcontrol.c"),
    sources=(Source.SYSLOG, Source.APPLOG),
)
def memory_kill(match: Match) -> Iterator[Finding]:
    """The kernel killed a process because memory ran out.

    Why: a kill inside a group means the limit of the container or step; a kill of the whole node means that all
    programs together used too much. Other ranks then only see a peer vanish.
    Misses: who used the memory on a node that several jobs share; a killed process is large, not always to blame.
    Next step: raise the limit that was hit, or use less host memory per rank.
    """
    task, rest = match["task"] or "", match["rest"] or ""
    group = match["group"] is not None or match["constraint"] == "MEMCG"
    if _SERVICE.match(task):
        symptom = "SERVICE_OUT_OF_MEMORY"
    else:
        symptom = "CGROUP_OUT_OF_MEMORY" if group else "NODE_OUT_OF_MEMORY"
    yield Finding(
        symptom,
        {
            "task": task,
            "pid": match["pid"],
            "scope": "group" if group else "node",
            "anon_rss": _size(rest, "anon-rss"),
            "shmem_rss": _size(rest, "shmem-rss"),
            "memcg": _value(rest, "task_memcg"),
        },
        discriminator=match["pid"] or "",
    )


def _size(text: str, name: str) -> str | None:
    found = re.search(rf"\b{name}:(\d+kB)", text)
    return found[1] if found else None


def _value(text: str, name: str) -> str | None:
    found = re.search(rf"\b{name}=([^,]+)", text)
    return found[1] if found else None


CASES = """
- name: limit of a group
  given: |
    node-01 +0.0s syslog | oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=step_0,mems_allowed=0-1,oom_memcg=/slurm/uid_1007/job_81234,task_memcg=/slurm/uid_1007/job_81234/step_0/task_3,task=python3,pid=4711,uid=1007
    node-01 +0.1s syslog | Memory cgroup out of memory: Killed process 4711 (python3) total-vm:91230112kB, anon-rss:67108864kB, file-rss:2048kB, shmem-rss:0kB, UID:1007 pgtables:132096kB oom_score_adj:0
  expect: |
    node-01 +0.0s CGROUP_OUT_OF_MEMORY task=python3 pid=4711 scope=group memcg=/slurm/uid_1007/job_81234/step_0/task_3
    node-01 +0.1s CGROUP_OUT_OF_MEMORY task=python3 pid=4711 scope=group anon_rss=67108864kB
- name: the whole node
  given: |
    node-01 +0.0s syslog | Out of memory: Killed process 4711 (pt_data_worker) total-vm:91230112kB, anon-rss:67108864kB, file-rss:2048kB, shmem-rss:52428800kB, UID:1007 pgtables:215040kB oom_score_adj:0
  expect: |
    node-01 +0.0s NODE_OUT_OF_MEMORY task=pt_data_worker scope=node shmem_rss=52428800kB
- name: old kernel
  given: |
    node-01 +0.0s syslog | Out of memory: Kill process 8812 (python) score 913 or sacrifice child
  expect: |
    node-01 +0.0s NODE_OUT_OF_MEMORY task=python pid=8812
- name: a daemon
  given: |
    node-01 +0.0s syslog | Memory cgroup out of memory: Killed process 900 (node_exporter) total-vm:1834kB, anon-rss:1048kB, file-rss:0kB, shmem-rss:0kB
  expect: |
    node-01 +0.0s SERVICE_OUT_OF_MEMORY task=node_exporter
- name: a setting
  because: nobody was killed
  given: |
    node-01 +0.0s applog | note: on "Memory cgroup out of memory" raise --mem
  expect: none
"""
