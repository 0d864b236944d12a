"""One core on its own: the test plays its peers, its clients, its disk and its clocks."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from targets.clock import MS, Reading
from targets.cluster import Role
from targets.leasekv.config import NodeConfig, build_rules
from targets.leasekv.core import Core
from targets.leasekv.messages import (
    Append,
    AppendReply,
    Entry,
    Op,
    PeerMessage,
    Request,
    RequestVote,
    Response,
    VoteReply,
)
from targets.leasekv.ports import Asked, Input, Persisted, Ready, Received, Restored, TimerDue

if TYPE_CHECKING:
    from checker.evidence import Fact

E = 1000 * MS
H = 100 * MS


class Lone:
    """The core of n1; ``sent``, ``replies`` and ``facts`` are what it has said since `hush`."""

    def __init__(self, *, nodes: int = 3, restored: Restored | None = None, **config: Any) -> None:
        names = tuple(f"n{i + 1}" for i in range(nodes))
        self.config = NodeConfig(**{"node": "n1", "nodes": names, "election_jitter_ns": 0, **config})
        self.mono_ns = 5 * E
        self.wall_ns = 77 * E
        self.asleep_ns = 0
        self.seq = 0
        self.sent: list[tuple[str, PeerMessage]] = []
        self.replies: list[Response] = []
        self.facts: list[Fact] = []
        self.core = Core(
            self.config, build_rules(self.config), restored or Restored(), Random(1), self.reading
        )
        self.feed(TimerDue())

    @property
    def reading(self) -> Reading:
        return Reading(self.mono_ns, self.wall_ns, self.mono_ns + self.asleep_ns)

    def role(self) -> Role:
        return self.core.status(self.reading).role

    @property
    def term(self) -> int:
        return self.core.status(self.reading).term

    @property
    def commit_index(self) -> int:
        return self.core.status(self.reading).commit_index

    @property
    def left_ns(self) -> int | None:
        return self.core.status(self.reading).lease_remaining_ns

    def feed(self, event: Input) -> Ready:
        ready = self.core.step(event, self.reading)
        if ready.persist is not None:
            self.seq = ready.persist.seq
        self.sent.extend(ready.messages)
        self.replies.extend(response for _, response in ready.replies)
        self.facts.extend(ready.facts)
        return ready

    def hear(self, peer: str, message: PeerMessage) -> Ready:
        return self.feed(Received(peer, message))

    def persist(self) -> Ready:
        return self.feed(Persisted(self.seq))

    def jump(self, duration_ns: int) -> None:
        """Let time pass without running the core, as a stopped process would."""
        self.mono_ns += duration_ns
        self.wall_ns += duration_ns

    def suspend(self, duration_ns: int) -> None:
        """Let time pass on the wall and boot clocks only, as on a host that sleeps."""
        self.asleep_ns += duration_ns
        self.wall_ns += duration_ns

    def advance(self, duration_ns: int) -> None:
        """Let time pass, waking the core whenever it asked for it."""
        end_ns = self.mono_ns + duration_ns
        while self.core.wake_ns <= end_ns:
            self.jump(max(0, self.core.wake_ns - self.mono_ns))
            self.feed(TimerDue())
        self.jump(end_ns - self.mono_ns)

    def hush(self) -> None:
        self.sent.clear()
        self.replies.clear()
        self.facts.clear()

    def said(self, kind: type, peer: str | None = None) -> list[Any]:
        return [m for to, m in self.sent if isinstance(m, kind) and peer in {None, to}]

    def noted(self, kind: type) -> list[Any]:
        return [fact for fact in self.facts if isinstance(fact, kind)]

    # Common plays.

    def campaign(self) -> None:
        """Let it time out, win the pre-vote and be a candidate whose own vote is durable."""
        self.advance(max(0, self.core.wake_ns - self.mono_ns, E))
        assert self.role() is Role.FOLLOWER, "still only asking"
        self.hear("n2", VoteReply(self.term + 1, True, True))
        if len(self.config.nodes) > 3:
            self.hear("n3", VoteReply(self.term + 1, True, True))
        self.persist()

    def lead(self) -> None:
        """Win an election; the no-op is on disk here and nowhere else, and no round is acked."""
        self.campaign()
        assert self.role() is Role.CANDIDATE
        for peer in self.config.nodes[1 : len(self.config.nodes) // 2 + 1]:
            self.hear(peer, VoteReply(self.term, False, True))
        assert self.role() is Role.LEADER
        self.persist()

    def serve(self) -> None:
        """Lead, with the no-op committed and rounds of ``n2`` and ``n3`` acknowledged."""
        self.lead()
        self.ack("n2")
        self.ack("n3")
        self.hush()

    def last_append(self, peer: str) -> Append:
        append: Append = self.said(Append, peer)[-1]
        return append

    def ack(self, peer: str, append: Append | None = None, **change: Any) -> Ready:
        """Let ``peer`` agree with the last Append sent to it (or the one given)."""
        got = append or self.last_append(peer)
        fields: dict[str, Any] = {
            "term": got.term, "round": got.round, "ok": True,
            "match_index": got.prev_index + len(got.entries),
        }  # fmt: skip
        return self.hear(peer, AppendReply(**{**fields, **change}))

    def beat(self, term: int = 1, *, leader: str = "n2", round_: int = 1, **change: Any) -> Ready:
        """Let a leader be heard."""
        fields: dict[str, Any] = {"prev_index": 0, "prev_term": 0, "entries": (), "commit_index": 0}
        return self.hear(leader, Append(term=term, round=round_, **{**fields, **change}))

    def ask_vote(self, term: int, *, pre: bool = False, peer: str = "n3", last: int = 99) -> VoteReply:
        """Ask for its vote, with a log as good as any; return what it says once that is durable."""
        self.sent.clear()
        self.hear(peer, RequestVote(term, pre, last, 99))
        self.persist()
        reply: VoteReply = self.said(VoteReply, peer)[-1]
        return reply

    def request(self, op: Op, key: str = "x", value: Any = None, **more: Any) -> list[Response]:
        """Ask as a client; return what was answered within the step."""
        before = len(self.replies)
        self.feed(Asked(1, Request(len(self.facts), op, key, value, **more)))
        return self.replies[before:]


def entries(*terms: int) -> tuple[Entry, ...]:
    """A log with these terms, writing its indexes to x."""
    return tuple(Entry(i, term, Op.WRITE, "x", i) for i, term in enumerate(terms, start=1))
