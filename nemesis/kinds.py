"""The table of what can be done to nodes: how each step is read, written, and made into faults.

A step says whom it is about and, of some kinds, how much (a delay, a bend of the clock) or who else has
a part in it. A new kind that is only about whom, or about a delay, is one more class in
`nemesis.schedule` and one more entry of ``KINDS``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from targets.cluster import ClockBend, Roster

from . import fields
from .faults import BendClock, ChangeMembers, Transfer
from .schedule import (
    BendAt,
    CampaignAt,
    FillAt,
    KillAt,
    LateAt,
    MembersAt,
    NodesAt,
    PauseAt,
    Rate,
    ScheduleError,
    SlowApplyAt,
    SlowSyncAt,
    Span,
    StopTimeAt,
    SuspendAt,
    TransferAt,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .faults import OnNodes
    from .fields import Fields

_ALL: Final[tuple[type[NodesAt], ...]] = (
    PauseAt,
    BendAt,
    KillAt,
    CampaignAt,
    SlowApplyAt,
    SlowSyncAt,
    FillAt,
    TransferAt,
    MembersAt,
    StopTimeAt,
    SuspendAt,
)


def word_of(kind: type[NodesAt]) -> str:
    """Return the word for a kind of step, which is that of the fault it makes."""
    return str(kind.makes.__struct_config__.tag)


KINDS: Final[Mapping[str, type[NodesAt]]] = {word_of(each): each for each in _ALL}
"""By the word that a schedule and a record use."""


def read(given: Fields, kind: type[NodesAt]) -> NodesAt:
    """Read a step's own keys."""
    target = fields.words(given.need("target"), given.at("target"))
    if issubclass(kind, BendAt):
        return _read_bend(given, target)
    if issubclass(kind, TransferAt):
        return TransferAt(target, fields.word(given.need("to"), given.at("to")))
    if issubclass(kind, MembersAt):
        voters = fields.words(given.need("voters"), given.at("voters"))
        named = fields.words(given.take("learners"), given.at("learners")) if "learners" in given else ()
        return MembersAt(target, voters, named)
    if issubclass(kind, LateAt):
        return kind(target, fields.span(given.need("delay"), given.at("delay")))
    return kind(target)


def _read_bend(given: Fields, target: tuple[str, ...]) -> BendAt:
    """Read a bend of the clocks: a rate or a step, never both (they need different preloads)."""
    match given.one_of("rate", "wall"):
        case "rate":
            return BendAt(target, rate=fields.rate(given.take("rate"), given.at("rate")))
        case "wall":
            return BendAt(target, wall=fields.span(given.take("wall"), given.at("wall"), signed=True))
        case _:
            raise ScheduleError(given.path, "a clock bend needs a 'rate' or a 'wall' step")


def written(do: NodesAt) -> dict[str, Any]:
    """Return a step's own keys as a plan holds them, its word first."""
    said = {"do": word_of(type(do)), "target": fields.names(do.target)}
    match do:
        case BendAt(rate=rate, wall=wall):
            bend = {"rate": rate, "wall": wall}
            return said | {key: fields.amount(each) for key, each in bend.items() if each is not None}
        case LateAt(delay=delay):
            return said | {"delay": fields.amount(delay)}
        case TransferAt(to=to):
            return said | {"to": to}
        case MembersAt(voters=voters, learners=learners):
            others = {"learners": fields.names(learners)} if learners else {}
            return said | {"voters": fields.names(voters)} | others
        case _:
            return said


def faults(
    do: NodesAt, resolve: Callable[[Sequence[str]], tuple[str, ...]], *, election_ns: int, drift_ppm: int
) -> tuple[OnNodes, ...]:
    """Return the faults that a step makes: one, or one a node where they are apart.

    ``resolve`` says which nodes are meant by roles.
    """
    nodes = resolve(do.target)
    much: tuple[Any, ...] = ()
    match do:
        case BendAt(rate=rate, wall=wall):
            rate_ppm = 0 if rate is None else rate.ppm(drift_ppm)
            much = (ClockBend(rate_ppm, 0 if wall is None else wall.ns(election_ns)),)
        case LateAt(delay=delay):
            much = (delay.ns(election_ns),)
        case TransferAt(to=to):
            much = resolve((to,))
        case MembersAt(voters=voters, learners=learners):
            much = (Roster(resolve(voters), (), resolve(learners)),)
        case _:
            pass
    made: Any = do.makes
    groups = [(node,) for node in nodes] if made.apart else [tuple(nodes)]
    return tuple(made(group, *much) for group in groups)


def step_of(fault: OnNodes) -> NodesAt:
    """Return the step that makes this fault, on the nodes it was made on, in plain seconds."""
    kind: Any = KINDS[fault.kind]
    if isinstance(fault, BendClock):
        bend = fault.bend
        if bend.rate_ppm:
            return BendAt(fault.nodes, rate=Rate(bend.rate_ppm / 1e6))
        return BendAt(fault.nodes, wall=Span(bend.wall_offset_ns / 1e9))
    if isinstance(fault, Transfer):
        return TransferAt(fault.nodes, fault.to)
    if isinstance(fault, ChangeMembers):
        return MembersAt(fault.nodes, fault.members.voters, fault.members.learners)
    late = (Span(fault.delay_ns / 1e9),) if hasattr(fault, "delay_ns") else ()
    step: NodesAt = kind(fault.nodes, *late)
    return step
