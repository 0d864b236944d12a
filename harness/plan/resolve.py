"""From a draft to a plan: defaults, what a mistake brings along, and the schedule.

A mistake decides its policy, the number of nodes, the declared drift bound, the clock that is bent, the
schedule aimed at it, the rules that would mask it and where it can be shown at all. Whatever somebody
asked for that contradicts it is a usage error: silently testing something else would be worse. An
explicit schedule is no contradiction, for the same mistake may be tried under another schedule, and the
same schedule without the mistake: what the mistake needs is then no more than a default.

The schedule is part of the plan, written out, so that a saved plan runs the same faults even after
Lantern's own schedules have changed. Overriding what a drawn schedule was drawn from draws it anew, with
a mistake in it too, unless that is what the option names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from nemesis import aimed
from nemesis.schedule import ScheduleError
from targets.catalog import DEFAULT, SYSTEMS, find, is_file, unrun
from targets.clock import SECOND
from targets.cluster import ClockMode, TargetError
from targets.target import TAKEN_BY_SOME, UnfitError

from . import schedules
from .draft import Trust, unknown
from .errors import PlanError
from .plan import FIELDS, Load, Plan, ScheduleFrom, seats_min

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from targets.target import Mistake, Target

    from .draft import Draft, Given

OF_THIS_HOST: Final = ("compose", "containers")
_DRAWN_FROM: Final = frozenset(
    {"seed", "faults", "time", "nodes", "policy", "mistake", "election_ns", "drift_ppm", "clock"}
)


def resolve(
    draft: Draft,
    *,
    fresh_seed: int,
    where: Callable[[str], str] | None = None,
    trust: Trust = Trust.OWN,
) -> Plan:
    """Return the plan; raise `PlanError`. ``where`` maps a path of the schedule to its place."""
    _trusted(draft, trust)
    draft = _without_stale_schedule(draft)
    values: dict[str, Any] = {key: given.value for key, given in draft.items()}
    values.setdefault("seed", fresh_seed)
    target = _target(draft, trust)
    mistakes = _mistakes(target, values.get("mistake", ()), draft)
    for mistake in mistakes:
        _bring(mistake, values, draft)
    _choose(target, mistakes, values, draft)
    values.setdefault("name", "-".join(values.get("mistake") or [values["policy"]])[:60])
    plan = _plan(values)
    try:
        plan = _with_schedule(plan, target, draft)
    except ScheduleError as error:
        if where is None:
            raise PlanError(error.problem, where=error.path) from error
        raise PlanError(str(error), where=where(error.path)) from error
    _means_something(plan, target, draft)
    _fits(plan, draft)
    try:
        target.check(plan.setup)
    except UnfitError as error:
        raise PlanError(str(error), where=error.key and _where(draft, error.key)) from error
    return plan


def _trusted(draft: Mapping[str, Given], trust: Trust) -> None:
    """Refuse what a plan file would run or touch on this host without being trusted that far."""
    if trust in {Trust.TRUSTED, Trust.LOOK}:
        return
    target = draft.get("target")
    if target is not None and is_file(target.value) and not target.option:
        named = "if it is named by --target, or " if trust is Trust.OWN else ""
        raise PlanError(f"a Python file is code, and runs only {named}with --trust", where=target.where)
    if trust is Trust.OWN:
        return
    for key in OF_THIS_HOST:
        given = draft.get(key)
        if given is not None and given.value and not given.option:
            named = given.value if isinstance(given.value, str) else ", ".join(given.value)
            sentence = f"{key} of a saved run names {named}, of this host: not touched without --trust"
            raise PlanError(sentence, where=given.where)


def _target(draft: Mapping[str, Given], trust: Trust) -> Target:
    """Return what is tested."""
    name = draft["target"].value if "target" in draft else DEFAULT
    if not is_file(name) and name not in SYSTEMS:
        raise PlanError(unknown(name, "target", SYSTEMS), where=_where(draft, "target"))
    if trust is Trust.LOOK:
        return unrun(name, draft["policy"].value if "policy" in draft else "")
    try:
        return find(name)
    except TargetError as error:
        raise PlanError(str(error), where=_where(draft, "target")) from error


def _mistakes(target: Target, names: Iterable[str], draft: Mapping[str, Given]) -> tuple[Mistake, ...]:
    """Return the mistakes of these names."""
    for name in names:
        if name not in target.mistakes:
            raise PlanError(f"no {name} is planted in {target.name}", where=_where(draft, "mistake"))
    return tuple(target.mistakes[name] for name in names)


def _choose(
    target: Target, mistakes: Iterable[Mistake], values: dict[str, Any], draft: Mapping[str, Given]
) -> None:
    """Set what the target decides by default; refuse what it has not got, and where nothing shows."""
    shown = [place for place in target.places if all(place in each.places for each in mistakes)]
    values.setdefault("policy", next(iter(target.modes)))
    values.setdefault("on", (shown or target.places)[0])
    if values.get("containers"):
        values.setdefault("nodes", len(values["containers"]))
    if values["policy"] not in target.modes:
        sentence = unknown(values["policy"], "policy", target.modes)
        raise PlanError(sentence, where=_where(draft, "policy"))
    if values["on"] not in target.places:
        known = ", ".join(target.places)
        sentence = f"{target.name} does not run on {values['on']}; it runs on {known}"
        raise PlanError(sentence, where=_where(draft, "on"))
    for mistake in mistakes:
        if values["on"] not in mistake.places:
            known = ", ".join(mistake.places)
            sentence = f"mistake {mistake.id} cannot be shown on {values['on']}; it can on {known}"
            raise PlanError(sentence, where=_where(draft, "on") or _where(draft, "mistake"))


def _bring(mistake: Mistake, values: dict[str, Any], draft: Mapping[str, Given]) -> None:
    """Set what the mistake decides; refuse what was asked otherwise."""
    brought = {"policy": mistake.policy, "nodes": mistake.nodes, "drift_ppm": mistake.drift_ppm}
    if mistake.clock is not ClockMode.NONE:
        brought["clock"] = mistake.clock
    if mistake.voters:
        brought["voters"] = mistake.voters
    brought |= {key: msgspec.convert(value, FIELDS[key].type) for key, value in mistake.brings.items()}
    if "schedule" in draft or _drawn_anew(draft):  # it may be another one, for other nodes
        values |= {key: value for key, value in brought.items() if key not in draft}
        brought = {"policy": mistake.policy}
    for key, value in brought.items():
        asked = values.get(key, value)
        if asked != value:
            sentence = f"mistake {mistake.id} needs {key} {_shown(value)}, not {_shown(asked)}"
            raise PlanError(sentence, where=_where(draft, key))
        values[key] = value


def _without_stale_schedule(draft: Draft) -> Draft:
    """Forget a saved schedule that was drawn from something an option now overrides."""
    saved_from = draft["schedule_from"].value if "schedule_from" in draft else ScheduleFrom.FILE
    if "schedule" not in draft or draft["schedule"].option or saved_from is ScheduleFrom.FILE:
        return draft
    if not any(draft[key].option for key in _DRAWN_FROM & draft.keys()):
        return draft
    return {key: given for key, given in draft.items() if key != "schedule"}


def _drawn_anew(draft: Mapping[str, Given]) -> bool:
    """Tell whether a schedule is to be drawn, even where a mistake has its own: the saved one was."""
    if "schedule" in draft or "schedule_from" not in draft:
        return False
    named = "mistake" in draft and draft["mistake"].option
    return draft["schedule_from"].value is ScheduleFrom.SEED and not named


def _with_schedule(plan: Plan, target: Target, draft: Mapping[str, Given]) -> Plan:
    """Complete the plan by its schedule, and by the clock that schedule bends."""
    if "schedule" in draft:
        source = ScheduleFrom.FILE
        if "schedule_from" in draft and not draft["schedule"].option:
            source = draft["schedule_from"].value
        schedule = schedules.of_plan(plan)
    elif plan.mistakes and not _drawn_anew(draft):
        source, schedule = ScheduleFrom.AIMED, schedules.aimed_at(plan)
    elif (at_it := target.schedules) and "faults" not in draft:
        source, schedule = ScheduleFrom.AIMED, aimed(at_it[0])
    else:
        source, schedule = ScheduleFrom.SEED, schedules.drawn(plan)
    if source is not ScheduleFrom.SEED and _asks_for_faults(draft):
        brought = "one is given" if "schedule" in draft else f"{', '.join(plan.mistakes)} brings one"
        raise PlanError(
            f"faults are drawn (or none are) only where no schedule is given, and {brought}",
            where=_where(draft, "faults"),
        )
    bends = schedules.clock_mode(schedule)
    if bends is not ClockMode.NONE and plan.clock not in {ClockMode.NONE, bends}:
        sentence = f"the schedule bends the clock in mode {bends.value}, not {plan.clock.value}"
        raise PlanError(sentence, where=_where(draft, "clock"))
    return msgspec.structs.replace(
        plan,
        clock=plan.clock if bends is ClockMode.NONE else bends,
        faults=plan.faults if source is ScheduleFrom.SEED else (),
        schedule_from=source,
        schedule=schedules.dumped(schedule),
    )


def _asks_for_faults(draft: Mapping[str, Given]) -> bool:
    """Tell whether somebody decided what is to be drawn.

    A saved plan only says what was; and a schedule that is an option overrides a file's faults.
    """
    if "faults" not in draft:
        return False
    faults = draft["faults"]
    if faults.option:
        return True
    if "schedule" in draft:
        return bool(faults.value) and not draft["schedule"].option
    return "schedule_from" not in draft


def _means_something(plan: Plan, target: Target, draft: Mapping[str, Given]) -> None:
    """Refuse what the target or the place would ignore; a default asks for nothing."""
    for key, place in TAKEN_BY_SOME.items():
        if getattr(plan, FIELDS[key].name) == getattr(Plan(), FIELDS[key].name):
            continue
        if key not in target.takes:
            raise PlanError(f"{key} means nothing to {target.name}", where=_where(draft, key))
        if place not in {None, plan.on}:
            sentence = f"{key} is for runs on {place}, and this one is on {plan.on}"
            raise PlanError(sentence, where=_where(draft, key))


def _fits(plan: Plan, draft: Mapping[str, Given]) -> None:
    """Refuse what no cluster can be started with."""
    if plan.voters > plan.nodes:
        sentence = f"voters {plan.voters} is more than the {plan.nodes} nodes there are"
        raise PlanError(sentence, where=_where(draft, "voters"))
    least = seats_min(plan.nodes)
    locks, time_ns = plan.workload is Load.LOCK, round(plan.time_s * SECOND)
    for place, each in enumerate(plan.operations or ()):
        if wrong := each.wrong(locks=locks, time_ns=time_ns):
            raise PlanError(f"operations[{place}]: {wrong}", where=_where(draft, "operations"))
        if each.node not in plan.node_names:
            sentence = f"operations: {each.node} is none of {', '.join(plan.node_names)}"
            raise PlanError(sentence, where=_where(draft, "operations"))
    if plan.operations is None and plan.clients < least:
        sentence = (
            f"clients {plan.clients} is too few: a reader pinned to each of {plan.nodes} nodes, "
            f"a writer, a cas and a reader that follows the leader make {least}"
        )
        raise PlanError(sentence, where=_where(draft, "clients"))


def _where(draft: Mapping[str, Given], key: str) -> str | None:
    return draft[key].where if key in draft else None


def _plan(values: Mapping[str, Any]) -> Plan:
    names = {FIELDS[key].name: value for key, value in values.items()}
    return Plan(**names)


def _shown(value: Any) -> str:
    return str(getattr(value, "value", value))
