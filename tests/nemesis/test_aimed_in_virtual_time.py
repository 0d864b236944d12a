"""Aimed and drawn schedules in virtual time: a mistake is caught, right rules are not blamed.

The reads are judged twice, by the checker and by a dumb judge beside it: a read is stale if what it
returned had been replaced before it began.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from checker.events import NEMESIS, EventType
from harness.campaign.swarm import HERE
from harness.outcome import Outcome
from harness.plan import plan_from
from harness.run.simulate import Recording, judge_recording, simulate
from nemesis.faults import Standing
from targets.cluster import ClockMode
from targets.leasekv.mistakes import MISTAKES
from targets.leasekv.policies import POLICIES

if TYPE_CHECKING:
    from harness.plan.plan import Plan

SEEDS = (1, 2, 3)
UNORDERED = "no-commit-wait"
LOCKS = {name for name, told in MISTAKES.items() if told.brings.get("workload") == "lock"}
"""Of another workload, whose tokens are judged; tested with it in `tests/sim/test_sim_locks.py`."""
STALLED = {name for name, told in MISTAKES.items() if "availability" in told.brings.get("require", ())}
"""Nothing wrong is read there; nothing is written either, though a majority is left in peace."""
NOT_STALE = {"dirty-read"}
"""What is read there is too new: it never was."""


def aimed_at(mistake: str, seed: int, *, planted: bool) -> Plan:
    time_s = 14.0 if mistake in STALLED else 10.0
    asked = {"on": "sim", "mistake": mistake, "seed": seed, "rate": 100, "time": time_s}
    plan = plan_from(None, asked)
    return plan if planted else msgspec.structs.replace(plan, mistakes=())


@dataclass
class Operation:
    """One operation: who asked, when, and what it wrote or read."""

    key: Any
    value: Any
    invoked_ns: int
    ended_ns: int | None = None


def stale(recording: Recording) -> list[Operation]:
    """Return the reads whose value had been replaced, by a write that is known, before they began."""
    open_: dict[int | str, Operation] = {}
    writes: list[Operation] = []
    reads: list[Operation] = []
    for event in recording.events:
        if event.process == NEMESIS:
            continue
        if event.type is EventType.INVOKE:
            value = event.value[1] if event.f == "cas" else event.value
            operation = open_[event.process] = Operation(event.key, value, event.time_ns)
            if event.f != "read":
                writes.append(operation)
        elif event.type is EventType.OK:
            operation = open_.pop(event.process)
            operation.ended_ns = event.time_ns
            if event.f == "read":
                operation.value = event.value
                reads.append(operation)
    written = {write.value: write for write in writes}
    assert len(written) == len(writes), "every value is written once"
    return [read for read in reads if _replaced(read, written)]


def _replaced(read: Operation, written: dict[Any, Operation]) -> bool:
    begun_ns: int | None = -1 if read.value is None else written[read.value].ended_ns
    return begun_ns is not None and any(
        write.key == read.key
        and write.invoked_ns > begun_ns
        and write.ended_ns is not None
        and write.ended_ns < read.invoked_ns
        for write in written.values()
    )


def whole(recording: Recording) -> None:
    """Everything that took hold was carried through and undone."""
    lasting = [each for each in recording.record.faults if each.fault.lasts]
    begun = [each for each in lasting if each.standing is not Standing.SKIPPED]
    assert begun
    assert all(each.healed_ns is not None for each in begun)
    assert not recording.seen.failures


@pytest.mark.parametrize("seed", SEEDS)
def test_a_write_that_is_not_waited_out_breaks_the_order_of_timestamps_alone(seed: int) -> None:
    recording = simulate(aimed_at(UNORDERED, seed, planted=True))
    judged = judge_recording(recording)
    assert (judged.outcome, judged.kind) == (Outcome.VIOLATION, "timestamp-order")
    assert not stale(recording)


@pytest.mark.parametrize("mistake", sorted(STALLED))
def test_who_gets_nothing_done_is_shown_by_availability_alone(mistake: str) -> None:
    recording = simulate(aimed_at(mistake, SEEDS[0], planted=True))
    judged = judge_recording(recording)
    assert (judged.outcome, judged.kind) == (Outcome.VIOLATION, "availability")
    assert not stale(recording)


@pytest.mark.parametrize("mistake", sorted(MISTAKES.keys() - {UNORDERED} - LOCKS - STALLED))
def test_an_aimed_schedule_makes_its_mistake_break_the_history(mistake: str) -> None:
    for seed in SEEDS:
        recording = simulate(aimed_at(mistake, seed, planted=True))
        judged = judge_recording(recording)
        if (judged.outcome, judged.kind) == (Outcome.VIOLATION, "history"):
            assert stale(recording) or mistake in NOT_STALE
            return
    pytest.fail(f"{mistake} was found with none of the seeds {SEEDS}")


@pytest.mark.parametrize("mistake", sorted(MISTAKES.keys() - LOCKS))
def test_the_same_schedule_is_harmless_under_the_right_rules(mistake: str) -> None:
    recording = simulate(aimed_at(mistake, SEEDS[0], planted=False))
    assert not stale(recording)
    episodes = recording.record.episodes
    assert episodes
    assert all(each.complete for each in episodes), episodes
    assert not recording.seen.missed
    whole(recording)
    assert judge_recording(recording).outcome in {Outcome.PASS, Outcome.NOT_EXERCISED}


@pytest.mark.parametrize("clock", [ClockMode.RATE, ClockMode.WALL])
@pytest.mark.parametrize("policy", sorted(POLICIES))
@pytest.mark.parametrize("seed", SEEDS)
def test_no_right_policy_reads_stale_in_a_drawn_run(seed: int, policy: str, clock: ClockMode) -> None:
    asked = {"on": "sim", "policy": policy, "seed": seed, "rate": 50, "time": 30.0}
    recording = simulate(plan_from(None, {**asked, "faults": ",".join(HERE), "clock": clock.value}))
    assert not stale(recording)
    assert any(each.complete for each in recording.record.episodes)
    whole(recording)
    judged = judge_recording(recording)
    assert judged.outcome is Outcome.PASS, judged.causes


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_no_right_policy_is_blamed_while_members_change(policy: str) -> None:
    asked = {"on": "sim", "policy": policy, "seed": 5, "rate": 50, "time": 16.0, "nodes": 5}
    recording = simulate(plan_from(None, {**asked, "faults": "transfer,membership,time-service,crash"}))
    assert not stale(recording)
    whole(recording)
    made = {each.fault.kind for each in recording.record.faults if each.standing is Standing.INSTALLED}
    assert {"transfer", "membership"} <= made
    assert ("time-service" in made) is POLICIES[policy].mode.synced
    judged = judge_recording(recording)
    assert judged.outcome in {Outcome.PASS, Outcome.NOT_EXERCISED}, judged.causes
