"""What a node's facts add up to: counters and histograms, cheap to keep and read when somebody asks.

A node tells facts anyway, as evidence; here they are counted as they pass. Pure: facts and the node's
own monotonic clock in, numbers out. Nothing here knows a metric's name (`metrics` does), and nothing is
counted that can be read from the core's state when somebody asks.

A renewed lease is granted when a round, sent at s, has reached a majority of the voters (and of those
that are to replace them): that is when the newest round which a majority has acknowledged moves on. A
one-shot lease is granted by a majority of its own grants, one in the log by an entry of the leader's own
term.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from checker.events import ReadPath
from checker.evidence import (
    Applied,
    ClockAnomaly,
    Configured,
    GrantAcked,
    GrantAsked,
    Promised,
    Refused,
    Revoked,
    RoleChanged,
    RoundAcked,
    RoundSent,
    ServedRead,
    Stored,
    TermChanged,
    Voted,
)
from targets.cluster import Role

from .buckets import SIZES, Buckets
from .messages import Code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from checker.evidence import Fact

    from .rules import Rules

ROUNDS_KEPT: Final = 1024

RENEW: Final = "renew"
ONESHOT: Final = "oneshot"
LOG: Final = "log"

STALL: Final = "stall"


def kind_of(rules: Rules) -> str | None:
    """Return which lease a policy has: one of the three kinds, None for none."""
    if ReadPath.LEASE not in rules.paths:
        return None
    if rules.in_log:
        return LOG
    return RENEW if rules.renews else ONESHOT


class Tally:
    """The counts of one boot. ``kind`` is which lease the policy has, None for none."""

    def __init__(self, node: str, *, kind: str | None) -> None:
        self.read_seconds: dict[str, Buckets] = {}
        self.grants: Counter[str] = Counter()
        self.renew_seconds = Buckets()
        self.renew_failures: Counter[str] = Counter()
        self.revocations: Counter[str] = Counter()
        self.votes: Counter[str] = Counter()
        self.step_downs: Counter[str] = Counter()
        self.anomalies: Counter[str] = Counter()
        self.stall_seconds = Buckets()
        self.round_seconds = Buckets()
        self.batch_sizes = Buckets(SIZES)
        self.term_changes = 0
        self.leader_changes = 0
        self.fenced = 0
        self.token_max = 0
        self._node = node
        self._kind = kind
        self._leads = False
        self._leader: tuple[int, str] | None = None
        self._revoked_for = "term"
        self._groups: tuple[tuple[tuple[str, ...], int], ...] = ()  # peers, and how many it takes
        self._rounds_ns: dict[int, int] = {}
        self._asked_ns: dict[int, int] = {}
        self._sent_ns = self._asked_ns if kind == ONESHOT else self._rounds_ns  # what asks for a lease
        self._acked: dict[str, int] = {}
        self._granted = 0
        self._batch = (0, 0)  # a round, and how many reads it has confirmed
        self._applied = 0
        self._hears: dict[type[Any], Callable[[Any, int], None]] = {
            ServedRead: self._served,
            RoundSent: self._sent,
            RoundAcked: self._round_acked,
            GrantAsked: self._asked,
            GrantAcked: self._grant_acked,
            Promised: self._promised,
            Applied: self._applies,
            Refused: self._refused,
            Voted: self._voted,
            TermChanged: self._term,
            RoleChanged: self._role_changed,
            Revoked: self._revoked,
            Configured: self._configured,
            Stored: self._stored,
            ClockAnomaly: self._anomaly,
        }

    def hear(self, facts: Iterable[Fact], now_ns: int) -> None:
        """Count the facts of one step, which was taken at ``now_ns`` of the own monotonic clock."""
        hears = self._hears
        for fact in facts:
            hear = hears.get(type(fact))
            if hear is not None:
                hear(fact, now_ns)

    # Reads.

    @property
    def reads(self) -> dict[str, int]:
        """How many were answered, by path."""
        return {path: sum(buckets.counts) for path, buckets in self.read_seconds.items()}

    def _served(self, fact: ServedRead, now_ns: int) -> None:
        buckets = self.read_seconds.get(fact.path)
        if buckets is None:
            buckets = self.read_seconds[fact.path] = Buckets()
        arrived_ns = fact.arrived_ns
        assert arrived_ns is not None, "this node tells when a read came"
        buckets.add((now_ns - arrived_ns) / 1e9)
        if fact.round is not None:
            self._confirmed(fact.round, now_ns)

    def _confirmed(self, round_: int, now_ns: int) -> None:
        last, size = self._batch
        if round_ == last:
            self._batch = round_, size + 1
            return
        if size:
            self.batch_sizes.add(size)
        self._batch = round_, 1
        sent_ns = self._rounds_ns.get(round_)
        if sent_ns is not None:
            self.round_seconds.add((now_ns - sent_ns) / 1e9)

    def _refused(self, fact: Refused, _now_ns: int) -> None:
        self.fenced += fact.code == Code.FENCED.value

    # Leases.

    def _sent(self, fact: RoundSent, now_ns: int) -> None:
        self._rounds_ns[fact.round] = now_ns
        if len(self._rounds_ns) > ROUNDS_KEPT:
            del self._rounds_ns[next(iter(self._rounds_ns))]

    def _asked(self, fact: GrantAsked, now_ns: int) -> None:
        if self._asked_ns and max(self._asked_ns) > self._granted:
            self.renew_failures["timeout"] += 1  # it is asked anew, and what was asked has no majority
        self._asked_ns.clear()
        self._asked_ns[fact.seq] = now_ns

    def _round_acked(self, fact: RoundAcked, now_ns: int) -> None:
        if self._kind == RENEW:
            self._acknowledged(fact.peer, fact.round, now_ns)

    def _grant_acked(self, fact: GrantAcked, now_ns: int) -> None:
        self._acknowledged(fact.peer, fact.seq, now_ns)

    def _acknowledged(self, peer: str, number: int, now_ns: int) -> None:
        acked = self._acked
        if number <= acked.get(peer, 0) or number not in self._sent_ns:
            return  # no news, or of a round that was sent before the lease was dropped
        acked[peer] = number
        granted = self._granted
        if number <= granted:
            return
        reached = number
        for peers, needed in self._groups:
            if needed > 1 or peer not in peers:
                numbers = sorted([acked.get(node, 0) for node in peers])
                reached = min(reached, numbers[-needed])
        if reached > granted:
            self._granted = reached
            self.grants[self._kind or RENEW] += 1
            self.renew_seconds.add((now_ns - self._sent_ns[reached]) / 1e9)

    def _applies(self, fact: Applied, _now_ns: int) -> None:
        if (
            self._kind == LOG
            and self._leads
            and fact.entry_term == fact.term
            and fact.index > self._applied
        ):
            self.grants[LOG] += 1
        self._applied = fact.index

    def _revoked(self, fact: Revoked, _now_ns: int) -> None:
        self._revoked_for = fact.reason
        self.revocations[fact.reason] += 1
        if self._sent_ns and self._kind is not None and max(self._sent_ns) > self._granted:
            self.renew_failures[fact.reason] += 1  # the newest round has no majority, and never will
        self._forget()

    def _forget(self) -> None:
        self._rounds_ns.clear()
        self._asked_ns.clear()
        self._acked.clear()

    # Terms, roles, votes.

    def _promised(self, fact: Promised, _now_ns: int) -> None:
        self._follows(fact.term, fact.holder)

    def _follows(self, term: int, leader: str) -> None:
        if self._leader != (term, leader):
            self._leader = (term, leader)
            self.leader_changes += 1

    def _term(self, _fact: TermChanged, _now_ns: int) -> None:
        self.term_changes += 1

    def _role_changed(self, fact: RoleChanged, _now_ns: int) -> None:
        if self._leads:
            self.step_downs[self._revoked_for] += 1
        self._leads = fact.role == Role.LEADER.value
        if self._leads:
            self._follows(fact.term, self._node)
            self._forget()
            self._granted = 0

    def _voted(self, fact: Voted, _now_ns: int) -> None:
        if not fact.pre:
            self.votes["granted" if fact.granted else f"refused_{fact.reason}"] += 1

    def _configured(self, fact: Configured, _now_ns: int) -> None:
        self._groups = tuple(
            (peers, needed)
            for group in (fact.voters, fact.incoming)
            if (peers := tuple(node for node in group if node != self._node))
            and (needed := len(group) // 2 + 1 - (self._node in group)) > 0
        )

    # The rest.

    def _stored(self, fact: Stored, _now_ns: int) -> None:
        self.token_max = max(self.token_max, fact.token)

    def _anomaly(self, fact: ClockAnomaly, _now_ns: int) -> None:
        self.anomalies[fact.kind] += 1
        if fact.kind == STALL:
            self.stall_seconds.add(fact.size_ns / 1e9)
