"""Scans one stream: one pass over its bytes, and only lines that the gate points at become objects."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import dropwhile, islice

from attribution.bundle.evidence import EvidenceStream, Segment
from attribution.bundle.names import NodeNames
from attribution.events.event import Event, event_id, freeze
from attribution.events.moment import Basis, Moment
from attribution.extraction.clock import ClockRules, with_year
from attribution.extraction.envelopes import unwrap
from attribution.extraction.flood import Keeper, Limits
from attribution.extraction.gate import Hit
from attribution.extraction.lines import Line, peel
from attribution.extraction.masking import MASK, mask
from attribution.extraction.ruleset import RuleSet
from attribution.extraction.windows import Tally, Window, windows
from attribution.rules.api import NOWHERE, Finding, Match
from attribution.rules.guard import RuleFailure, answers
from attribution.rules.model import Extractor

MAX_EXAMINED = 16 << 10
"""Bytes of a line that patterns see; of a longer line, those around each hit."""

MAX_RECORD = 256 << 10
"""Bytes of a JSON record that is still examined whole."""

MAX_TEXT = 2000
"""Characters of a line that evidence keeps."""

MAX_FIELD = 300
"""Characters of a field."""

MAX_REMEMBERED = 4096
"""Messages whose findings are remembered, since floods repeat themselves."""

CLOCK_AHEAD = 20
"""Lines after a line without a time in which the next time is looked for."""

SYSTEM_PROGRAMS = frozenset(
    {
        "containerd",
        "dcgm",
        "ipmiseld",
        "kernel",
        "kubelet",
        "mcelog",
        "mdadm",
        "nv-fabricmanager",
        "nv-hostengine",
        "nvidia-fabricmanager",
        "nvidia-imex",
        "nvidia-persistenced",
        "rasdaemon",
        "slurmctld",
        "slurmd",
        "slurmstepd",
        "smartd",
        "systemd",
        "systemd-logind",
    }
)
"""Programs whose lines in a system log are the system's own word."""

FLOOD = 1 << 40
"""Occurrence numbers of lines that are only counted begin here."""

CONTEXT_LINES = 5
"""Lines kept before and after an event."""

_CONTEXT_BYTES = 1500
_TRACEBACK = "Traceback (most recent call last)"
_TRACEBACK_LINES = 400
_LOOKAHEAD_BYTES = 64 << 10
_CLOCK_LINES = 200
_RECORD = re.compile(rb'\{\s*"')
_EXCEPTION = re.compile(r"^(?:[A-Za-z_]\w{0,80}\.){0,8}[A-Za-z_]\w{0,80}(?:\(\w{1,80}\))?(?::|$)")
_GUTTER = re.compile(r"^( {0,80})(?:\+ Exception Group |\| )Traceback \(most recent call last\)")
"""How Python draws the tracebacks of a group of exceptions: each line of one stands behind a bar."""


@dataclass(frozen=True, slots=True)
class Ran:
    """From when to when an attempt ran, as a scheduler's record tells it."""

    attempt: str
    began: Moment | None
    ended: Moment | None


@dataclass(slots=True)
class Scan:
    """What came of one stream. `failures` are (rule id, error) of rules that raised."""

    events: list[Event] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    first: Moment | None = None
    last: Moment | None = None
    masked: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)
    ran: list[Ran] = field(default_factory=list)


def scan_stream(stream: EvidenceStream, rules: RuleSet, clock: ClockRules, names: NodeNames, limits: Limits) -> Scan:
    """All events of one text stream, in the order of their lines."""
    scanner = _Scanner(stream, rules, clock, names, limits)
    for segment in stream.segments:
        scanner.segment(segment)
    return scanner.finish()


@dataclass(frozen=True, slots=True)
class _Spot:
    """One line in a window: its bounds and what it says."""

    start: int
    end: int
    line: Line


@dataclass(slots=True)
class _Ahead:
    """The lines of a window that were looked at for a time: none has one but that at `end`, if there is a `moment`."""

    window: Window
    start: int
    end: int
    moment: Moment | None = None


@dataclass(slots=True)
class _Said:
    """What the rules of `numbers` found in a line: rule, finding, decisive and last line if other than the line itself.

    `alone` says that no other line had a part in it, so that the same line says the same again.
    """

    numbers: Sequence[int]
    masked: int
    findings: list[tuple[Extractor, Finding, _Spot | None, _Spot | None]] = field(default_factory=list)
    alone: bool = True


