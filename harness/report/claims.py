"""What was exercised against what was claimed: a count, and of what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from targets.cluster import ClockMode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ALLOWED: Final = "not exercised, which was allowed"
"""How a note begins that says what a run had to exercise, and did not, and need not."""


def units(claims: Iterable[str], clock: ClockMode) -> dict[str, str]:
    """Return what a claim is measured in, for those that are no count of something."""
    return {claim: _bend(clock) for claim in claims if claim == "clock-bend"}


def _bend(clock: ClockMode) -> str:
    return "ms off (wall clock)" if clock is ClockMode.WALL else "ppm off (rate)"


def fully_exercised(claims: Mapping[str, int] | None, notes: Iterable[str] = ()) -> bool:
    """Tell of a run that passed whether it exercised all that it had to, or was allowed not to."""
    return all((claims or {}).values()) and not any(note.startswith(ALLOWED) for note in notes)


def amount(count: int, unit: str | None) -> str:
    """Return one claim's count as text."""
    if not count:
        return "0 (not exercised)"
    return str(count) if unit is None else f"{count} {unit}"
