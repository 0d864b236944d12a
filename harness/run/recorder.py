"""The rules of recording: what may follow what in a history.

A history is worth what its recorder guarantees, so the guarantees live in one place and are asserted
on every line: indices count from 0, stamps strictly increase (two events of one loop turn are a
nanosecond apart), a process has one operation open at a time, and after *info* its number is never
used again. The recorder holds no file; whoever drives it writes what it returns, in that order.

Moving a stamp up to keep the order is safe on both sides. An invocation is stamped before its first
byte is sent and writing that byte takes longer than the nanoseconds added; a completion only grows
its interval.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from checker.events import NEMESIS, Event, EventType

if TYPE_CHECKING:
    from targets.session import Call, Completion


class Recorder:
    """Makes the lines of one history."""

    def __init__(self) -> None:
        self.events = 0
        self._last_ns = -1
        self._processes = 0
        self._open: dict[int, Call] = {}
        self._retired: set[int] = set()

    @property
    def open(self) -> int:
        """How many operations are in flight."""
        return len(self._open)

    def new_process(self) -> int:
        """Give out a process number that was never used."""
        self._processes += 1
        return self._processes - 1

    def invoke(self, process: int, call: Call, *, node: str, now_ns: int) -> Event:
        """Record an invocation; to be written before the first byte is sent."""
        assert process not in self._retired, f"process {process} was retired"
        assert process not in self._open, f"process {process} has an operation open"
        self._open[process] = call
        index, time_ns = self._stamp(now_ns)
        value = None if call.f == "read" else call.value
        return Event(
            index=index,
            time_ns=time_ns,
            process=process,
            type=EventType.INVOKE,
            f=call.f,
            key=call.key,
            value=value,
            node=node,
        )

    def complete(self, process: int, completion: Completion, *, node: str, now_ns: int) -> Event:
        """Record how the process's open operation ended."""
        assert process in self._open, f"process {process} has no operation open"
        call = self._open.pop(process)
        if completion.type is EventType.INFO:
            self._retired.add(process)
        index, time_ns = self._stamp(now_ns)
        return Event(
            index=index,
            time_ns=time_ns,
            process=process,
            type=completion.type,
            f=call.f,
            key=call.key,
            value=completion.value,
            node=node,
            error=completion.error,
            evidence=completion.evidence,
        )

    def nemesis(self, f: str, value: Any, *, now_ns: int, error: str | None = None) -> Event:
        """Record something the nemesis did: context, never an operation."""
        index, time_ns = self._stamp(now_ns)
        return Event(
            index=index,
            time_ns=time_ns,
            process=NEMESIS,
            type=EventType.INFO,
            f=f,
            value=value,
            error=error,
        )

    def _stamp(self, now_ns: int) -> tuple[int, int]:
        self._last_ns = max(now_ns, self._last_ns + 1)
        self.events += 1
        return self.events - 1, self._last_ns