class _Scanner:
    def __init__(
        self, stream: EvidenceStream, rules: RuleSet, clock: ClockRules, names: NodeNames, limits: Limits
    ) -> None:
        self._stream = stream
        self._rules = rules
        self._clock = clock
        self._names = names
        self._scan = Scan()
        self._keeper = Keeper(limits)
        self._occurrences: dict[tuple[bytes, str], int] = {}
        self._remembered: dict[tuple[str, str | None, int | None], _Said] = {}
        self._recent: Moment | None = None
        self._recent_offset = -1
        self._ahead: _Ahead | None = None
        self._last: dict[int, tuple[int, list[Event]]] = {}
        self._pointed: dict[int, int] = {}  # a rule of `last`, and the windows that the gate's hit may still stand in

    def segment(self, segment: Segment) -> None:
        try:
            source = segment.open()
        except OSError as error:
            self._scan.tally.damage = str(error)
            return
        with source:
            for window in windows(source, segment.offset, segment.first_line, self._scan.tally):
                if self._scan.first is None and window.base == segment.offset:
                    self._scan.first = self._first_moment(window)
                self._window(window)
                self._keeper.settle()
                for number in self._rules.last:
                    if number in self._rules.asked or self._pointed.get(number):
                        self._find_last(window, number)
                self._pointed = {number: left - 1 for number, left in self._pointed.items() if left}
                if self._scan.first is not None:  # the next window's lines may inherit a time of this one
                    self._inherited(window, window.examined)
                if window.closed:
                    self._scan.last = self._last_moment(window) or self._scan.last

    def finish(self) -> Scan:
        scan = self._scan
        scan.events = self._keeper.events() + [event for _, events in self._last.values() for event in events]
        if scan.last is None and self._recent is not None:
            scan.last = self._recent
        return scan

    # --- lines that the gate points at --------------------------------------------------------------------------

    def _window(self, window: Window) -> None:
        text, fresh = window.text, window.fresh
        hits = self._rules.gate.hits(memoryview(text)[fresh:] if fresh else text)
        start = end = -1
        held: list[Hit] = []
        for cut, behind in hits:
            position = fresh + behind
            if position <= end:
                held.append((cut, position))
                continue
            if held and not self._line(window, start, end, held):
                return
            start = max(fresh, text.rfind(b"\n", 0, position - 1) + 1)
            end = text.find(b"\n", position)
            end = len(text) if end < 0 else end
            held = [(cut, position)]
        if held:
            self._line(window, start, end, held)

    def _numbers(self, hits: Iterable[Hit]) -> list[int]:
        """The rules that may match at the hits. Those of `last` are noted: they are asked once the window was read."""
        cuts = self._rules.cuts
        found = {number for cut, _ in hits for number in cuts[cut].rules}
        last = found.intersection(self._rules.last)
        self._pointed.update(dict.fromkeys(last, 2))
        return sorted(found - last)

    def _line(self, window: Window, start: int, end: int, hits: list[Hit]) -> bool:
        """Confirm the rules that may match a line; False if the window must be read on first."""
        ordered = self._numbers(hits)
        raw = window.text[start:end]
        if not _RECORD.search(raw):
            ordered = [number for number in ordered if self._rules.may_match(number, raw)]
        if not ordered:
            return True
        if not window.closed and end + _LOOKAHEAD_BYTES + _CONTEXT_BYTES > len(window.text):
            needed = max(self._needed_lines(self._rules.rules[number]) for number in ordered)
            if window.text.count(b"\n", end + 1) < needed:
                window.examined = start
                return False
        spots = self._spots(window, start, end)
        if spots:
            for index in range(len(spots)):
                self._confirm(window, spots, index, ordered)
            moment = spots[0].line.moment
        else:
            moment = self._long_line(window, start, end, hits)
        if moment is not None:
            self._recent, self._recent_offset = moment, window.offset(start)
        return True

    def _long_line(self, window: Window, start: int, end: int, hits: list[Hit]) -> Moment | None:
        """Confirm rules where their hits are, each rule at the first place where it finds something."""
        text, told = window.text, set[int]()
        head = peel(text[start : start + MAX_EXAMINED].decode("utf-8", "replace"), self._clock)
        while hits:
            first = hits[0][1]
            low = max(start, first - MAX_EXAMINED // 2)
            high = min(end, low + MAX_EXAMINED)
            near = [hit for hit in hits if hit[1] <= first + MAX_EXAMINED // 4]
            hits = hits[len(near) :]
            line = replace(head, message=text[low:high].decode("utf-8", "replace")) if low > start else head
            numbers = [number for number in self._numbers(near) if number not in told]
            found = self._confirm(window, (_Spot(start, end, line),), 0, numbers)
            told.update(number for number in numbers if self._rules.rules[number].info.id in found)
        return head.moment

    @staticmethod
    def _needed_lines(rule: Extractor) -> int:
        joined = _TRACEBACK_LINES if rule.traceback else rule.follow_lines * 4
        return max(CLOCK_AHEAD, joined + CONTEXT_LINES)

    def _spots(self, window: Window, start: int, end: int) -> tuple[_Spot, ...]:
        """What a line says: itself, or the lines inside its JSON record. None if it is too long to be read whole."""
        is_long = end - start > MAX_EXAMINED
        if is_long and (end - start > MAX_RECORD or window.text[end - 1] != ord("}")):
            return ()
        text = window.text[start:end].decode("utf-8", "replace")
        lines = (unwrap(text, self._clock) or ()) if is_long else self._read(text)
        return tuple(_Spot(start, end, line) for line in lines)

    def _read(self, text: str) -> tuple[Line, ...]:
        line = peel(text, self._clock)
        if line.message.startswith("{"):
            return unwrap(text, self._clock) or (line,)
        return (line,)

    def _confirm(self, window: Window, spots: tuple[_Spot, ...], index: int, numbers: Sequence[int]) -> set[str]:
        """Keep what the rules of `numbers` find in one line; answers the ids of those that found something."""
        spot = spots[index]
        node = self._node(spot.line)
        rank = self._rank(spot.line)
        key = (spot.line.message, node, rank)
        said = self._remembered.get(key)
        if said is None or said.numbers != numbers:
            said = self._ask(window, spots[index + 1 :], spot, numbers, node, rank)
            if said.alone:
                if len(self._remembered) >= MAX_REMEMBERED:
                    self._remembered.clear()
                self._remembered[key] = said
        self._scan.masked += said.masked
        for rule, finding, decisive, last in said.findings:
            self._keep(window, rule, finding, spot, decisive or spot, last or spot, node, rank)
        return {rule.info.id for rule, *_ in said.findings}

    def _ask(
        self,
        window: Window,
        inner: tuple[_Spot, ...],
        spot: _Spot,
        numbers: Sequence[int],
        node: str | None,
        rank: int | None,
    ) -> _Said:
        """What the rules of `numbers` find in one line, and whether that line alone decided it."""
        message, masked = mask(spot.line.message)
        said = _Said(numbers, masked)
        for number in numbers:
            rule = self._rules.rules[number]
            groups = self._groups(number, spot.line.message, message)
            if groups is None:
                continue
            joined = self._join(window, inner, spot, rule)
            said.alone = said.alone and not (rule.traceback or rule.follow_lines)
            follow = tuple(mask(item.line.message)[0] for item in joined)
            pattern = self._rules.follow_pattern(number)
            if pattern is not None:
                found = pattern.search("\n".join(follow))
                if found is None:
                    continue
                groups = {**groups, **found.groupdict()}
            match = Match(groups, message, self._stream.key.source, node, rank, follow)
            decisive = joined[-1] if rule.traceback and joined else None
            last = joined[-1] if joined else None
            said.findings += [(rule, finding, decisive, last) for finding in self._find(rule, match)]
        return said

    def _groups(self, number: int, message: str, masked: str) -> dict[str, str | None] | None:
        """The groups of the first pattern that matches; of the masked message where that matches too."""
        for pattern in self._rules.patterns(number):
            found = pattern.search(message)
            if found is None:
                continue
            if masked != message:
                found = pattern.search(masked) or found
            groups: dict[str, str | None] = found.groupdict()
            # What the masked message does not hold was hidden in it.
            return {name: text if text is None or text in masked else MASK for name, text in groups.items()}
        return None

    def _find(self, rule: Extractor, match: Match) -> tuple[Finding, ...]:
        try:
            return answers(rule, match)
        except RuleFailure as failure:  # a broken rule must not lose the diagnosis
            self._scan.failures.append((rule.info.id, str(failure)))
            return ()

    # --- rules of which only the last line counts ------------------------------------------------------------------

    def _find_last(self, window: Window, number: int) -> None:
        """Keep what a rule finds in the last line of the window that it reads.

        The next window holds again the lines that this one cannot show with what stands after them.
        """
        text = window.text
        high = len(text) if window.closed else _start_of_last_lines(text, CONTEXT_LINES + 1)
        literals = [literal.encode() for literal in self._rules.rules[number].literals]
        for start, end in _lines_from_behind(text, high, literals):
            offset = window.offset(start)
            if number in self._last and offset <= self._last[number][0]:
                return
            raw = text[start:end]
            if not self._rules.may_match(number, raw) and not _RECORD.search(raw):
                continue
            found = [event for spot in self._spots(window, start, end) for event in self._said(window, spot, number)]
            if found:
                self._last[number] = offset, found
                return

    def _said(self, window: Window, spot: _Spot, number: int) -> Iterator[Event]:
        """What one rule finds in one line, as events."""
        rule, node, rank = self._rules.rules[number], self._node(spot.line), self._rank(spot.line)
        for _, finding, _, _ in self._ask(window, (), spot, (number,), node, rank).findings:
            yield self._event(window, rule, finding, spot, spot, spot, node, rank, self._near(window, spot), 0)

    def _near(self, window: Window, spot: _Spot) -> Moment | None:
        """The line's own time, or that of one of the few lines before it that every window holds."""
        if spot.line.moment is not None:
            return spot.line.moment
        for raw in reversed(_context_before(window.text, spot.start)):
            moment = self._read(raw.decode("utf-8", "replace"))[0].moment
            if moment is not None:
                return replace(moment, inherited=True)
        return None

    # --- joining ------------------------------------------------------------------------------------------------

    def _join(self, window: Window, inner: tuple[_Spot, ...], spot: _Spot, rule: Extractor) -> tuple[_Spot, ...]:
        if rule.traceback:
            gutter = _GUTTER.match(spot.line.message)
            bar = f"{gutter[1]}| " if gutter else ""
            following = self._following(window, inner, spot, _TRACEBACK_LINES)
            return _up_to_exception(following, bar, begun=_TRACEBACK in spot.line.message)
        if rule.follow_lines:
            following = self._following(window, inner, spot, rule.follow_lines * 4)
            return tuple(item for item, _ in zip(following, range(rule.follow_lines), strict=False))
        return ()

    def _following(self, window: Window, inner: tuple[_Spot, ...], spot: _Spot, limit: int) -> Iterator[_Spot]:
        """The lines after a spot that the same writer wrote, among the next `limit` lines."""
        if inner:
            yield from inner
            return
        text, end = window.text, spot.end
        stop = min(len(text), end + _LOOKAHEAD_BYTES)
        for _ in range(limit):
            start = end + 1
            if start >= stop:
                return
            end = text.find(b"\n", start)
            end = len(text) if end < 0 else end
            for line in self._read(text[start : _read_up_to(text, start, end)].decode("utf-8", "replace")):
                if line.writer == spot.line.writer:
                    yield _Spot(start, end, line)

    # --- events -------------------------------------------------------------------------------------------------

    def _keep(
        self,
        window: Window,
        rule: Extractor,
        finding: Finding,
        spot: _Spot,
        decisive: _Spot,
        last: _Spot,
        node: str | None,
        rank: int | None,
    ) -> None:
        moment = spot.line.moment or self._between(window, spot)
        if finding.node == NOWHERE:
            node = rank = None
        node = self._names.resolve(finding.node) or node
        rank = finding.rank if finding.rank is not None else rank

        def build(number: int | None) -> Event:
            return self._event(window, rule, finding, spot, decisive, last, node, rank, moment, number)

        slot = (rule.info.id, finding.symptom, node, finding.device, finding.discriminator)
        order = (moment is None, moment.us if moment else 0, window.base + decisive.start)
        self._keeper.offer(slot, order, build)

    def _event(
        self,
        window: Window,
        rule: Extractor,
        finding: Finding,
        spot: _Spot,
        decisive: _Spot,
        last: _Spot,
        node: str | None,
        rank: int | None,
        moment: Moment | None,
        number: int | None,
    ) -> Event:
        text = window.text
        raw = text[decisive.start : decisive.end]
        salt = f"{finding.symptom}|{finding.discriminator}"
        if number is not None:  # numbers count within one kind of finding, of which a line may hold several
            salt += f"|{rule.info.id}|{node}|{finding.device}"
        shown, masked = _display(raw)
        self._scan.masked += masked
        key = self._stream.key
        return Event(
            id=event_id(key, raw, self._occurrence(raw, salt, number), salt),
            symptom=finding.symptom,
            rule=rule.info.id,
            key=key,
            node=node,
            rank=rank,
            moment=moment,
            line=window.line_number(decisive.start) + 1,
            offset=window.offset(decisive.start),
            text=shown,
            first_line=window.line_number(spot.start) + 1,
            last_line=window.line_number(last.start) + 1,
            writer=spot.line.writer,
            device=finding.device,
            fields=freeze({name: value and value[:MAX_FIELD] for name, value in finding.fields.items()}),
            discriminator=finding.discriminator,
            generic=rule.generic,
            trusted=self._trusted(spot.line),
            before=_context_before(text, decisive.start),
            after=_context_after(text, last.end),
        )

    def _occurrence(self, raw: bytes, salt: str, number: int | None) -> int:
        """How often this line said this before; in a flood, a number that no kept line has."""
        if number is not None:
            return FLOOD + number
        occurrence = self._occurrences.get((raw, salt), 0)
        self._occurrences[raw, salt] = occurrence + 1
        return occurrence

    def _trusted(self, line: Line) -> bool:
        """Whether the line's header is that of the system and of this node: any user can send a log daemon lines."""
        node = self._stream.key.node
        is_system = line.program is None or line.program.lower() in SYSTEM_PROGRAMS
        return is_system and (line.host is None or node is None or self._names.resolve(line.host) == node)

    def _node(self, line: Line) -> str | None:
        return self._names.known(line.host) or self._stream.key.node or self._names.resolve(line.host)

    def _rank(self, line: Line) -> int | None:
        return line.rank if line.rank is not None else self._stream.key.rank

    # --- clocks -------------------------------------------------------------------------------------------------

    def _between(self, window: Window, spot: _Spot) -> Moment | None:
        """The time of a line that has none: between that of the line before it and that of the line after it."""
        before = self._inherited(window, spot.start)
        if before is None:
            return None
        after = self._next_moment(window, spot.end)
        if after is None or after.basis is not before.basis or after.us < before.us:
            return before
        return replace(before, width_us=after.us + after.width_us - before.us, inherited=False)

    def _next_moment(self, window: Window, end: int) -> Moment | None:
        """The time of the nearest later line that has one, among the lines that every window is sure to hold."""
        text, start = window.text, end + 1
        seen = self._ahead
        if seen is None or seen.window is not window or not seen.start <= start <= seen.end:
            seen = self._ahead = _Ahead(window, start, start)
        # no line is looked at twice: those from `seen.start` to `seen.end` have no time
        left = CLOCK_AHEAD - text.count(b"\n", start, seen.end)
        stop = min(len(text), start + _LOOKAHEAD_BYTES)
        while seen.moment is None and left > 0 and seen.end < stop:
            newline = text.find(b"\n", seen.end)
            newline = len(text) if newline < 0 else newline
            line = text[seen.end : min(newline, seen.end + MAX_TEXT)].decode("utf-8", "replace")
            seen.moment = self._read(line)[0].moment
            if seen.moment is None:
                seen.end = newline + 1
            left -= 1
        return seen.moment

    def _inherited(self, window: Window, position: int) -> Moment | None:
        """The time of the nearest earlier line that has one: a lower bound for the line at `position`.

        No line is looked at twice: `_recent` is the nearest time before `_recent_offset`.
        """
        text, end = window.text, position - 1
        for _ in range(_CLOCK_LINES):
            if end <= 0 or window.offset(end) <= self._recent_offset:
                break
            start = text.rfind(b"\n", 0, end) + 1
            line = text[start : _read_up_to(text, start, end)].decode("utf-8", "replace")
            moment = self._read(line)[0].moment
            if moment is not None:
                self._recent = moment
                break
            end = start - 1
        self._recent_offset = max(self._recent_offset, window.offset(position))
        return None if self._recent is None else replace(self._recent, inherited=True)

    def _first_moment(self, window: Window) -> Moment | None:
        return _first(self._read(text)[0].moment for text in _heads(window.text))

    def _last_moment(self, window: Window) -> Moment | None:
        return _first(self._read(text)[0].moment for text in _tails(window.text))


def _first(moments: Iterable[Moment | None]) -> Moment | None:
    """The first that is known; one without a year gets it from a line near it that has a date."""
    known = dropwhile(lambda moment: moment is None, moments)
    found = next(known, None)
    if found is None or found.basis is not Basis.YEARLESS:
        return found
    dated = (moment for moment in islice(known, _NEAR) if moment is not None and moment.basis in _DATED)
    year = next((moment.us for moment in dated), None)
    return found if year is None else with_year(found, ClockRules(window=(year, year)))


_DATED = frozenset({Basis.UTC, Basis.LOCAL})
_NEAR = 30
"""Lines."""


def _heads(text: bytes) -> Iterator[str]:
    """The first lines of a window, cut short."""
    start = 0
    for _ in range(_CLOCK_LINES):
        if start >= len(text):
            return
        end = text.find(b"\n", start)
        end = len(text) if end < 0 else end
        yield text[start : min(end, start + MAX_TEXT)].decode("utf-8", "replace")
        start = end + 1


def _tails(text: bytes) -> Iterator[str]:
    """The last lines of a window, last first, cut short."""
    end = len(text)
    for _ in range(_CLOCK_LINES):
        if end <= 0:
            return
        start = text.rfind(b"\n", 0, end) + 1
        yield text[start : min(end, start + MAX_TEXT)].decode("utf-8", "replace")
        end = start - 1


def _read_up_to(text: bytes, start: int, end: int) -> int:
    """How far a neighbouring line is read: a JSON record to its end, where that is not too far."""
    is_record = end - start <= MAX_RECORD and text.endswith(b"}", start, end)
    return end if is_record else min(end, start + MAX_EXAMINED)


def _up_to_exception(following: Iterator[_Spot], bar: str, *, begun: bool) -> tuple[_Spot, ...]:
    """The lines of a traceback up to its exception line, freed of the bar before them; none if it does not come.

    `begun` says that its header is behind; else it, or a frame of one without a header, is what comes first.
    """
    found: list[_Spot] = []
    for spot in following:
        if not spot.line.message.startswith(bar):
            return ()
        if bar:
            spot = replace(spot, line=replace(spot.line, message=spot.line.message[len(bar) :]))
        found.append(spot)
        message = spot.line.message
        is_first = not begun and len(found) == 1
        is_header = message.startswith(_TRACEBACK)
        if is_header != is_first and not (is_first and message.startswith('  File "')):
            return ()
        if message and not message[0].isspace() and _EXCEPTION.match(message):
            return tuple(found)
    return ()


def _lines_from_behind(text: bytes, high: int, literals: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """Start and end of the lines before `high` that hold one of the literals, last first."""
    places = [text.rfind(literal, 0, high) for literal in literals]
    while (place := max(places)) >= 0:
        start = text.rfind(b"\n", 0, place) + 1
        end = text.find(b"\n", place)
        yield start, len(text) if end < 0 else end
        places = [
            at if at < start else text.rfind(literal, 0, start) for at, literal in zip(places, literals, strict=True)
        ]


def _start_of_last_lines(text: bytes, count: int) -> int:
    """Where the last `count` lines begin."""
    start = len(text)
    for _ in range(count):
        start = text.rfind(b"\n", 0, max(0, start - 1)) + 1
        if start == 0:
            break
    return start


def _display(raw: bytes) -> tuple[str, int]:
    """A line as evidence shows it, and how many secrets are masked in it. They are masked before it is cut."""
    text, masked = mask(raw[: 4 * MAX_TEXT].decode("utf-8", "replace"))
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…", masked


def _context_before(text: bytes, start: int) -> tuple[bytes, ...]:
    lowest, low = max(0, start - _CONTEXT_BYTES), start
    for _ in range(CONTEXT_LINES):
        newline = text.rfind(b"\n", lowest, max(lowest, low - 1))
        if newline < 0:
            low = 0 if lowest == 0 else low
            break
        low = newline + 1
    return tuple(text[low:start].split(b"\n")[:-1])


def _context_after(text: bytes, end: int) -> tuple[bytes, ...]:
    highest, high = min(len(text), end + 1 + _CONTEXT_BYTES), end + 1
    for _ in range(CONTEXT_LINES):
        newline = text.find(b"\n", high, highest)
        if newline < 0:
            high = len(text) if highest == len(text) else high
            break
        high = newline + 1
    lines = text[end + 1 : high].split(b"\n")
    return tuple(lines[:-1] if lines and not lines[-1] else lines)
