"""What a figure is made of: shapes with a place in time (ns from the origin) and in height (px).

The template turns times into percentages of the view, so that the drawing is as wide as its reader's
window; the script does the same again for another view. Heights never change.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec.structs import replace

ROW: Final = 18
GAP: Final = 6
TICKS_MAX: Final = 8


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """An interval. ``kind`` is how it looks, ``tip`` what it says in full, ``tags`` what filters it.

    ``beside``: the label stands beside it, on the side where there is room, for it is too short.
    """

    start_ns: int
    end_ns: int
    y: int
    height: int
    kind: str
    label: str = ""
    tip: str = ""
    tags: str = ""
    beside: bool = False

    def at(self, y: int, *, kind: str | None = None, height: int | None = None) -> Bar:
        """Return the same bar elsewhere."""
        return replace(
            self, y=y, kind=kind or self.kind, height=self.height if height is None else height
        )


class Tick(msgspec.Struct, frozen=True, kw_only=True):
    """An instant, as a sign of its kind."""

    at_ns: int
    y: int
    kind: str
    tip: str = ""


class Label(msgspec.Struct, frozen=True):
    """The name of a row, at the left of it."""

    y: int
    text: str
    head: bool = False


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """A length that is told: from one instant to another, with an arrow and words."""

    start_ns: int
    end_ns: int
    y: int
    text: str


class Jump(msgspec.Struct, frozen=True):
    """A place worth a look, and the view of it."""

    text: str
    start_ns: int
    end_ns: int


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A whole drawing. ``guides`` go through all of it; ``kept_ns`` is where there are operations."""

    view_ns: tuple[int, int]
    span_ns: tuple[int, int]
    height: int
    labels: tuple[Label, ...]
    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    stripes: tuple[Bar, ...]
    gaps: tuple[Gap, ...] = ()
    guides: tuple[int, ...] = ()
    jumps: tuple[Jump, ...] = ()
    filters: tuple[tuple[str, str], ...] = ()
    kept_ns: tuple[int, int] = (0, 0)

    def has(self, kind: str) -> bool:
        """Whether there is a bar of a kind."""
        return any(bar.kind == kind for bar in self.bars)

    @property
    def empty(self) -> bool:
        """Whether there is nothing on it to be seen: of a run that never began."""
        return not self.bars and not self.ticks

    @property
    def ticks_ns(self) -> tuple[int, ...]:
        """Round instants along the view, for its axis."""
        start_ns, end_ns = self.view_ns
        step_ns = next(
            size * 10**power
            for power in range(24)
            for size in (1, 2, 5)
            if size * 10**power * TICKS_MAX >= end_ns - start_ns
        )
        return tuple(range(-(-start_ns // step_ns) * step_ns, end_ns + 1, step_ns))


def ms(length_ns: float) -> str:
    """Return a length for people."""
    return f"{length_ns / 1e6:.1f} ms" if abs(length_ns) < 1e9 else f"{length_ns / 1e9:.3f} s"


def at(time_ns: float) -> str:
    """Return an instant for people: seconds from the origin."""
    return f"{time_ns / 1e9:.3f} s"
