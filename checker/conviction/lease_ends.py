"""Where a wrong lease end comes from: every way of counting that is known, tried against every check.

Kept, L2, L3 and L12 leave one trace: each check of a leadership believes in the right start plus D. A
way of counting explains a leadership if it gives the believed end of *all* its checks, to the
nanosecond; ends are sums of readings that differ from step to step, so a wrong way does not fit by
chance. Where several ways fit one leadership, those count that fit all checks of the node, and of these
those that fit all of the run: nodes run one program. And who took a majority of fewer for one of all
while voters changed has broken L10, whether or not it would have asked a majority otherwise (L3).

What no way explains may still leave one rule. If no round that anybody ever acknowledged was sent at an
end less D, and that is not now, then it was not counted from such a send, whoever made up the majority
(L3, L10), whichever leadership it was of (L6) and whatever its clocks had done (L11); and if ends lie at
differing lengths after each way's start, their length is not what is wrong (L12). So acknowledgements
count from another instant than the send: L2. Else the rules that could be behind it are named together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from checker.timeline import ms

from .ledger import SCALES, Scale
from .owed import PPM
from .quorum import NOW, backed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from checker.evidence import OwnClock

    from .ledger import Ledger
    from .owed import Owed

Start = Callable[["Ledger", Scale, int], int | None]


class Way(msgspec.Struct, frozen=True):
    """A wrong way to find a lease's start: the rule it breaks, and how to say it after "it counted"."""

    rule: str
    said: str
    looks_like: tuple[str, ...]
    start: Start


class Guess(msgspec.Struct, frozen=True):
    """What one check believed, on the clock it used, and what each way would have counted.

    ``start_ns`` is the right start; None where no majority backs any. ``now_ns`` is what the clock
    showed, and ``sent`` tells whether an acknowledged round was sent at the end less D.
    """

    until_ns: int
    now_ns: int
    start_ns: int | None
    sent: bool
    starts: tuple[int | None, ...]


class Cause(msgspec.Struct, frozen=True):
    """Why ends were wrong; ``said`` follows "it"."""

    rules: tuple[str, ...]
    said: str
    looks_like: tuple[str, ...] = ()


def _heard(ledger: Ledger, scale: Scale, now_ns: int) -> int | None:
    return ledger.start_ns(ledger.tallies[scale].heard, now_ns)


