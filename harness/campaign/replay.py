"""A saved run once more: in virtual time to the byte, on processes as nearly as they go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from harness.outcome import Outcome
from harness.plan import PlanError
from harness.plan.plan import Plan, ScheduleFrom
from harness.plan.schedules import dumped, of_plan
from harness.run.simulate import Recording, history_bytes, judge_recording, simulate
from nemesis import Schedule
from nemesis.schedule import (
    After,
    At,
    Awaited,
    CutAt,
    Episode,
    EventName,
    MembersAt,
    NamedLinks,
    NodesAt,
    ProbeAt,
    ProbeKind,
    SlowAt,
    Span,
    Step,
    TimeUnit,
    TransferAt,
)
from targets.clock import SECOND

if TYPE_CHECKING:
    from collections.abc import Mapping

STABLE_BY: Final = Span(8.0, TimeUnit.ELECTIONS)


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """One try in virtual time. ``identical`` is None where there was no history to compare with."""

    recording: Recording
    outcome: Outcome
    reason: str | None
    identical: bool | None


def replayed(plan: Plan, history: bytes | None) -> Replayed:
    """Run a plan in virtual time and compare its history with the saved one."""
    recording = simulate(plan)
    judged = judge_recording(recording)
    return Replayed(
        recording=recording,
        outcome=judged.outcome,
        reason=judged.reason,
        identical=None if history is None else history_bytes(recording) == history,
    )


def by_role(plan: Plan, roles: Mapping[str, str]) -> Plan:
    """Return a listed plan that says leader and follower-1 where it said n2 and n1.

    On processes nobody knows beforehand who will lead. Its operations become probes of the nemesis,
    which can be aimed at a role; they count from when the cluster is stable. Raises `PlanError` for
    what a probe cannot do.
    """
    schedule = of_plan(plan)
    if plan.operations is None or len(schedule.episodes) > 1:
        raise PlanError("only a plan that lists its operations can be replayed by role")
    timed: list[tuple[int, Step]] = []
    for episode in schedule.episodes:
        began_ns = episode.start.span.ns(plan.election_ns) if isinstance(episode.start, At) else 0
        for step in episode.steps:
            assert isinstance(step.when, At), "a listed plan has instants"
            at_ns = began_ns + step.when.span.ns(plan.election_ns)
            timed.append((at_ns, msgspec.structs.replace(step, do=_renamed(step.do, roles))))
    for each in plan.operations:
        if each.f not in ("read", "write"):
            raise PlanError(f"a {each.f} cannot be aimed at a role")
        probe = ProbeAt(ProbeKind(each.f), (roles.get(each.node, each.node),))
        timed.append((each.at_ns, Step(do=probe)))
    timed.sort(key=lambda pair: pair[0])
    first_ns = timed[0][0] if timed else 0
    steps = tuple(
        msgspec.structs.replace(step, when=At(Span((at_ns - first_ns) / SECOND)))
        for at_ns, step in timed
    )
    start = After(Awaited(EventName.STABLE), STABLE_BY)
    aimed = Episode(name="by-role", start=start, steps=steps, required=True)
    return msgspec.structs.replace(
        plan,
        schedule=dumped(Schedule((aimed,))),
        schedule_from=ScheduleFrom.FILE,
        operations=(),
        time_s=plan.time_s + STABLE_BY.ns(plan.election_ns) / SECOND,
    )


def _renamed(do: Any, roles: Mapping[str, str]) -> Any:
    def named(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(roles.get(name, name) for name in names)

    match do:
        case CutAt(NamedLinks(sources, sinks)) | SlowAt(NamedLinks(sources, sinks)):
            return msgspec.structs.replace(do, links=NamedLinks(named(sources), named(sinks)))
        case TransferAt(target, to):
            return TransferAt(named(target), *named((to,)))
        case MembersAt(target, voters, learners):
            return MembersAt(named(target), named(voters), named(learners))
        case NodesAt(target):
            return msgspec.structs.replace(do, target=named(target))
        case _:
            return do
