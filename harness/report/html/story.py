"""What happened around the proof, one thing a line, in the order of the true clock.

Operations of the proof from the history, everything else from evidence and from the record of faults.
Each line is a fact somebody wrote down; none says who is to blame. Where the offending read is known,
times are told relative to what it should have seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from checker.values import shorten, show
from harness.report.faults import held, hit, name_of, over_ns
from harness.report.tone import Tone

from .shapes import ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from checker.operations import Operation
    from harness.report.load import RunData

STEPS_MAX: Final = 30
_TOLD: Final = frozenset({"vote", "token", "leader", "revoke", "boot", "anomaly", "transfer"})
_CHARS_MAX: Final = 120


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One line. ``since_ns`` counts from the newer operation's return; ``tone`` as in a summary."""

    at_ns: int
    node: str
    text: str
    since_ns: int | None = None
    tone: Tone = Tone.PLAIN
    rank: int = 1


def story_of(run: RunData) -> tuple[Step, ...]:
    """Return the steps within the view; those of the proof are there whatever else is left out."""
    view_ns = run.focus.view_ns
    if view_ns is None or not run.focus.operations:
        return ()
    steps = [*_operations(run), *_faults(run, view_ns), *_marks(run, view_ns)]
    kept = sorted(steps, key=lambda step: (step.rank, step.at_ns))[:STEPS_MAX]
    zero_ns = run.focus.newer.return_ns if run.focus.newer is not None else None
    return tuple(
        step if zero_ns is None else msgspec.structs.replace(step, since_ns=step.at_ns - zero_ns)
        for step in sorted(kept, key=lambda step: step.at_ns)
    )


def _operations(run: RunData) -> Iterator[Step]:
    late, newer = run.focus.offender, run.focus.newer
    for each in run.focus.operations:
        name = shorten(str(each), _CHARS_MAX)
        node = each.node or ""
        key = "" if each.key is None else f" of key {shorten(show(each.key), 40)}"
        if each == late and run.focus.proof is None:
            ended = f"{name}{key} (process {each.process}) returns, too late"
            yield Step(at_ns=_end(each), node=node, text=ended, tone=Tone.BAD, rank=0)
        elif each == late:
            yield Step(
                at_ns=each.call_ns, node=node, rank=0, text=f"process {each.process} asks: {each.f}{key}"
            )
            yield Step(at_ns=_end(each), node=node, text=_answer(run, name), tone=Tone.BAD, rank=0)
        else:
            tone = Tone.GOOD if each == newer else Tone.PLAIN
            ended = "returns" if each.known else "ends, and nobody knows how"
            yield Step(
                at_ns=_end(each),
                node=node,
                text=f"{name}{key} (process {each.process}) {ended}",
                tone=tone,
                rank=0,
            )


def _answer(run: RunData, name: str) -> str:
    proof = run.focus.proof
    path = "" if proof is None or proof.path is None else f", path {proof.path}"
    left = ""
    if proof is not None and proof.lease is not None:
        left = (
            ", with a lease that it takes for open-ended"
            if proof.lease.remaining_ns is None
            else f", believing that {ms(proof.lease.remaining_ns)} of its lease are left"
        )
    return f"answers {name}{path}{left}"


def _end(each: Operation) -> int:
    return each.call_ns if each.return_ns is None else each.return_ns


def _faults(run: RunData, view_ns: tuple[int, int]) -> Iterator[Step]:
    start_ns, end_ns = view_ns
    for each in held(run.faults):
        until_ns = over_ns(each)
        if each.asked_ns > end_ns or (until_ns is not None and until_ns < start_ns):
            continue
        nodes = ", ".join(hit(each))
        yield Step(at_ns=each.asked_ns, node=nodes, text=f"fault: {name_of(each)}", tone=Tone.WARN)
        if each.fault.lasts and each.healed_ns is not None and each.healed_ns <= end_ns:
            yield Step(at_ns=each.healed_ns, node=nodes, text=f"healed: {name_of(each)}", tone=Tone.WARN)


def _marks(run: RunData, view_ns: tuple[int, int]) -> Iterator[Step]:
    for mark in run.marks:
        if mark.kind in _TOLD and view_ns[0] <= mark.at_ns <= view_ns[1]:
            left = (
                "" if mark.left_ns is None else f"; its promise of silence has {ms(mark.left_ns)} to run"
            )
            tone = Tone.PLAIN if mark.left_ns is None else Tone.BAD
            yield Step(at_ns=mark.at_ns, node=mark.node, text=f"{mark.text}{left}", tone=tone)