def _window(ledger: Ledger, scale: Scale, now_ns: int) -> int | None:
    long_ns = ledger.election_ns
    heard = ledger.tallies[scale].heard
    ends = {peer: (heard_ns // long_ns + 1) * long_ns for peer, heard_ns in heard.items()}
    return ledger.start_ns(ends, now_ns)


def _newest_then(ledger: Ledger, scale: Scale, now_ns: int) -> int | None:
    return ledger.start_ns(ledger.tallies[scale].newest, now_ns)


def _last_sent(ledger: Ledger, scale: Scale, _now_ns: int) -> int | None:
    return ledger.last_sent_ns(scale)


def _unvoided(ledger: Ledger, scale: Scale, now_ns: int) -> int | None:
    return ledger.start_ns(ledger.tallies[scale].unvoided, now_ns)


def _of_before(ledger: Ledger, scale: Scale, now_ns: int) -> int | None:
    kept = dict(ledger.tallies[scale].sent)
    for tallies in ledger.before:
        for peer, sent_ns in tallies[scale].sent.items():
            kept[peer] = max(sent_ns, kept.get(peer, sent_ns))
    return ledger.start_ns(kept, now_ns)


def _newest_acked(ledger: Ledger, scale: Scale, _now_ns: int) -> int | None:
    return max(ledger.tallies[scale].sent.values(), default=None)


def _own_word(_ledger: Ledger, _scale: Scale, now_ns: int) -> int | None:
    return now_ns


def _incoming_only(ledger: Ledger, scale: Scale, now_ns: int) -> int | None:
    incoming = ledger.electorate.incoming
    return _of(ledger, scale, now_ns, (incoming or ledger.electorate.voters,))


def _outgoing_only(ledger: Ledger, scale: Scale, now_ns: int) -> int | None:
    return _of(ledger, scale, now_ns, (ledger.electorate.voters,))


def _at_first(ledger: Ledger, scale: Scale, now_ns: int) -> int | None:
    return _of(ledger, scale, now_ns, ledger.first_electorate.sets)


def _first_alone(ledger: Ledger, scale: Scale, now_ns: int) -> int | None:
    """Return now for a node with which its log began alone, the right start for any other."""
    if ledger.first_electorate.sets == ((ledger.own,),):
        return now_ns
    return ledger.start_ns(ledger.tallies[scale].sent, now_ns)


def _of(ledger: Ledger, scale: Scale, now_ns: int, sets: tuple[tuple[str, ...], ...]) -> int | None:
    start_ns = backed(ledger.own, ledger.tallies[scale].sent, sets)
    return now_ns if start_ns == NOW else start_ns


def _by_beats(ledger: Ledger, scale: Scale, now_ns: int) -> int | None:
    return None if ledger.renews else ledger.start_ns(ledger.beats[scale].sent, now_ns)


def _latest(ledger: Ledger, scale: Scale, now_ns: int) -> int | None:
    return _other_end(ledger, scale, now_ns, Scale.LATEST)


def _ungrown(ledger: Ledger, scale: Scale, now_ns: int) -> int | None:
    return _other_end(ledger, scale, now_ns, Scale.UNGROWN)


def _other_end(ledger: Ledger, scale: Scale, now_ns: int, other: Scale) -> int | None:
    if scale is not Scale.EARLIEST:
        return None
    return ledger.start_ns(ledger.tallies[other].sent, now_ns)


WAYS: Final = (
    Way("L2", "from when acknowledgements arrived", ("lease-from-last-ack",), _heard),
    Way("L2", "from the end of a window in which acknowledgements arrived", ("checkquorum-window",),
        _window),
    Way("L2", "from the newest send when an acknowledgement came", ("renew-at-send",), _newest_then),
    Way("L2", "from the last round it had sent, acknowledged or not", ("renew-at-send",), _last_sent),
    Way("L3", "from the newest acknowledgement, which is no majority", ("newest-ack-not-quorum",),
        _newest_acked),
    Way("L3", "its own word as a majority", (), _own_word),
    Way("L6", "from a leadership that was over", ("term-keeps-lease",), _of_before),
    Way("L11", "from rounds sent before its clocks did something that no lease may rest on",
        ("suspended-clock",), _unvoided),
    Way("L10", "a majority of the incoming voters alone", ("membership-lease-quorum",), _incoming_only),
    Way("L10", "a majority of the outgoing voters alone", ("membership-lease-quorum",), _outgoing_only),
    Way("L10", "a majority of the voters that its log began with", ("single-node-forever",), _at_first),
    Way("L10", "its own word, having been the only voter once", ("single-node-forever",), _first_alone),
    Way("S4", "from heartbeats, which renew nothing", (), _by_beats),
    Way("T1", "from the latest that the send can have been", ("interval-wrong-end",), _latest),
    Way("T2", "from the earliest that the send can have been, as if doubt did not grow", ("eps-frozen",),
        _ungrown),
)  # fmt: skip


def guess(ledger: Ledger, clock: OwnClock, until_ns: int, now_ns: int, owed: Owed) -> Guess:
    """Note what a check believed and what each way would count at that moment of its clock."""
    scale = SCALES[clock]
    return Guess(
        until_ns=until_ns,
        now_ns=now_ns,
        start_ns=ledger.start_ns(ledger.tallies[scale].sent, now_ns),
        sent=(scale, until_ns - owed.lease_ns) in ledger.acknowledged,
        starts=tuple(way.start(ledger, scale, now_ns) for way in WAYS),
    )


def cause(
    wrong: Guess, term: Sequence[Guess], node: Sequence[Guess], run: Sequence[Guess], owed: Owed
) -> Cause:
    """Return why the end of ``wrong`` is too late.

    ``term`` are all checks of its leadership, ``node`` all of its node and ``run`` those of all nodes:
    all of them were told alike how long a lease is.
    """
    ways = [way for way, _ in enumerate(WAYS) if _fits(way, term, owed)]
    for wider in (node, run):
        ways = [way for way in ways if _fits(way, wider, owed)] or ways
    length = _other_length(term, owed) or _other_length(run, owed)
    told = [Cause((WAYS[way].rule,), f"counted {WAYS[way].said}", WAYS[way].looks_like) for way in ways]
    found = [*told, *length]
    if any(one.rules == ("L10",) for one in told):
        found = [one for one in found if one.rules != ("L3",)]
    if found:
        rules = tuple(dict.fromkeys(owed.called(one.rules[0]) for one in found))
        looks = tuple(dict.fromkeys(name for one in found for name in one.looks_like))
        return Cause(rules, ", or ".join(one.said for one in found), looks)
    return _by_elimination(wrong, node, owed)


def _fits(way: int, guesses: Iterable[Guess], owed: Owed) -> bool:
    length_ns = owed.lease_ns
    return all(
        (start_ns := one.starts[way]) is not None and start_ns + length_ns == one.until_ns
        for one in guesses
    )


def _by_elimination(wrong: Guess, node: Sequence[Guess], owed: Owed) -> Cause:
    rules = ["L2", "L3", "L6", "L12"]
    said = "which no way of counting known here gives"
    looks: tuple[str, ...] = ()
    if not _one_length(node):
        rules.remove("L12")
    if not wrong.sent and wrong.until_ns - owed.lease_ns != wrong.now_ns:
        rules = [rule for rule in rules if rule in {"L2", "L12"}]
        said = "as if it counted from an instant at which no round was sent that anybody acknowledged"
        looks = ("checkquorum-window",)
    by = ""
    if wrong.start_ns is not None:
        by = f" {ms(wrong.until_ns - wrong.start_ns)} after the right start,"
    named = tuple(dict.fromkeys(map(owed.called, rules)))
    return Cause(named, f"took its lease to end{by} {said}", looks)


def _one_length(guesses: Sequence[Guess]) -> bool:
    """Whether all ends lie equally long after the right start, or after that of any one way."""
    ends = [one.until_ns for one in guesses]
    for starts in zip(*((one.start_ns, *one.starts) for one in guesses), strict=True):
        lengths = {end - start for end, start in zip(ends, starts, strict=True) if start is not None}
        if len(lengths) == 1 and None not in starts:
            return True
    return False


def _other_length(guesses: Sequence[Guess], owed: Owed) -> list[Cause]:
    """L12: the right start, and always the same wrong length."""
    lengths = {None if one.start_ns is None else one.until_ns - one.start_ns for one in guesses}
    if len(lengths) != 1 or (length_ns := lengths.pop()) is None or length_ns == owed.lease_ns:
        return []
    whole_ns = owed.promise_ns
    known = {
        whole_ns: ("no-drift-margin",),
        whole_ns * (PPM - owed.drift_ppm) // PPM - owed.margin_ns: ("one-sided-margin",),
    }
    if length_ns not in known and len({one.start_ns for one in guesses}) == 1:
        return []  # one start and any length always fit
    said = f"counted a lease of {ms(length_ns)} where the declared bounds allow {ms(owed.lease_ns)}"
    return [Cause(("L12",), said, known.get(length_ns, ()))]
