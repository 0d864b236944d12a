"""A workload that is written down: the generator's stand-in where a plan lists its operations.

It draws nothing and learns nothing. It owes no final reads: whatever a listed run is to show, its list
shows.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from targets.clock import FOREVER_NS
from targets.session import Call

from .slots import PROBED

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from harness.plan.script import Scripted
    from targets.session import Completion

FIRST_VALUE: Final = 1 << 40  # beyond every listed value


class Script:
    """See the module; the same calls as `harness.run.generator.Generator`."""

    def __init__(self, operations: Sequence[Scripted]) -> None:
        self.keys: list[str] = []
        numbers = sorted({each.seat for each in operations})
        self._owed: dict[int, deque[Scripted]] = {place: deque() for place in range(len(numbers))}
        for each in sorted(operations, key=lambda each: each.at_ns):
            self._owed[numbers.index(each.seat)].append(each)
        self.seats = tuple(self._owed)
        self._start_ns = FOREVER_NS
        self._last_value = FIRST_VALUE

    def start(self, now_ns: int) -> None:
        """Begin at ``now_ns``."""
        self._start_ns = now_ns

    def due_ns(self, slot: int) -> int:
        """When the seat may go on."""
        owed = self._owed[slot]
        return self._start_ns + owed[0].at_ns if owed else FOREVER_NS

    def next(self, slot: int, now_ns: int) -> tuple[Call, str]:
        """Return the seat's next operation and the node to ask."""
        del now_ns
        told = self._owed[slot].popleft()
        return Call(told.f, told.key, told.value, told.path, told.fenced), told.node

    def probe(self, f: str, key: Any) -> Call:
        """Make the operation a probe asks for."""
        self._last_value += 1
        return Call(f, PROBED if key is None else key, self._last_value if f == "write" else None)

    def ended(self, slot: int | None, call: Call, completion: Completion, now_ns: int) -> None:
        """Learn nothing."""
