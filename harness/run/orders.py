"""What was ordered of the nemesis's means and is not reported yet, and what the history says of it.

The nemesis keeps its own record of the faults; this book answers three questions of the run: is
anything still under way, what is to be healed should the nemesis itself break, and is a node down
because we killed it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from nemesis.faults import LinksFault, Standing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nemesis.faults import Fault
    from nemesis.ports import Happened, Heal, Inject
    from targets.cluster import Link


class Orders:
    """The open orders of one run. Every method returns the value of its line in the history."""

    def __init__(self) -> None:
        self._pending: Counter[tuple[int, bool]] = Counter()
        self._faults: dict[int, Fault] = {}  # what was injected and not healed since
        self._kinds: dict[int, str] = {}
        self._opening: dict[int, set[Link]] = {}  # links under a heal that is not reported yet

    @property
    def pending(self) -> bool:
        """Whether any order was not reported yet."""
        return self._pending.total() > 0

    @property
    def standing(self) -> dict[int, Fault]:
        """Faults ordered and not known to be healed."""
        return dict(self._faults)

    def kind(self, number: int) -> str:
        """Return the kind of fault this number is."""
        return self._kinds.get(number, "fault")

    def down(self, node: str) -> bool:
        """Whether a fault of which this node ends stands."""
        return any(fault.ends_nodes and node in fault.concerned for fault in self._faults.values())

    def frozen(self, node: str) -> bool:
        """Whether a fault that stops this node stands."""
        return any(fault.stops_nodes and node in fault.concerned for fault in self._faults.values())

    def inject(self, order: Inject, roles: Mapping[str, str]) -> dict[str, Any]:
        """Enter an injection; ``roles`` is what every node last took itself for."""
        self._pending[order.id, False] += 1
        if order.fault.lasts:
            self._faults[order.id] = order.fault
        self._kinds[order.id] = order.fault.kind
        known = {node: roles[node] for node in order.fault.concerned if node in roles}
        return {
            "id": order.id,
            "step": "inject",
            "fault": msgspec.to_builtins(order.fault),
            "roles": known,
        }

    def heal(self, order: Heal) -> dict[str, Any]:
        """Enter a heal; it may be of a part of what was injected."""
        self._pending[order.id, True] += 1
        self._kinds.setdefault(order.id, order.fault.kind)
        if isinstance(order.fault, LinksFault):
            self._opening.setdefault(order.id, set()).update(order.fault.links)
        return {"id": order.id, "step": "heal", "fault": msgspec.to_builtins(order.fault)}

    def _opened(self, links: set[Link]) -> None:
        """Forget faults whose links are all open: faults that share one have it healed once."""
        for number, fault in tuple(self._faults.items()):
            if isinstance(fault, LinksFault) and not links.isdisjoint(fault.links):
                left = tuple(link for link in fault.links if link not in links)
                if left:
                    self._faults[number] = msgspec.structs.replace(fault, links=left)
                else:
                    del self._faults[number]

    def happened(self, report: Happened) -> dict[str, Any]:
        """Take a report."""
        key = (report.id, report.healed)
        self._pending[key] = max(0, self._pending[key] - 1)
        found = report.verification
        healed = report.healed and found.standing is not Standing.UNKNOWN
        never_was = not report.healed and found.standing is Standing.SKIPPED
        if (healed or never_was) and not self._pending[key]:
            self._faults.pop(report.id, None)
            self._opened(self._opening.pop(report.id, set()))
        told: dict[str, Any] = {"id": report.id, "step": "healed" if report.healed else "injected"}
        told |= {
            "standing": found.standing.value,
            "evidence": msgspec.to_builtins(found.evidence),
        }
        return told if found.reason is None else {**told, "reason": found.reason}
