"""CORE006: a line of a merged log belongs to the node and rank that its prefix stands for."""

from collections.abc import Iterator, Mapping, Sequence

from attribution.bundle.evidence import StreamKey
from attribution.contracts.context import ExecutionContext
from attribution.contracts.vocabulary import Role, Source
from attribution.events.event import Event
from attribution.rules.api import Annotate, EventDecision, EventView, FilterStage, event_filter

_OF_JOB = frozenset({Source.APPLOG, Source.SCHEDULER})
_MOST_LOCAL_RANKS = 64
"""Ranks of one launcher that are looked for."""
_SUMMARY = "TORCHRUN_ROOT_CAUSE"


@event_filter(id="CORE006", name="writer-places", since="0.1.0", stage=FilterStage.EARLY)
def writer_places(view: EventView) -> Iterator[EventDecision]:
    """A rank is given the node that the context places it on; a label of srun is no rank where each task runs several.

    Why: one output of a whole job says `3: [default1]:`, operators and causality need the node and the global rank.
    Misses: contexts that do not list the ranks of their nodes, and launchers that place tasks in another order than
    that of the nodes.
    Next step: nothing; give `ranks` of the nodes in the context to have this.
    """
    launched = any(_of_launcher(event) for event in view.events)
    ranks, tasks = _learned(view.events, launched)
    places = _Places(view.context, ranks)
    failed = _failed(view.of(_SUMMARY))
    for event in view.of("PROCESS_EXIT_CODE") if launched else ():
        if event.rank is not None and not event.writer and event.rank != event.key.rank:
            yield Annotate(event, "each of its tasks runs a launcher of several ranks", no_rank=True)
    for events in _by_stream(view.events).values():
        agents = _are_agents(events)
        hosts = {**_hosts(events), **tasks} if agents else {}
        for event in events:
            task, inner, local = _writer(event)
            node, rank = event.node, event.rank
            if agents and task is not None:
                node = node or hosts.get(task) or places.of_task(task)
                rank = rank if event.symptom == _SUMMARY else inner
            if rank is None and local is not None:
                rank = places.rank(node, local)
                if node is None and view.types[event.symptom].role is Role.CAUSE:
                    node, rank = failed.get(local, (None, None))
            node = node or places.node(rank)
            if (node, rank) != (event.node, event.rank):
                yield Annotate(event, "that is where its writer runs", node=node, rank=rank, no_rank=rank is None)


def _failed(summaries: Sequence[Event]) -> Mapping[int, tuple[str | None, int | None]]:
    """Local rank -> node and rank, where of all launchers one alone saw that local rank exit by itself first.

    Where only one launcher saw any exit by itself, all local ranks are its own.
    """
    found: dict[int, set[tuple[str | None, int | None]]] = {}
    for event in summaries:
        if (event.get("exit_code") or "-").isdecimal() and (number := event.get("local_rank") or "").isdecimal():
            found.setdefault(int(number), set()).add((event.node, event.rank))
    alone = {local: min(places, key=repr) for local, places in found.items() if len(places) == 1}
    if len(found) == len(alone) == 1:
        ((local, (node, rank)),) = alone.items()
        first = None if rank is None else rank - local
        return {other: (node, None if first is None else first + other) for other in range(_MOST_LOCAL_RANKS)}
    return alone


def _by_stream(events: Sequence[Event]) -> dict[StreamKey, list[Event]]:
    """The events of programs' own logs that a prefix tells apart, or whose rank is all that is known of their place."""
    found: dict[StreamKey, list[Event]] = {}
    for event in events:
        if event.key.source is Source.APPLOG and (event.writer or (event.node is None and event.rank is not None)):
            found.setdefault(event.key, []).append(event)
    return found


def _writer(event: Event) -> tuple[int | None, int | None, int | None]:
    """The task, the global and the local rank that the prefixes of a line name."""
    task = inner = local = None
    words = event.writer.split()
    for position, word in enumerate(words):
        if word == "task" and words[position + 1 :]:
            task = int(words[position + 1])
        elif word.startswith("rank") and word[4:].isdecimal():
            inner = int(word[4:])
        elif word.startswith("default") and word[7:].isdecimal():
            local = int(word[7:])
    return task, inner, local


def _are_agents(events: Sequence[Event]) -> bool:
    """Whether the tasks of a stream are launchers of several ranks: a line of one names another rank, or a local one.

    torchrun alone prefixes `[default0]:`, and prints summaries of its own; where it runs one rank on each node, its
    task and its rank are the same.
    """
    for event in events:
        task, inner, _ = _writer(event)
        if task is None:
            continue
        if _of_launcher(event) or (inner is not None and inner != task):
            return True
    return False


def _of_launcher(event: Event) -> bool:
    """Whether torchrun printed a line, or its prefix."""
    return _writer(event)[2] is not None or event.symptom.startswith("TORCHRUN_")


