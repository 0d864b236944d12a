"""A saved run once more in virtual time, where it comes out the same to the byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from harness.outcome import Outcome
from harness.run.simulate import Recording, history_bytes, judge_recording, simulate

if TYPE_CHECKING:
    from harness.plan.plan import Plan


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """One try in virtual time. ``identical`` is None where there was no history to compare with."""

    recording: Recording
    outcome: Outcome
    kind: str | None
    reason: str | None
    identical: bool | None


def replayed(plan: Plan, history: bytes | None) -> Replayed:
    """Run a plan in virtual time and compare its history with the saved one."""
    recording = simulate(plan)
    judged = judge_recording(recording)
    return Replayed(
        recording=recording,
        outcome=judged.outcome,
        kind=judged.kind,
        reason=judged.reason,
        identical=None if history is None else history_bytes(recording) == history,
    )
