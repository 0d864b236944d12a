"""The events a repetition waits for: what has happened since it began.

Most events are *states* that can be asked for at any time ("somebody leads in a higher term"); a
renewal of the lease is an *instant*, and only one that comes after a step was armed counts for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from checker.events import EventType
from nemesis.schedule import Awaited, EventName, ProbeKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from nemesis.ports import Completed

    from .roles import Binding
    from .sight import Sight


class Watch:
    """What one repetition has seen happen.

    ``reported`` says whether every injection of the repetition has been reported on.
    """

    def __init__(
        self, binding: Binding, sight: Sight, *, election_ns: int, reported: Callable[[], bool]
    ) -> None:
        self._binding, self._sight, self._election_ns = binding, sight, election_ns
        self._reported = reported
        self._writes: dict[int, int] = {}
        self._write_step: int | None = None
        self._acked: set[int] = set()
        self._key: tuple[Any] | None = None
        self._new_leader_acked = False
        leader = sight.seen(binding.leader)
        self._lease_ends_ns = None if leader is None else leader.lease_ends_ns
        self._renewed_ns: int | None = None

    @property
    def key(self) -> Any:
        """The key of the last acknowledged probe write, None before the first."""
        return None if self._key is None else self._key[0]

    def wrote(self, step: int, number: int | None = None) -> None:
        """Remember that probe ``number`` writes for ``step``, which is the latest to write."""
        self._write_step = step
        if number is not None:
            self._writes[number] = step

    def acked(self, step: int) -> bool:
        """Whether a write of that step was acknowledged."""
        return step in self._acked

    def completed(self, event: Completed, now_ns: int) -> None:
        """Take the end of an operation: acknowledged writes are what the danger is made of."""
        step = self._writes.pop(event.probe, None) if event.probe is not None else None
        if event.type is not EventType.OK or event.f == ProbeKind.READ:
            return
        if step is not None:
            self._acked.add(step)
            self._key = (event.key,)
        known = self._key is None or self._key == (event.key,)
        self._new_leader_acked |= known and self._by_new_leader(event, now_ns)

    def _by_new_leader(self, event: Completed, now_ns: int) -> bool:
        """Whether a later leader acknowledged: it says its term, or is seen to lead."""
        if event.term is not None:
            return event.term > self._binding.term
        newer = self._sight.newer_leader(self._binding.term, now_ns)
        return newer is not None and newer.status.node == event.node

    def looked(self, now_ns: int) -> None:
        """Take a look at the lease after a status came in; a later end is a renewal."""
        seen = self._sight.newer_leader(self._binding.term, now_ns)
        seen = seen or self._sight.seen(self._binding.leader)
        ends_ns = None if seen is None or seen.at_ns < now_ns else seen.lease_ends_ns
        if ends_ns is None:
            return
        if self._lease_ends_ns is None or ends_ns > self._lease_ends_ns + self._election_ns // 50:
            self._renewed_ns = now_ns
            self._lease_ends_ns = ends_ns

    def happened(  # noqa: PLR0911 - one case an event
        self, awaited: Awaited, armed_ns: int, now_ns: int
    ) -> bool:
        """Whether an event is so (or, for a renewal, came after ``armed_ns``)."""
        match awaited.event:
            case EventName.STABLE:
                return self._sight.stable(now_ns)
            case EventName.NEW_LEADER:
                return self._sight.newer_leader(self._binding.term, now_ns) is not None
            case EventName.NEW_LEADER_ACKED:
                return self._new_leader_acked
            case EventName.ACKED:
                return self._write_step in self._acked
            case EventName.INSTALLED:
                return self._reported()
            case EventName.LEASE_GRANTED:
                return self._renewed_ns is not None and self._renewed_ns > armed_ns
            case EventName.LEASE_EXPIRES_IN:
                at_ns = self.expiring_ns(awaited)
                return at_ns is not None and now_ns >= at_ns

    def expiring_ns(self, awaited: Awaited) -> int | None:
        """Return when that little will be left of the leader's lease, as far as it was seen."""
        if awaited.left is None:
            return None
        seen = self._sight.seen(self._binding.leader)
        if seen is None or self._lease_ends_ns is None:
            return None
        if seen.lease_ends_ns is None:
            return seen.at_ns
        return seen.lease_ends_ns - awaited.left.ns(self._election_ns)
