"""What was really injected, as a run's files hold it: written once, and read back with suspicion.

The nemesis counts from the start of the load. A file has one origin, the history's: whatever is written
here was moved there first, so that a fault can be laid over the operations without a second number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from harness.plan.document import read as read_document
from harness.plan.errors import PlanError
from harness.store.errors import NotARun
from harness.store.files import read_bounded
from harness.store.rundir import PLAN_MAX_BYTES, SCHEDULE_SCHEMA
from nemesis.machine.record import EpisodeRun, Injected

from .faults import held, over_ns, phrase

if TYPE_CHECKING:
    from collections.abc import Iterable

    from checker.proof import FaultWindow
    from harness.store.rundir import RunDir
    from nemesis.machine import InjectionRecord

LoadNs = tuple[int, int] | None


def schedule_of(name: str, load_ns: LoadNs, record: InjectionRecord) -> dict[str, object]:
    """Return what schedule.yaml says; every time in it counts from the history's origin."""
    told = msgspec.to_builtins(from_origin(record, load_ns))
    return {
        "schema": SCHEDULE_SCHEMA,
        "kind": "lantern-injected",
        "run": name,
        "load_ns": None if load_ns is None else list(load_ns),
        "episodes": told["episodes"],
        "faults": told["faults"],
    }


def from_origin(record: InjectionRecord, load_ns: LoadNs) -> InjectionRecord:
    """Return a record of a load that began at ``load_ns`` with times from the history's origin."""
    offset_ns = 0 if load_ns is None else load_ns[0]
    return msgspec.structs.replace(
        record,
        episodes=tuple(_moved(each, offset_ns) for each in record.episodes),
        faults=tuple(_moved(each, offset_ns) for each in record.faults),
    )


def _moved(told: Any, offset_ns: int) -> Any:
    """Return it with every time of its own so much later; the fault itself holds lengths only."""
    times = {
        name: value + offset_ns
        for name in told.__struct_fields__
        if name.endswith("_ns") and (value := getattr(told, name)) is not None
    }
    return msgspec.structs.replace(told, **times)


class Kept(msgspec.Struct, frozen=True):
    """What a schedule.yaml holds; times from the history's origin, ``load_ns`` None if none began."""

    run: str
    load_ns: LoadNs
    episodes: tuple[EpisodeRun, ...]
    faults: tuple[Injected, ...]


def load(run: RunDir) -> Kept:
    """Read a run's schedule.yaml; raise `NotARun` if it is none that is read."""
    name = str(run.schedule)
    try:
        told = read_document(read_bounded(run.schedule, bytes_max=PLAN_MAX_BYTES), name=name).value
    except PlanError as error:
        raise NotARun(str(error)) from error
    schema = told.get("schema") if isinstance(told, dict) else None
    if schema != SCHEDULE_SCHEMA:
        raise NotARun(f"{name}: schema {schema!r} is unknown; {SCHEDULE_SCHEMA} is known")
    try:
        return msgspec.convert(told, Kept)
    except msgspec.ValidationError as error:
        raise NotARun(f"{name}: {error}") from error


def windows(faults: Iterable[Injected]) -> list[FaultWindow]:
    """Return when each fault that took hold was in force, from the same origin, and what it was."""
    return [(each.asked_ns, over_ns(each), f"{phrase(each)}, step {each.step}") for each in held(faults)]
