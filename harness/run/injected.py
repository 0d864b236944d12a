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
from harness.store.rundir import SCHEDULE_SCHEMA
from nemesis.faults import Standing
from nemesis.machine.record import Injected

if TYPE_CHECKING:
    from collections.abc import Iterable

    from checker.proof import FaultWindow
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


def read(data: bytes, *, name: str) -> tuple[Injected, ...]:
    """Return the faults of a schedule.yaml; raise `NotARun` if it is none that is read."""
    try:
        told = read_document(data, name=name).value
    except PlanError as error:
        raise NotARun(str(error)) from error
    schema = told.get("schema") if isinstance(told, dict) else None
    if schema != SCHEDULE_SCHEMA:
        raise NotARun(f"{name}: schema {schema!r} is unknown; {SCHEDULE_SCHEMA} is known")
    try:
        return msgspec.convert(_with_nodes(told.get("faults", [])), tuple[Injected, ...])
    except msgspec.ValidationError as error:
        raise NotARun(f"{name}: {error}") from error


def _with_nodes(faults: Any) -> Any:
    """Return faults that all have ``nodes``: older records called the one node of some ``node``."""
    for each in faults if isinstance(faults, list) else ():
        fault = each.get("fault") if isinstance(each, dict) else None
        if isinstance(fault, dict) and "node" in fault:
            fault["nodes"] = [fault.pop("node")]
    return faults


def windows(faults: Iterable[Injected]) -> list[FaultWindow]:
    """Return when each fault that took hold was in force, from the same origin, and what it was."""
    found: list[FaultWindow] = []
    for fault in faults:
        if fault.standing is not Standing.INSTALLED or fault.installed_ns is None:
            continue
        nodes = ", ".join(fault.fault.concerned)
        shape = getattr(fault.fault, "shape", None)
        what = fault.fault.kind if shape is None else f"{fault.fault.kind} {shape}"
        over_ns = fault.healed_ns if fault.fault.lasts else fault.installed_ns  # nobody heals a campaign
        found.append((fault.asked_ns, over_ns, f"{what} ({nodes}), step {fault.step}"))
    return found
