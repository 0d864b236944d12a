"""Links under several cuts at once: who wants which link in which state.

A link opens when nobody wants it shut any more, in whatever order the cuts heal; while several do, the
strongest has its way. Were it the latest, a delay laid over a holding cut would let the held bytes go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nemesis.faults import Cut, Flight, Slow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from targets.cluster import Link

Strength = tuple[int, int]
Links = tuple["Link", ...]


def strength(fault: Cut | Slow) -> Strength:
    """Return how strongly a fault shuts a link.

    Losing over silence over keeping over a long over a short delay.
    """
    match fault:
        case Cut(flight=Flight.DROP):
            return 4, 0
        case Cut(flight=Flight.SILENCE):
            return 3, 0
        case Cut():
            return 2, 0
        case Slow(delay_ns=delay_ns):
            return 1, delay_ns


class Counted:
    """The wishes of every standing cut, by link."""

    def __init__(self) -> None:
        self._wishes: dict[Link, dict[int, Strength]] = {}

    def shut(self, owner: int, fault: Cut | Slow) -> Links:
        """Add a fault's wishes; return the links whose state it now decides."""
        wanted = strength(fault)
        decided = tuple(link for link in fault.links if wanted >= max(self._of(link), default=(0, 0)))
        for link in fault.links:
            self._wishes.setdefault(link, {})[owner] = wanted
        return decided

    def release(self, owner: int, links: Iterable[Link]) -> tuple[Links, dict[int, Links]]:
        """Withdraw wishes; return the links to open, and those that fall to another owner's state."""
        opened: list[Link] = []
        fallen: dict[int, Links] = {}
        for link in links:
            wishes = self._wishes.get(link, {})
            released = wishes.pop(owner, None)
            if released is None:
                continue
            if not wishes:
                opened.append(link)
                continue
            heir = max(wishes, key=lambda each: (wishes[each], -each))
            if wishes[heir] < released:
                fallen[heir] = (*fallen.get(heir, ()), link)
        return tuple(opened), fallen

    def held(self, owner: int) -> Links:
        """Return the links that an owner still wants shut, sorted."""
        return tuple(sorted(link for link, wishes in self._wishes.items() if owner in wishes))

    def _of(self, link: Link) -> Iterable[Strength]:
        return self._wishes.get(link, {}).values()
