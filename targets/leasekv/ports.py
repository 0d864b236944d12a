"""The seam of a leasekv node: every input its core takes, every effect it gives back.

``core.step(input, reading) -> Ready``. The core holds no clock, no socket and no disk. A driver (the
asyncio one, the simulator, a test) owns those and owes the core this, in this order:

1. write ``facts`` to the evidence (a `Revoked` must be on its way before its effect);
2. start making ``persist`` durable; once it is, and every earlier one, feed ``Persisted(seq)``.
   What the core must not say before that (votes, acknowledgements), it keeps to itself until then;
3. send ``messages``; they may be lost, repeated and reordered between any two nodes;
4. hand out ``replies``;
5. feed `TimerDue` when the node's monotonic clock has reached ``core.wake_ns``, and never while a
   request is being stepped: timers are inputs of their own.

A driver has no ``if`` about consensus.
"""

from __future__ import annotations

import msgspec

from checker.evidence import Fact

from .messages import Entry, PeerMessage, Request, Response, Snapshot
from .moments import Sync


class Received(msgspec.Struct, frozen=True):
    """A peer's message arrived."""

    peer: str
    message: PeerMessage


class Asked(msgspec.Struct, frozen=True):
    """A client's request arrived; ``client`` is the driver's handle of the connection."""

    client: int
    request: Request


class ClientGone(msgspec.Struct, frozen=True):
    """The client's connection is closed; nobody hears what is still owed to it."""

    client: int


class PeerGone(msgspec.Struct, frozen=True):
    """The connection on which ``peer`` speaks was lost; it may be back at once."""

    peer: str


class TimerDue(msgspec.Struct, frozen=True):
    """The node's clock reached ``core.wake_ns`` (or somewhat later)."""


class Persisted(msgspec.Struct, frozen=True):
    """Everything up to and including persist ``seq`` is durable."""

    seq: int


class TimeTold(msgspec.Struct, frozen=True):
    """The time service spoke."""

    sync: Sync


class CampaignNow(msgspec.Struct, frozen=True):
    """An operator asks the node to campaign at once, through the vote rules."""


class HandOver(msgspec.Struct, frozen=True):
    """An operator asks the node, if it leads, to transfer leadership to ``target``."""

    target: str


class Reconfigure(msgspec.Struct, frozen=True):
    """An operator asks the node, if it leads, to go over to these voters and learners."""

    voters: tuple[str, ...]
    learners: tuple[str, ...] = ()


class SetApplyDelay(msgspec.Struct, frozen=True):
    """From now on an entry is applied this long after it was committed (a tester's knob)."""

    delay_ns: int


Order = CampaignNow | HandOver | Reconfigure | SetApplyDelay
Input = Received | Asked | ClientGone | PeerGone | TimerDue | Persisted | TimeTold | Order


class HardState(msgspec.Struct, frozen=True):
    """What Raft must never forget besides the log."""

    term: int = 0
    voted_for: str | None = None


class Persist(msgspec.Struct, frozen=True):
    """What to make durable: the hard state if it changed, and entries.

    The entries replace whatever the log holds from the first one's index on. With a ``snapshot`` they
    are all that follows it and ``hard`` is there: nothing stored before is needed any more.
    """

    seq: int
    hard: HardState | None
    entries: tuple[Entry, ...]
    snapshot: Snapshot | None = None


class Ready(msgspec.Struct, frozen=True):
    """What one step wants done. See the module's text for the order."""

    facts: tuple[Fact, ...] = ()
    persist: Persist | None = None
    messages: tuple[tuple[str, PeerMessage], ...] = ()
    replies: tuple[tuple[int, Response], ...] = ()


class Restored(msgspec.Struct, frozen=True):
    """What a node finds on its disk when it boots; ``boot`` counts the boots, this one included.

    ``entries`` follow on ``snapshot``, or begin with index 1 where there is none.
    """

    boot: int = 1
    hard: HardState = HardState()
    entries: tuple[Entry, ...] = ()
    snapshot: Snapshot | None = None
