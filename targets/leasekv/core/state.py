"""What the parts of one node's core share: the facts Raft's own pseudo-code calls state.

Each part (`Election`, `Replication`, `Lease`, `Reads`, `Writes`) owns what only it decides; what two
of them need lies here. Nothing here decides anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from checker.events import ReadPath
from targets.cluster import Role
from targets.leasekv.moments import Elapsed, Moment
from targets.leasekv.ports import HardState
from targets.leasekv.views import Barrier

from .log import Log
from .members import Members
from .outbox import Outbox

if TYPE_CHECKING:
    from random import Random

    from targets.clock import Reading
    from targets.leasekv.config import NodeConfig
    from targets.leasekv.moments import Sync
    from targets.leasekv.ports import Restored
    from targets.leasekv.rules import Rules


@dataclass(slots=True)
class Handover:
    """A leadership being handed over, or that was to be.

    ``target`` while it is under way; ``told_ns`` when the target was last told to campaign, and
    ``noop_index`` the entry that takes the word back (0: none yet).
    """

    target: str | None = None
    told_ns: int | None = None
    noop_index: int = 0


@dataclass(slots=True, kw_only=True)
class State:
    """One node.

    ``reading`` is this step's, ``sampled`` that of the last coarse tick. ``noop_index`` is the first
    entry of this node's own leadership, ``hard_seq`` the persist that carries term and vote as they are.
    Before ``commit_from_ns``, on the monotonic clock, a leader commits nothing. ``round_sent`` is when
    its newest round left, ``ticked_ns`` when its leadership began and one heartbeat for each since, and
    ``sync`` what the time service said last.
    """

    config: NodeConfig
    rules: Rules
    rng: Random
    log: Log
    out: Outbox
    members: Members
    boot: int
    reading: Reading
    sampled: Moment
    term: int
    voted_for: str | None
    role: Role = Role.FOLLOWER
    leader: str | None = None
    commit_index: int = 0
    applied_index: int = 0
    noop_index: int = 0
    hard_seq: int = 0
    commit_from_ns: int = 0
    round_sent: Moment | None = None
    ticked_ns: int = 0
    sync: Sync | None = None
    handover: Handover = field(default_factory=Handover)

    @property
    def may_read(self) -> bool:
        """Whether a leader has committed an entry of its own term."""
        return self.commit_index >= self.noop_index

    @property
    def may_lease(self) -> bool:
        """Whether this node leads and its policy lets it read by a lease by now, if it holds one."""
        rules = self.rules
        if self.role is not Role.LEADER or ReadPath.LEASE not in rules.paths:
            return False
        return rules.lease_index(Barrier(self.commit_index, self.noop_index)) is not None

    @property
    def moment(self) -> Moment:
        """This step's instant, on every clock of the node."""
        return self.moment_of(self.reading)

    def moment_of(self, reading: Reading) -> Moment:
        """Return the instant of a reading taken after the last sync."""
        sync = self.sync
        if sync is None:
            return Moment(reading, None, self.ticked_ns)
        since_ns = max(0, reading.passed_ns(sync.reading))
        span = self.rules.span(Elapsed(sync, since_ns, self.config.drift_ppm))
        return Moment(reading, span, self.ticked_ns)

    def remember(self, term: int, voted_for: str | None) -> None:
        """Change term and vote; nothing that rests on them is said before they are durable."""
        self.term = term
        self.voted_for = voted_for
        self.out.store_hard(self.rules.stored(HardState(term, voted_for)))
        self.hard_seq = self.out.pending_seq


def found(config: NodeConfig, rules: Rules, restored: Restored, rng: Random, reading: Reading) -> State:
    """Return the state of a node that has just booted and found ``restored`` on its disk."""
    snapshot = restored.snapshot
    log = Log(restored.entries, snapshot)
    base = config.membership if snapshot is None else snapshot.membership
    members = Members(config.node, base, log.offset)
    members.take(restored.entries)
    return State(
        config=config,
        rules=rules,
        rng=rng,
        log=log,
        out=Outbox(config.limits.held_max),
        members=members,
        boot=restored.boot,
        reading=reading,
        sampled=Moment(reading),
        term=restored.hard.term,
        voted_for=restored.hard.voted_for,
        commit_index=log.offset,
        applied_index=log.offset,
    )
