"""Where a wrong lease end comes from: every way of counting that is known, tried against every check.

Kept, L2, L3 and L12 leave one trace: each granted check of a leadership believes in the right start plus
D. A way of counting explains a leadership if it gives the believed end of *all* its granted checks, to
the nanosecond; ends are sums of readings that differ from step to step, so a wrong way does not fit by
chance. What no way explains is a lease that ends too late for a reason that is not known here: then the
rules that could be behind it are named together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from checker.evidence import OwnClock

from .owed import PPM
from .quorum import NOW, backed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .ledger import Ledger
    from .owed import Owed

Start = Callable[["Ledger", OwnClock, int], int | None]


class Way(msgspec.Struct, frozen=True):
    """A wrong way to find a lease's start: the rule it breaks, and how to say it after "it counted"."""

    rule: str
    said: str
    looks_like: tuple[str, ...]
    start: Start


class Guess(msgspec.Struct, frozen=True):
    """What one granted check believed, on the clock it used, and what each way would have counted.

    ``start_ns`` is the right start; None where no majority backs any.
    """

    until_ns: int
    start_ns: int | None
    starts: tuple[int | None, ...]


class Cause(msgspec.Struct, frozen=True):
    """Why ends were wrong; ``said`` follows "it"."""

    rules: tuple[str, ...]
    said: str
    looks_like: tuple[str, ...] = ()


def _heard(ledger: Ledger, clock: OwnClock, now_ns: int) -> int | None:
    return ledger.start_ns(ledger.tallies[clock].heard, now_ns)


def _newest_then(ledger: Ledger, clock: OwnClock, now_ns: int) -> int | None:
    return ledger.start_ns(ledger.tallies[clock].newest, now_ns)


def _last_sent(ledger: Ledger, clock: OwnClock, _now_ns: int) -> int | None:
    return ledger.sends(clock).get(ledger.last_round)


def _unvoided(ledger: Ledger, clock: OwnClock, now_ns: int) -> int | None:
    return ledger.start_ns(ledger.tallies[clock].unvoided, now_ns)


def _of_before(ledger: Ledger, clock: OwnClock, now_ns: int) -> int | None:
    return ledger.start_ns(ledger.before[-1][clock].sent, now_ns) if ledger.before else None


def _newest_acked(ledger: Ledger, clock: OwnClock, _now_ns: int) -> int | None:
    return max(ledger.tallies[clock].sent.values(), default=None)


def _own_word(_ledger: Ledger, _clock: OwnClock, now_ns: int) -> int | None:
    return now_ns


def _incoming_only(ledger: Ledger, clock: OwnClock, now_ns: int) -> int | None:
    incoming = ledger.electorate.incoming
    return _of(ledger, clock, now_ns, (incoming,)) if incoming else None


def _outgoing_only(ledger: Ledger, clock: OwnClock, now_ns: int) -> int | None:
    joint = bool(ledger.electorate.incoming)
    return _of(ledger, clock, now_ns, (ledger.electorate.voters,)) if joint else None


def _at_first(ledger: Ledger, clock: OwnClock, now_ns: int) -> int | None:
    return _of(ledger, clock, now_ns, ledger.first_electorate.sets)


def _of(ledger: Ledger, clock: OwnClock, now_ns: int, sets: tuple[tuple[str, ...], ...]) -> int | None:
    start_ns = backed(ledger.own, ledger.tallies[clock].sent, sets)
    return now_ns if start_ns == NOW else start_ns


WAYS: Final = (
    Way("L2", "from when acknowledgements arrived", ("lease-from-last-ack",), _heard),
    Way("L2", "from the newest send when an acknowledgement came", ("renew-at-send",), _newest_then),
    Way("L2", "from the last round it had sent, acknowledged or not", ("renew-at-send",), _last_sent),
    Way("L3", "from the newest acknowledgement, which is no majority", ("newest-ack-not-quorum",),
        _newest_acked),
    Way("L3", "its own word as a majority", (), _own_word),
    Way("L6", "from a leadership that was over", ("term-keeps-lease",), _of_before),
    Way("L11", "from rounds sent before its clocks did something that no lease may rest on", (),
        _unvoided),
    Way("L10", "a majority of the incoming voters alone", ("membership-lease-quorum",), _incoming_only),
    Way("L10", "a majority of the outgoing voters alone", ("membership-lease-quorum",), _outgoing_only),
    Way("L10", "a majority of the voters that its log began with", ("single-node-forever",), _at_first),
)  # fmt: skip


def guess(ledger: Ledger, clock: OwnClock, until_ns: int, now_ns: int) -> Guess:
    """Note what a check believed and what each way would count at that moment of its clock."""
    return Guess(
        until_ns=until_ns,
        start_ns=ledger.start_ns(ledger.tallies[clock].sent, now_ns),
        starts=tuple(way.start(ledger, clock, now_ns) for way in WAYS),
    )


def cause(wrong: Guess, term: Sequence[Guess], run: Sequence[Guess], owed: Owed) -> Cause:
    """Return why the end of ``wrong`` is too late.

    ``term`` are all granted checks of its leadership, ``run`` those of all nodes: all of them were told
    alike how long a lease is.
    """
    length = _other_length(term, owed) or _other_length(run, owed)
    found = [*_other_start(term, owed), *length]
    if found:
        rules = tuple(dict.fromkeys(one.rules[0] for one in found))
        looks = tuple(dict.fromkeys(name for one in found for name in one.looks_like))
        return Cause(rules, ", or ".join(one.said for one in found), looks)
    by = ""
    if wrong.start_ns is not None:
        by = f" {_ms(wrong.until_ns - wrong.start_ns)} after the right start,"
    return Cause(
        ("L2", "L3", "L6", "L12"), f"took its lease to end{by} which no way of counting known here gives"
    )


def _other_start(guesses: Sequence[Guess], owed: Owed) -> list[Cause]:
    length_ns = owed.lease_ns
    return [
        Cause((way.rule,), f"counted {way.said}", way.looks_like)
        for at, way in enumerate(WAYS)
        if all(
            (start_ns := one.starts[at]) is not None and start_ns + length_ns == one.until_ns
            for one in guesses
        )
    ]


def _other_length(guesses: Sequence[Guess], owed: Owed) -> list[Cause]:
    """L12: the right start, and always the same wrong length."""
    lengths = {None if one.start_ns is None else one.until_ns - one.start_ns for one in guesses}
    if len(lengths) != 1 or (length_ns := lengths.pop()) is None:
        return []
    known = {
        owed.election_ns: ("no-drift-margin",),
        owed.election_ns * (PPM - owed.drift_ppm) // PPM - owed.margin_ns: ("one-sided-margin",),
    }
    if length_ns not in known and len({one.start_ns for one in guesses}) == 1:
        return []  # one start and any length always fit
    said = f"counted a lease of {_ms(length_ns)} where the declared bounds allow {_ms(owed.lease_ns)}"
    return [Cause(("L12",), said, known.get(length_ns, ()))]


def _ms(length_ns: int) -> str:
    return f"{length_ns / 1e6:.3f} ms"