def _learned(events: Sequence[Event], launched: bool) -> tuple[Mapping[int, str], Mapping[int, str]]:
    """The node of each rank, and of each task that runs several, as far as lines name both and never two nodes.

    What srun says of `task 3` is said of a rank unless each task is `launched` as one torchrun.
    """
    ranks: dict[int, set[str]] = {}
    tasks: dict[int, set[str]] = {}
    for event in events:
        if event.node is None or event.rank is None or event.key.source not in _OF_JOB:
            continue
        inner = _writer(event)[1]
        is_rank = not launched or event.symptom.startswith("TORCHRUN_") or event.rank in {inner, event.key.rank}
        (ranks if is_rank else tasks).setdefault(event.rank, set()).add(event.node)
    return _alone(ranks), _alone(tasks)


def _alone(named: Mapping[int, set[str]]) -> Mapping[int, str]:
    return {number: min(nodes) for number, nodes in named.items() if len(nodes) == 1}


def _hosts(events: Sequence[Event]) -> Mapping[int, str]:
    """The node of each task of a stream, where its lines name one and no other."""
    named: dict[int, set[str]] = {}
    for event in events:
        task, _, _ = _writer(event)
        if task is not None and event.node is not None:
            named.setdefault(task, set()).add(event.node)
    return _alone(named)


class _Places:
    """What the context says of ranks and nodes, and for ranks that it does not place, what lines say."""

    def __init__(self, context: ExecutionContext, learned: Mapping[int, str]) -> None:
        self._ranks = {node.name: sorted(node.ranks) for node in context.nodes}
        self._given = () if "nodes" in context.inferred else tuple(node.name for node in context.nodes)
        holders: dict[int, list[str]] = {}
        for node in context.nodes:
            for rank in node.ranks:
                holders.setdefault(rank, []).append(node.name)
        self._holder = {**learned, **{rank: names[0] for rank, names in holders.items() if len(names) == 1}}

    def node(self, rank: int | None) -> str | None:
        """The node that holds a rank."""
        return None if rank is None else self._holder.get(rank)

    def rank(self, node: str | None, local: int) -> int | None:
        """The global rank of a local one."""
        ranks = self._ranks.get(node or "", [])
        return ranks[local] if local < len(ranks) else None

    def of_task(self, task: int) -> str | None:
        """The node that a task runs on, if there is one for each node: as Slurm does, in the order of its list."""
        return self._given[task] if task < len(self._given) else None


CASES = """
- name: a rank in the output of a whole job
  context: {nodes: [{name: node-01, ranks: [0, 1]}, {name: node-02, ranks: [2, 3]}]}
  given: |
    - +0.0s applog | [rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
  expect: |
    annotate node-02.rank2 +0.0s CUDA_OUT_OF_MEMORY
- name: a local rank in the log of a node
  context: {nodes: [{name: node-01, ranks: [0, 1]}, {name: node-02, ranks: [2, 3]}]}
  given: |
    node-02 +0.0s applog | [default1]:torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
  expect: |
    annotate node-02.rank3 +0.0s CUDA_OUT_OF_MEMORY
- name: a rank whose node the launcher's summary names
  given: |
    - +0.0s applog | [rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
    node-02.rank2 +1.0s TORCHRUN_ROOT_CAUSE
  expect: |
    annotate node-02.rank2 +0.0s CUDA_OUT_OF_MEMORY
- name: a local rank that one launcher saw exit
  given: |
    - +0.0s applog | [default1]:torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
    node-02.rank3 +1.0s TORCHRUN_ROOT_CAUSE local_rank=1 exit_code=1
    node-01.rank0 +1.0s TORCHRUN_ROOT_CAUSE local_rank=0 exit_code=-6
  expect: |
    annotate node-02.rank3 +0.0s CUDA_OUT_OF_MEMORY
- name: another rank of the only launcher that saw one exit
  given: |
    - +0.0s applog | [default0]:torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
    node-02.rank3 +1.0s TORCHRUN_ROOT_CAUSE local_rank=1 exit_code=1
  expect: |
    annotate node-02.rank2 +0.0s CUDA_OUT_OF_MEMORY
- name: a local rank that two launchers saw exit
  because: it may be either
  given: |
    - +0.0s applog | [default1]:torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
    node-02.rank3 +1.0s TORCHRUN_ROOT_CAUSE local_rank=1 exit_code=1
    node-01.rank1 +1.0s TORCHRUN_ROOT_CAUSE local_rank=1 exit_code=1
  expect: none
- name: a task of srun that runs several ranks
  because: its number is no rank
  given: |
    - +0.0s applog | [rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
    node-03 +1.0s applog | srun: error: node-03: task 2: Exited with exit code 1
    node-01.rank0 +1.0s TORCHRUN_ROOT_CAUSE
  expect: |
    annotate node-03 +1.0s PROCESS_EXIT_CODE
- name: a rank that the context does not place
  because: nothing says where it runs
  context: {nodes: [{name: node-01}, {name: node-02}]}
  given: |
    - +0.0s applog | [rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
  expect: none
"""
