"""The book of injections: what stands, what is being healed, what came of it.

Overlapping faults are kept apart here. Links are counted (`links`); a node that is already under a
fault of an exclusive kind is left out of a second one, with the reason. A heal that is wanted before the
injection was reported waits for the report, except the final one: that is absolute, goes out at once
for everything not known to be healed, and again for whatever is reported installed after it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec

from nemesis.faults import (
    Cut,
    Fault,
    Kill,
    OnNodes,
    Pause,
    Slow,
    Standing,
    Suspend,
)
from nemesis.ports import Happened, Heal, Inject, NemesisEffect, Note

from .links import Counted, Links
from .record import Injected

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


NO_LINKS: Final = "there are no such links here"


@dataclass(slots=True)
class Entry:
    """One injection, as it goes; `Ledger.record` is the frozen view."""

    id: int
    fault: Fault
    episode: str
    repetition: int
    step: str
    roles: dict[str, str]
    asked_ns: int
    standing: Standing | None = None
    installed_ns: int | None = None
    healed_ns: int | None = None
    evidence: dict[str, Any] = field(default_factory=dict)
    reason: str | None = None
    heal_problem: str | None = None
    heals: int = 0
    asked: bool = False
    unreported: int = 0
    unhealed: int = 0
    healing: bool = False
    postponed: list[Links | None] = field(default_factory=list)

    @property
    def settled(self) -> bool:
        """Whether nothing is awaited for it any more."""
        return not (self.unreported or self.unhealed or self.postponed)


class Ledger:
    """All injections of a run, by number."""

    def __init__(self) -> None:
        self.entries: dict[int, Entry] = {}
        self._links = Counted()
        self._busy: dict[tuple[type, str], int] = {}
        self._final = False
        self._last: tuple[Entry, ...] = ()  # what the final heal healed

    def inject(self, entry: Entry) -> tuple[NemesisEffect, ...]:
        """Enter an injection and ask for as much of it as is not in force already."""
        assert entry.id not in self.entries, "injections have numbers of their own"
        self.entries[entry.id] = entry
        match entry.fault:
            case Cut() | Slow():
                return self._inject_links(entry, entry.fault)
            case fault if fault.lasts:
                return self._inject_nodes(entry, fault)
            case fault:
                return self._ask(entry, fault)

    def _ask(self, entry: Entry, fault: Fault) -> tuple[NemesisEffect, ...]:
        entry.asked = True
        entry.unreported += 1
        return (Inject(entry.id, fault),)

    def _inject_links(self, entry: Entry, fault: Cut | Slow) -> tuple[NemesisEffect, ...]:
        """Shut the links that a stronger cut does not hold shut already."""
        if not fault.links:  # who was named, by role or by node, is one and the same
            entry.standing, entry.reason, entry.healing = Standing.SKIPPED, NO_LINKS, True
            return (Note(f"{entry.step}: {entry.standing}: {entry.reason}"),)
        decided = self._links.shut(entry.id, fault)
        covered = [link for link in fault.links if link not in decided]
        if covered:
            entry.evidence["covered"] = [f"{link.source}->{link.target}" for link in covered]
        if decided:
            return self._ask(entry, msgspec.structs.replace(fault, links=decided))
        entry.standing, entry.installed_ns = Standing.INSTALLED, entry.asked_ns
        return ()

    def _inject_nodes(self, entry: Entry, fault: OnNodes) -> tuple[NemesisEffect, ...]:
        """Take the nodes that are free, and say who holds the others."""
        nodes = fault.nodes
        stilled = isinstance(fault, Pause | Suspend)
        kinds = (Pause, Suspend, Kill) if stilled else (type(fault),)
        holders = {node: self._holder(kinds, node) for node in nodes}
        free = tuple(node for node in nodes if holders[node] is None)
        taken = [
            f"{node} is under fault {holder}" for node, holder in holders.items() if holder is not None
        ]
        notes = tuple(Note(f"{entry.step}: left out: {reason} already") for reason in taken)
        for node in free:
            self._busy[type(fault), node] = entry.id
        if not free:
            entry.standing = Standing.SKIPPED
            entry.reason = "; ".join(taken) if taken else "nobody to do it to"
            return notes
        fault = msgspec.structs.replace(fault, nodes=free)
        entry.fault = fault
        return (*notes, *self._ask(entry, fault))

    def _holder(self, kinds: Sequence[type], node: str) -> int | None:
        return next((self._busy[kind, node] for kind in kinds if (kind, node) in self._busy), None)

    def heal(self, number: int, now_ns: int, *, links: Links | None = None) -> tuple[NemesisEffect, ...]:
        """Undo an injection, or some links of it; once is enough, twice is nothing."""
        entry = self.entries[number]
        if entry.healing:
            return ()
        if entry.unreported:
            if links is None:
                entry.postponed = [None]
            elif None not in entry.postponed:
                entry.postponed.append(links)
            return ()
        match entry.fault:
            case Cut() | Slow() as fault:
                return self._heal_links(entry, fault, now_ns, links)
            case fault:
                entry.healing = True
                if not (fault.lasts and entry.asked):
                    return ()
                entry.unhealed += 1
                return (Heal(number, fault),)

    def _heal_links(
        self, entry: Entry, fault: Cut | Slow, now_ns: int, links: Links | None
    ) -> tuple[NemesisEffect, ...]:
        """Open what nobody else wants shut; what another cut wants less firmly falls to that one."""
        opened, fallen = self._links.release(entry.id, fault.links if links is None else links)
        entry.healing = not self._links.held(entry.id)
        effects = self._fall(fallen)
        if opened:
            entry.unhealed += 1
            effects.append(Heal(entry.id, msgspec.structs.replace(fault, links=opened)))
        elif entry.healing and not entry.unhealed:
            entry.healed_ns = now_ns
        return tuple(effects)

    def _fall(self, fallen: Mapping[int, Links]) -> list[NemesisEffect]:
        """Ask for the links that fall to others who want them shut."""
        effects: list[NemesisEffect] = []
        for heir, left in fallen.items():
            heirs = self.entries[heir].fault
            assert isinstance(heirs, Cut | Slow), "only cuts and delays hold links"
            effects.extend(self._ask(self.entries[heir], msgspec.structs.replace(heirs, links=left)))
        return effects

    def heal_all(self) -> tuple[NemesisEffect, ...]:
        """Undo everything that is not known to be healed, whatever else is under way.

        Frozen nodes first: they cannot carry out a heal that they are asked for.
        """
        self._final = True
        for entry in self.entries.values():
            entry.postponed.clear()  # this heal takes the place of every other
        open_entries = [each for each in self.entries.values() if self._needs_final(each)]
        open_entries.sort(key=lambda each: (each.fault.heal_rank, each.id))
        self._last += tuple(open_entries)
        for entry in open_entries:
            entry.healing = True
            entry.unhealed += 1
        return tuple(Heal(entry.id, entry.fault) for entry in open_entries)

    @staticmethod
    def _needs_final(entry: Entry) -> bool:
        in_force = entry.asked or entry.standing is Standing.INSTALLED
        return entry.healed_ns is None and in_force and entry.fault.lasts

    def happened(self, event: Happened, now_ns: int) -> tuple[NemesisEffect, ...]:
        """Take the report of an injection or a heal."""
        entry = self.entries.get(event.id)
        if entry is None:
            return (Note(f"a report of fault {event.id}, which nobody asked for"),)
        return (
            self._healed(entry, event, now_ns) if event.healed else self._injected(entry, event, now_ns)
        )

    def _injected(self, entry: Entry, event: Happened, now_ns: int) -> tuple[NemesisEffect, ...]:
        """Note what came of an injection; heal what was waiting for that."""
        entry.unreported = max(0, entry.unreported - 1)
        verification = event.verification
        entry.evidence.update(verification.evidence)
        if entry.standing in (None, Standing.INSTALLED):
            entry.standing, entry.reason = verification.standing, verification.reason
        if verification.standing is Standing.INSTALLED and entry.installed_ns is None:
            entry.installed_ns = now_ns
        effects: list[NemesisEffect] = []
        if verification.standing is not Standing.INSTALLED:
            effects.append(Note(f"{entry.step}: {verification.standing}: {verification.reason}"))
        if not verification.tried and entry.standing is Standing.SKIPPED:
            effects.extend(self._never(entry))
        elif self._final:
            if entry.fault.lasts:
                entry.healing, entry.healed_ns = True, None
                entry.unhealed += 1
                effects.append(Heal(entry.id, entry.fault))
        elif not entry.unreported:
            postponed, entry.postponed = entry.postponed, []
            for links in postponed:
                effects.extend(self.heal(entry.id, now_ns, links=links))
        return tuple(effects)

    def _never(self, entry: Entry) -> list[NemesisEffect]:
        """Let go of what an injection was to have, which was refused: there is nothing to heal of it."""
        entry.asked, entry.healing = False, True
        entry.postponed.clear()
        self._free(entry)
        if not isinstance(entry.fault, Cut | Slow):
            return []
        opened, fallen = self._links.release(entry.id, entry.fault.links)
        effects = self._fall(fallen)
        others = (each for each in self.entries.values() if each.healing and each is not entry)
        left = {
            link for each in others if isinstance(each.fault, Cut | Slow) for link in each.fault.links
        }
        if shut := tuple(link for link in opened if link in left):  # whoever let go of it left it to us
            entry.unhealed += 1
            effects.append(Heal(entry.id, msgspec.structs.replace(entry.fault, links=shut)))
        return effects

    def _free(self, entry: Entry) -> None:
        """Let others have the nodes that an injection had to itself."""
        self._busy = {key: owner for key, owner in self._busy.items() if owner != entry.id}

    def _healed(self, entry: Entry, event: Happened, now_ns: int) -> tuple[NemesisEffect, ...]:
        """Note what came of a heal; a failed one is tried again by the final heal."""
        entry.unhealed = max(0, entry.unhealed - 1)
        entry.heals += 1
        notes: tuple[Note, ...] = ()
        if event.verification.broken is not None and self._was_whole(entry):
            entry.standing, entry.reason = Standing.UNKNOWN, event.verification.broken
            notes = (Note(f"{entry.step}: {event.verification.broken}"),)
        if event.verification.standing is Standing.UNKNOWN:
            entry.heal_problem = event.verification.reason
            return (*notes, Note(f"{entry.step}: heal failed: {event.verification.reason}"))
        if entry.healing and not entry.unhealed and (entry.heal_problem is None or self._final):
            entry.healed_ns = now_ns
            self._free(entry)
        return notes

    def _was_whole(self, entry: Entry) -> bool:
        """Whether nothing of ours had undone an injection, or a part of it, before its heal.

        Earlier heals had; so may the final one have with links that several cuts share, and whatever
        ended a node that was frozen.
        """
        if entry.standing is not Standing.INSTALLED or entry.heals > 1:
            return False
        if isinstance(entry.fault, Cut | Slow):
            return not any(_share_links(entry, each) for each in self._last)
        later = (each for each in self.entries.values() if each.id > entry.id and each.fault.ends_nodes)
        return not any(set(each.fault.concerned) & set(entry.fault.concerned) for each in later)

    @property
    def settled(self) -> bool:
        """Whether every report is in."""
        return all(entry.settled for entry in self.entries.values())

    def record(self) -> tuple[Injected, ...]:
        """Return everything entered so far, in order."""
        return tuple(
            Injected(
                id=entry.id,
                episode=entry.episode,
                repetition=entry.repetition,
                step=entry.step,
                fault=entry.fault,
                roles=entry.roles,
                asked_ns=entry.asked_ns,
                standing=entry.standing,
                installed_ns=entry.installed_ns,
                healed_ns=entry.healed_ns,
                evidence=dict(entry.evidence),
                reason=entry.reason,
                heal_problem=entry.heal_problem,
            )
            for entry in self.entries.values()
        )


def _share_links(entry: Entry, other: Entry) -> bool:
    """Whether two faults are of the same link."""
    one, two = entry.fault, other.fault
    return (
        entry is not other
        and isinstance(one, Cut | Slow)
        and isinstance(two, Cut | Slow)
        and not set(one.links).isdisjoint(two.links)
    )
