"""What is known of a run once it has been driven to its end, wherever that was, for its judges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.plan.plan import ScheduleFrom
from nemesis.faults import Standing

from .calm import owed_calm

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.plan.plan import Plan
    from nemesis.machine import InjectionRecord

    from .conductor import Conductor
    from .judge import Seen
    from .stop import Stop


def conclude(
    plan: Plan,
    seen: Seen,
    conductor: Conductor,
    record: InjectionRecord,
    *,
    last_words: Callable[[str], str | None],
    stop: Stop | None,
) -> None:
    """Enter what the conductor, the nemesis's record and the nodes' ``last_words`` say of a run.

    ``stop`` None is a run that no signal ends early. Whether any fault took hold is not asked here: a
    run in virtual time answers for its policy's claims alone.
    """
    _observe(seen, conductor)
    seen.failures = [_with_its_words(failure, last_words) for failure in seen.failures]
    if stop is not None and stop.count:
        seen.interrupted = seen.interrupted or stop.name
    seen.calm_ns = owed_calm(plan, record, seen.load_ns)


def _observe(seen: Seen, conductor: Conductor) -> None:
    """Enter what the conductor knows of the run into ``seen``."""
    seen.leaders = len(conductor.leaders)
    seen.load_ns = conductor.load_ns
    seen.healed_ns = conductor.recovery.healed_ns
    seen.interrupted = conductor.interrupted
    seen.failures.extend(conductor.failures)
    seen.tracebacks.extend(conductor.tracebacks)
    seen.missed.extend(note.text for _, note in conductor.notes if note.missed)
    if conductor.unsettled:
        seen.notes.append("the cluster did not settle after the heal in time")
    if conductor.unread:
        reads = "1 final read was" if conductor.unread == 1 else f"{conductor.unread} final reads were"
        seen.notes.append(f"{reads} not answered")
    seen.silent = sorted(conductor.silent)
    seen.unseen = list(conductor.unseen)


def _with_its_words(failure: str, last_words: Callable[[str], str | None]) -> str:
    """Return a failure with what a node's log says of it, where it points there."""
    node, _, rest = failure.partition(" ")
    said = last_words(node) if rest.endswith("its log says why") else None
    return failure if said is None else f"{failure}: {said}"


def unharmed(plan: Plan, record: InjectionRecord) -> str | None:
    """Return why no fault took hold, so that nothing was in danger; None if one did."""
    if any(each.standing is Standing.INSTALLED for each in record.faults):
        return None
    count = len(record.faults)
    if not count:
        if not plan.schedule:
            return "no fault was asked for"
        if plan.schedule_from is ScheduleFrom.SEED:
            return f"no fault was due within {plan.time_s:g} s of load"
        return "no step of the schedule made a fault"
    reason = next((each.reason for each in record.faults if each.reason), "nobody reported any")
    return f"{'the only fault' if count == 1 else f'each of {count} faults'} took no hold: {reason}"


def doubts(record: InjectionRecord) -> list[str]:
    """Return, for each kind of fault of which nobody knows whether it was in force, one reason why."""
    reasons: dict[str, str] = {}
    for each in record.faults:
        if each.standing is Standing.UNKNOWN and each.reason is not None:
            reasons.setdefault(each.fault.kind, each.reason)
    return [f"not every {kind} is known to have been in force: {why}" for kind, why in reasons.items()]
