"""What `--watch` remembers of jobs that run: where their pods are, and since when; the cluster forgets it."""

import json
import time
from collections.abc import Callable, Iterator
from datetime import datetime

from attribution.blueprint.connectors.base import Memory
from attribution.blueprint.connectors.kubernetes.cluster import Cluster
from attribution.blueprint.connectors.kubernetes.evidence import trimmed
from attribution.blueprint.connectors.kubernetes.objects import Object, instant, kind, name, text, uid
from attribution.blueprint.connectors.kubernetes.placement import Seen, ranks_of
from attribution.blueprint.connectors.kubernetes.resources import BY_KIND, POD
from attribution.blueprint.connectors.kubernetes.standing import Standing, stretches
from attribution.blueprint.connectors.kubernetes.stories import Stories, Story

_LONGEST_VALUE = 60 << 10


class Recorder:
    """Keeps pods by job and attempt, each as it was last seen.

    What has not changed is written again only when half of the time is over for which it is kept.
    """

    def __init__(self, memory: Memory, keep_secs: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.memory = memory
        self._keep_secs = keep_secs
        self._clock = clock
        self._written: dict[str, tuple[int, float]] = {}

    def note(self, stories: Stories, cluster: Cluster) -> None:
        """Look at all pods once, and keep those of the jobs that run."""
        numbers: dict[tuple[str, str, str], int | None] = {}
        roots: dict[tuple[str, str, str], Object] = {}
        fresh: dict[str, tuple[int, float]] = {}
        for scope in stories.scopes:
            for pod in cluster.list(POD, scope):
                story = stories.of(pod)
                if story is None or not text(pod, "spec", "nodeName") or not uid(pod):
                    continue
                if story.key not in numbers:
                    numbers[story.key] = self._begun(story)
                    roots[story.key] = _whole(story, cluster) if numbers[story.key] else story.root
                attempt = numbers[story.key]
                if attempt is not None:
                    seen = Seen(trimmed(pod), ranks_of(pod, roots[story.key]))
                    self._keep(f"pod/{uid(story.root)}/{attempt}/{uid(pod)}", _dumped(seen), fresh)
        self._written = fresh

    def _begun(self, story: Story) -> int | None:
        """The number of the attempt that runs or has just ended, whose beginning is kept; None of one that waits."""
        now = stretches(story.root, story.workload, (), story.pods)[-1]
        if now.standing in {Standing.WAITING, Standing.EVICTED}:
            return None
        if now.started_at is not None:
            self._keep(f"begin/{uid(story.root)}/{now.number}", now.started_at.isoformat(), {})
        return now.number

    def _keep(self, key: str, value: str, fresh: dict[str, tuple[int, float]]) -> None:
        mark, now = hash(value), self._clock()
        before = self._written.get(key)
        if before is not None and before[0] == mark and now - before[1] < self._keep_secs / 2:
            fresh[key] = before
        elif len(value) <= _LONGEST_VALUE:
            self.memory.put(key, value, self._keep_secs)
            fresh[key] = (mark, now)

    def begin(self, root: str, attempt: int) -> datetime | None:
        """When an attempt began, if that was seen."""
        found = self.memory.get(f"begin/{root}/{attempt}")
        return instant({"at": found}, "at") if found else None

    def pods(self, root: str, attempt: int | None = None) -> list[Seen]:
        """The pods of an attempt, or of all attempts of a job, as they were last seen."""
        prefix = f"pod/{root}/" if attempt is None else f"pod/{root}/{attempt}/"
        return [seen for _, value in self.memory.items(prefix) for seen in _loaded(value)]


def _whole(story: Story, cluster: Cluster) -> Object:
    """The job with its templates, which say how pods are counted; as it is known where it is gone."""
    resource = BY_KIND.get(kind(story.root))
    if resource is None or resource is POD:
        return story.root
    return cluster.get(resource, text(story.root, "metadata", "namespace"), name(story.root)) or story.root


def _dumped(seen: Seen) -> str:
    return json.dumps({"pod": seen.pod, "ranks": seen.ranks}, separators=(",", ":"), sort_keys=True)


def _loaded(value: str) -> Iterator[Seen]:
    try:
        found = json.loads(value)
        yield Seen(dict(found["pod"]), tuple(int(rank) for rank in found["ranks"]))
    except (ValueError, KeyError, TypeError):  # written by another version
        return
