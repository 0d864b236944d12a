"""A history, skimmed for drawing: figures of all of it, and the operations of one stretch of time.

The checker's reader pairs every line, keeps every operation and refuses a history for one bad line: it
is there to judge. A report shows a million operations around a place that is known before, and a
malformed history too, as far as it can be read. So lines go by once; of each operation only its end is
counted, and those that touch the stretch are kept, the nearest ones if they are too many. Lines that
cannot be read are counted, and a completion that nobody invoked is passed over.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, Final

import msgspec

from checker.events import NEMESIS, EventType
from checker.operations import Operation

from .tally import Tally

if TYPE_CHECKING:
    from collections.abc import Iterable

KEPT_MAX: Final = 2_000
PATHS_MAX: Final = 12
OTHERS: Final = "other"
_OPEN_MAX: Final = 1_000_000
_TIME_NS_MAX: Final = 1 << 62


class _Served(msgspec.Struct, gc=False):
    path: str | None = None
    term: int | None = None
    lease_remaining_ns: int | None = None


class _Line(msgspec.Struct, gc=False):
    time_ns: int
    process: int | str
    type: str
    f: str
    key: Any = None
    value: Any = None
    node: str | None = None
    error: str | None = None
    evidence: _Served | None = None


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """One operation of the stretch. ``path`` is how it was answered, or else its function."""

    process: int | str
    f: str
    key: Any
    value: Any
    outcome: str
    call_ns: int
    return_ns: int | None
    node: str | None
    path: str
    error: str | None = None
    term: int | None = None

    def __str__(self) -> str:
        """Return it as `Operation` does."""
        return str(
            Operation(
                index=0,
                process=self.process,
                f=self.f,
                key=self.key,
                value=self.value,
                outcome=EventType(self.outcome),
                call_ns=0,
                return_ns=None,
                call_line=0,
                return_line=None,
            )
        )


class Skimmed(msgspec.Struct, frozen=True, kw_only=True):
    """What a history shows. ``kept`` are operations of the stretch, ``touching`` how many there were.

    ``span_ns`` is the first and the last stamp, None of an empty one; ``unread`` counts lines.
    """

    tally: Tally
    kept: tuple[Seen, ...] = ()
    touching: int = 0
    span_ns: tuple[int, int] | None = None
    operations: int = 0
    unread: int = 0


def skim(
    lines: Iterable[bytes], stretch_ns: tuple[int, int] | None, *, kept_max: int = KEPT_MAX
) -> Skimmed:
    """Skim the lines of a history file, its header among them."""
    skimmer = _Skimmer(stretch_ns or (1, 0), kept_max)
    decode = msgspec.json.Decoder(_Line).decode
    take = skimmer.take
    unread = 0
    for number, line in enumerate(lines):
        try:
            take(decode(line))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, OverflowError):
            unread += number > 0 and not line.isspace()
    return skimmer.end(unread)


class _Skimmer:
    """``open`` are calls nobody has seen return."""

    def __init__(self, stretch_ns: tuple[int, int], kept_max: int) -> None:
        self.tally = Tally()
        self.start_ns, self.end_ns = stretch_ns
        self.middle_ns = sum(stretch_ns) // 2
        self.kept_max = kept_max
        self.open: dict[int | str, _Line] = {}
        self.kept: list[tuple[int, int, Seen]] = []
        self.touching = 0
        self.count = 0
        self.first_ns: int | None = None
        self.last_ns = 0

    def take(self, line: _Line) -> None:
        at_ns = line.time_ns
        if not 0 <= at_ns < _TIME_NS_MAX:
            raise OverflowError(at_ns)
        if line.process == NEMESIS:
            return
        if self.first_ns is None:
            self.first_ns = at_ns
        self.last_ns = max(self.last_ns, at_ns)
        if line.type == EventType.INVOKE:
            if len(self.open) < _OPEN_MAX:
                self.open[line.process] = line
            return
        call = self.open.pop(line.process, None)
        if call is None or at_ns < call.time_ns:
            return
        self.count += 1
        path = line.evidence.path if line.evidence is not None else None
        if line.type == EventType.OK:
            name = path or line.f
            if name not in self.tally.bins and len(self.tally.bins) >= PATHS_MAX:
                name = OTHERS
            self.tally.ok(name, at_ns, at_ns - call.time_ns)
        else:
            self.tally.not_ok(at_ns)
        if call.time_ns <= self.end_ns and at_ns >= self.start_ns:
            self.keep(call, line)

    def keep(self, call: _Line, end: _Line | None) -> None:
        """Keep an operation that touches the stretch, if it is near enough to its middle."""
        self.touching += 1
        ended = end is not None and end.type != EventType.INFO
        told = end.evidence if end is not None else None
        known = end is not None and end.type == EventType.OK
        return_ns = end.time_ns if end is not None and ended else None
        last_ns = return_ns if return_ns is not None else call.time_ns
        far_ns = max(call.time_ns - self.middle_ns, self.middle_ns - last_ns, 0)
        seen = Seen(
            process=call.process,
            f=call.f,
            key=call.key,
            value=end.value if end is not None and known else call.value,
            outcome=end.type if end is not None and end.type in _ENDS else EventType.INFO.value,
            call_ns=call.time_ns,
            return_ns=return_ns,
            node=(end.node if end is not None else None) or call.node,
            path=(told.path if told is not None else None) or call.f,
            error=end.error if end is not None else None,
            term=told.term if told is not None else None,
        )
        item = (-far_ns, self.touching, seen)
        if len(self.kept) < self.kept_max:
            heapq.heappush(self.kept, item)
        else:
            heapq.heappushpop(self.kept, item)

    def end(self, unread: int) -> Skimmed:
        for call in self.open.values():
            self.count += 1
            if call.time_ns <= self.end_ns:
                self.keep(call, None)
        self.open.clear()
        return Skimmed(
            tally=self.tally,
            kept=tuple(
                sorted(
                    (seen for _, _, seen in self.kept),
                    key=lambda seen: (seen.call_ns, str(seen.process)),
                )
            ),
            touching=self.touching,
            span_ns=None if self.first_ns is None else (self.first_ns, self.last_ns),
            operations=self.count,
            unread=unread,
        )


_ENDS: Final = frozenset({EventType.OK.value, EventType.FAIL.value, EventType.INFO.value})
