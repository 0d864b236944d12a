"""A saved schedule aimed anew: at roles where it named nodes, or at nodes where it named roles.

On processes nobody knows beforehand who will lead, so what was done to n2 *because it led* is done to
whoever leads (`by_role`); what was done to n2 because it is n2 (a slower host, another version) is done
to n2 again (`by_node`). Who had which role is in the saved run's record: that of an episode's first
repetition stands for the episode. Names that move while an episode runs ("new-leader") stay as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from harness.plan import PlanError
from harness.plan.plan import ScheduleFrom
from harness.plan.schedules import dumped, of_plan
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
    ShapedLinks,
    SlowAt,
    Span,
    Step,
    TimeUnit,
    TransferAt,
)
from nemesis.validate import FOLLOWERS, LEADER, centre_of
from targets.clock import SECOND

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.plan.plan import Plan

    Names = Mapping[str, tuple[str, ...]]

STABLE_BY: Final = Span(8.0, TimeUnit.ELECTIONS)


def by_role(plan: Plan, bound: Mapping[str, Mapping[str, str]]) -> Plan:
    """Return a plan that says leader and follower-1 where it said n2 and n1.

    ``bound`` has each episode's roles by node. The operations of a plan that lists them become probes of
    the nemesis, which can be aimed at a role; they count from when the cluster is stable. Raises
    `PlanError` for what a probe cannot do, and where nobody wrote down who had which role.
    """
    names = {
        episode: {node: (role,) for node, role in roles.items()} for episode, roles in bound.items()
    }
    return _aimed(plan, names) if plan.operations is None else _probing(plan, names)


def by_node(plan: Plan, bound: Mapping[str, Mapping[str, str]]) -> Plan:
    """Return a plan that says n2 where it said leader; one that lists its operations does so already."""
    if plan.operations is not None:
        return plan
    names: dict[str, Names] = {}
    for episode, roles in bound.items():
        followers = tuple(node for node, role in roles.items() if role != LEADER)
        names[episode] = {role: (node,) for node, role in roles.items()} | {FOLLOWERS: followers}
    return _aimed(plan, names)


def _aimed(plan: Plan, names: Mapping[str, Names]) -> Plan:
    episodes = tuple(
        msgspec.structs.replace(
            episode,
            steps=tuple(
                msgspec.structs.replace(step, do=_renamed(step.do, names.get(episode.name, {})))
                for step in episode.steps
            ),
        )
        for episode in of_plan(plan).episodes
    )
    schedule = dumped(Schedule(episodes))
    if schedule == plan.schedule:
        return plan
    return msgspec.structs.replace(plan, schedule=schedule, schedule_from=ScheduleFrom.FILE)


def _probing(plan: Plan, names: Mapping[str, Names]) -> Plan:
    schedule = of_plan(plan)
    assert plan.operations is not None
    if len(schedule.episodes) > 1:
        raise PlanError("a plan that lists its operations is replayed by role if it has one episode")
    known = next(iter(names.values()), None)
    if known is None:
        raise PlanError("the saved run's record does not say who had which role")
    timed: list[tuple[int, Step]] = []
    for episode in schedule.episodes:
        began_ns = episode.start.span.ns(plan.election_ns) if isinstance(episode.start, At) else 0
        for step in episode.steps:
            assert isinstance(step.when, At), "a listed plan has instants"
            at_ns = began_ns + step.when.span.ns(plan.election_ns)
            timed.append((at_ns, msgspec.structs.replace(step, do=_renamed(step.do, known))))
    for each in plan.operations:
        if each.f not in ("read", "write"):
            raise PlanError(f"a {each.f} cannot be aimed at a role")
        probe = ProbeAt(ProbeKind(each.f), known.get(each.node, (each.node,)))
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


def _renamed(do: Any, known: Names) -> Any:
    def named(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(new for name in names for new in known.get(name, (name,)))

    match do:
        case CutAt(ShapedLinks() as links) | SlowAt(ShapedLinks() as links) if centre_of(links) in known:
            (centre,) = named((centre_of(links),))
            return msgspec.structs.replace(do, links=msgspec.structs.replace(links, centre=centre))
        case CutAt(NamedLinks(sources, sinks)) | SlowAt(NamedLinks(sources, sinks)):
            return msgspec.structs.replace(do, links=NamedLinks(named(sources), named(sinks)))
        case TransferAt(target, to):
            return TransferAt(named(target), *named((to,)))
        case MembersAt(target, voters, learners):
            return MembersAt(named(target), named(voters), named(learners))
        case NodesAt(target) | ProbeAt(_, target):
            return msgspec.structs.replace(do, target=named(target))
        case _:
            return do
