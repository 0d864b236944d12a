"""Operations: intervals, where events were lines.

An operation is called at one stamp and returns at another; it took effect at one instant of that
*closed* interval. Hence a precedes b iff ``a.return < b.call``, and equal stamps are concurrent:

    0 |--w 1--|
    1         |--r nil--|        both at stamp 5: the read may still come first

An operation whose end nobody knows (`info`, or no completion at all) never returns: its interval is
open to the end of the history, however long ago its client gave up. It may have happened, or not.

A `History` keeps a million operations in columns, not in objects: `Operation` is made when somebody
asks for one. Stamps come twice, because the world disagrees about equal ones: ``call_ns`` as recorded,
and ``call_at``, the place of the event in the file. `History.spans` picks.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec

from checker.conventions import Conventions, Ties, word
from checker.events import EventType, Header, Served
from checker.values import show

if TYPE_CHECKING:
    from checker.pairing import Line

NEVER: Final = 1 << 62
"""The return stamp of an operation that nobody saw end: later than everything."""


class Kind(msgspec.Struct, frozen=True):
    """What operations can have in common: the function, how it ended, and whether it said mismatch.

    ``error`` is kept only as far as it decides something: "MISMATCH", "" for any other code, None.
    """

    f: str
    outcome: EventType
    error: str | None


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation. ``return_ns`` is None where nobody saw it end.

    ``value``: what was written, added, read, dequeued; ``[old, new]`` of a cas; of an operation that
    nobody saw succeed, what it was asked to do. ``call_line`` and ``return_line`` count from 1.
    """

    index: int
    process: int | str
    f: str
    key: Any
    value: Any
    outcome: EventType
    call_ns: int
    return_ns: int | None
    call_line: int
    return_line: int | None
    node: str | None = None
    error: str | None = None
    evidence: Served | None = None

    def __str__(self) -> str:
        """Return it as people write it: ``write 3``, ``read -> nil``, ``cas 1 -> 2 failed``."""
        failed = " failed" if self.outcome is EventType.FAIL else ""
        match self.f, self.value:
            case (("read" | "get" | "pop" | "deq" | "dequeue" | "len"), _):
                told = show(self.value) if self.known else "?"
                return f"{self.f} -> {told}{failed}"
            case "cas", [old, new]:
                return f"cas {show(old)} -> {show(new)}{failed}"
            case (("write" | "put"), None):
                return f"{self.f} nil{failed}"
            case _, None:
                return f"{self.f}{failed}"
            case _:
                return f"{self.f} {show(self.value)}{failed}"

    @property
    def known(self) -> bool:
        """Whether it certainly happened."""
        return self.outcome is EventType.OK


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class History(Sequence[Operation]):
    """Operations in the order they were called, as columns of equal length.

    ``what[i]`` indexes ``kinds``; ``return_at[i]`` is `NEVER` where nobody saw the end. ``lines`` maps
    an event's place to its line. ``given_up`` has place and stamp of a line that said `info`,
    ``nemesis`` the lines of the nemesis with their places: both there to be told again. ``notes`` are
    what a reader of the verdict must know of the file.
    """

    name: str = "history"
    format: str = "jsonl"
    conventions: Conventions = field(default_factory=Conventions)
    header: Header | None = None
    events: int = 0
    stamped: bool = False
    kinds: list[Kind] = field(default_factory=list)
    what: bytearray = field(default_factory=bytearray)
    key: list[Any] = field(default_factory=list)
    value: list[Any] = field(default_factory=list)
    process: list[int | str] = field(default_factory=list)
    call_at: array[int] = field(default_factory=lambda: array("q"))
    return_at: array[int] = field(default_factory=lambda: array("q"))
    call_ns: array[int] = field(default_factory=lambda: array("q"))
    return_ns: array[int] = field(default_factory=lambda: array("q"))
    lines: array[int] = field(default_factory=lambda: array("i"))
    node: list[str | None] = field(default_factory=list)
    error: Mapping[int, str] = field(default_factory=dict)
    evidence: Mapping[int, Served] = field(default_factory=dict)
    given_up: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    nemesis: Sequence[tuple[int, Line]] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.what)

    def __getitem__(self, index: int) -> Operation:  # type: ignore[override]  # no slices: columns do that
        kind = self.kinds[self.what[index]]
        ended = self.return_at[index] != NEVER
        return Operation(
            index=index,
            process=self.process[index],
            f=kind.f,
            key=self.key[index],
            value=self.value[index],
            outcome=kind.outcome,
            call_ns=self.call_ns[index],
            return_ns=self.return_ns[index] if ended else None,
            call_line=self.lines[self.call_at[index]],
            return_line=self.lines[self.return_at[index]] if ended else None,
            node=self.node[index],
            error=self.error.get(index),
            evidence=self.evidence.get(index),
        )

    def __iter__(self) -> Iterator[Operation]:
        return map(self.__getitem__, range(len(self)))

    def spans(self, ties: Ties) -> tuple[array[int], array[int]]:
        """Return the columns of call and return stamps that decide what precedes what."""
        ties = word(Ties, ties, name="ties")
        if self.stamped and self.conventions.order_by_stamp and ties is Ties.CONCURRENT:
            return self.call_ns, self.return_ns
        return self.call_at, self.return_at
