"""How much a check may cost, and who is asked what it has cost.

The checker reads no clock and no file, so both meters are handed in: ``clock`` returns seconds that
only grow (``time.monotonic``), ``memory`` the bytes that this process holds now. Without a clock a limit
of time is refused at once; without a meter of memory the configurations that searches remember are
reckoned, for they are what grows. Running out yields *unknown* for the keys that are not decided, with
what ran out; it never undoes what is.

Processes that search at once share what is left of memory and configurations in equal parts
(`Meter.share`), so that together they keep the limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

CONFIGURATION_BYTES: Final = 400
"""About what one remembered configuration of a search costs, where no memory meter is at hand."""


def _no_clock() -> float:
    return 0.0


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Limits of one check; None is no limit. ``jobs`` is how many processes may search.

    ``called_off`` is asked as often as the limits are: what it answers, in words, ends the check as if
    it had run out, and what is decided by then stays so.
    """

    time_s: float | None = None
    memory_bytes: int | None = None
    configurations_max: int | None = None
    jobs: int = 1
    clock: Callable[[], float] = _no_clock
    memory: Callable[[], int] | None = None
    called_off: Callable[[], str | None] | None = None

    def __post_init__(self) -> None:
        for name in ("time_s", "memory_bytes", "configurations_max"):
            limit = getattr(self, name)
            if limit is not None and not limit > 0:
                raise ValueError(f"{name}={limit} leaves no room for anything")
        if self.time_s is not None and self.clock is _no_clock:
            raise ValueError(f"time_s={self.time_s} needs a clock, for instance time.monotonic")
        if self.jobs < 1 or self.jobs != int(self.jobs):
            raise ValueError(f"jobs={self.jobs} is no number of processes: 1 or more")


class Meter:
    """One check's spending. `spent` is the only question a search asks, and not at every step."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.started_s = budget.clock()
        self.configurations = 0
        self.remembered = 0
        self._configurations_max = budget.configurations_max
        self._memory_max = budget.memory_bytes

    def elapsed_s(self) -> float:
        """Return the seconds since the check began."""
        return self.budget.clock() - self.started_s

    def remaining_s(self) -> float | None:
        """Return the seconds left, never below 0; None without a limit."""
        if self.budget.time_s is None:
            return None
        return max(0.0, self.budget.time_s - self.elapsed_s())

    def spent(self) -> str | None:
        """Return what has run out, in words; None while there is some of everything."""
        budget = self.budget
        if budget.called_off is not None and (reason := budget.called_off()) is not None:
            return reason
        if budget.time_s is not None and self.elapsed_s() >= budget.time_s:
            return f"the time limit of {budget.time_s:g} s"
        if self._configurations_max is not None and self.configurations >= self._configurations_max:
            return f"the limit of {budget.configurations_max} configurations"
        if budget.memory_bytes is not None and self._held() >= (self._memory_max or 0):
            return f"the memory limit of {budget.memory_bytes >> 20} MB"
        return None

    def share(self, jobs: int) -> None:
        """Keep from now on to one part in ``jobs`` of what is left: this is one of as many processes."""
        if self._configurations_max is not None:
            left = max(0, self._configurations_max - self.configurations)
            self._configurations_max -= left * (jobs - 1) // jobs
        if self._memory_max is not None:
            self._memory_max -= max(0, self._memory_max - self._held()) * (jobs - 1) // jobs

    def _held(self) -> int:
        meter = self.budget.memory
        return self.remembered * CONFIGURATION_BYTES if meter is None else meter()
