"""Every decision a lease rests on, as a value.

`Rules` is a frozen bundle of small pure functions, each over a small frozen view. The core asks its
rules and does what they say; it holds no policy of its own. A *policy* is one `Rules`; a *mistake* is
a policy with exactly one field replaced; switching a rule off is a substitution too. So there is no
``if mistake`` anywhere, and what a mistake changes can be printed.

The one inequality. A leader may serve from its lease for D on its own clock after it *sent* the round
that a quorum acknowledged; a follower promises silence for E on its own clock after it *received* that
round. Sent is never later than received, so on true time the lease is over before the promise is if
D/(1-rho) <= E/(1+rho), where rho bounds how wrong a single clock's rate is. Hence
D = E(1-rho)/(1+rho) - theta; the one-sided E(1-rho) is too long when the leader's clock is slow and a
follower's fast at once. theta pays for the granularity of clocks.

Rule ids (F promises, L leases, R reads) stand beside the right form of each rule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from checker.events import ReadPath

from .fencing import Fencing
from .membership import NEVER
from .messages import Code
from .moments import PPM, Elapsed, LeaseClock, PromiseClock, Span
from .ports import HardState
from .views import (
    Ack,
    AgeView,
    Anomaly,
    AnswerView,
    AppliedView,
    Backing,
    Barrier,
    BatchView,
    BootView,
    Bounds,
    ClockView,
    GateView,
    HandoverView,
    HolderView,
    Judgement,
    LeaseView,
    LimboView,
    Look,
    LossView,
    OldLease,
    ProgressView,
    PromiseView,
    RoundView,
    SightView,
    StampView,
    TransferView,
)


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """All of it. ``paths`` are the ways a read is tried, in order; it ends as the last one fails."""

    paths: tuple[ReadPath, ...]
    span: Callable[[Elapsed], Span]
    lease_clock: LeaseClock
    lease_ns: Callable[[Bounds], int]
    credit_ns: Callable[[Ack], int]
    renews: bool
    backing_ns: Callable[[Backing], int]
    judged_at_ns: Callable[[Look], int]
    judge_lease: Callable[[LeaseView], Judgement]
    may_hold: Callable[[HolderView], bool]
    in_log: bool
    age_allows: Callable[[AgeView], bool]
    commit_allowed: Callable[[GateView], bool]
    limbo_allows: Callable[[LimboView], bool]
    writes_at_once: bool
    stamps_writes: bool
    stamp_past: Callable[[StampView], bool]
    promise_clock: PromiseClock
    promise_ns: Callable[[Bounds], int]
    promise_binds: Callable[[PromiseView], bool]
    boot_promise_ns: Callable[[BootView], int]
    loss_frees: Callable[[LossView], bool]
    stored: Callable[[HardState], HardState]
    reckoned_ns: Callable[[Bounds], int]
    wait_ns: Callable[[OldLease], int]
    transfer_closes: Callable[[TransferView], bool]
    gives_up: Callable[[HandoverView], bool]
    makes_progress: Callable[[ProgressView], bool]
    anomaly: Callable[[ClockView], Anomaly | None]
    lease_index: Callable[[Barrier], int | None]
    read_index: Callable[[Barrier], int | None]
    answers_alone: Callable[[], bool]
    next_ticket: Callable[[int], int]
    index_in_batch: Callable[[BatchView], int]
    first_round: Callable[[RoundView], int]
    answered: Callable[[AnswerView], bool]
    shares_rounds: bool
    applied_enough: Callable[[AppliedView], bool]
    sees_until: Callable[[SightView], int]
    when_unsure: Callable[[Code], Code | None]
    fencing: Fencing


def drift_safe_lease_ns(bounds: Bounds) -> int:
    """L12: the longest lease that no promise it rests on can be shorter than."""
    shrunk = bounds.election_ns * (PPM - bounds.drift_ppm) // (PPM + bounds.drift_ppm)
    return shrunk - bounds.margin_ns


def whole_promise(bounds: Bounds) -> int:
    """Let a lease last as long as the promise: where spans say what time it is, no rate enters."""
    return bounds.election_ns


def drift_safe_grant_ns(bounds: Bounds) -> int:
    """S3, L12: as for a renewed lease, of a grant's length."""
    return drift_safe_lease_ns(
        Bounds(bounds.grant_ns, bounds.drift_ppm, bounds.margin_ns, bounds.grant_ns)
    )


def credit_the_send(ack: Ack) -> int:
    """L2: an acknowledgement proves a promise that began no earlier than the round was sent."""
    return ack.sent_ns


def a_majority_of_each(backing: Backing) -> int:
    """L3, L10: the newest instant that a majority reaches, of old and incoming voters alike.

    Learners never count, and a leader on its way out has no lease at all.
    """
    if not backing.now.lasts(backing.own):
        return NEVER
    return backing.now.backed(backing.credits)


def judge_now(look: Look) -> int:
    """L4: a lease is judged at a reading taken after the request arrived, never at an older one."""
    return look.fresh_ns


def compare_the_clock(view: LeaseView) -> Judgement:
    """L4: a lease holds while this reading is before its end; equality is after."""
    if view.end_ns is None:
        return Judgement(granted=False, until_ns=view.read_ns)
    return Judgement(granted=view.read_ns < view.end_ns, until_ns=view.end_ns)


def held_by_leaders(view: HolderView) -> bool:
    """L6: a lease ends with the leadership that it belongs to."""
    return view.leads


def promise_holds(view: PromiseView) -> bool:
    """F2 and F3: no vote for another and none for oneself before the promise has run out."""
    return view.now_ns < view.until_ns


def young_enough(view: AgeView) -> bool:
    """G2: at its very end an entry is still young; equality is on this side only."""
    return view.latest_ns <= view.until_ns


def once_all_are_old(view: GateView) -> bool:
    """G1: commit when every entry of an earlier term is certainly older than a lease can last.

    They were all appended before this leader was elected, if it knows nothing better.
    """
    if view.prior_ns is None or view.led_ns > counted_at_most(view.lease_ns, view.drift_ppm):
        return True
    return view.earliest_ns is not None and view.earliest_ns - view.prior_ns > view.lease_ns


def untouched(view: LimboView) -> bool:
    """G3: a key that an entry in limbo touches has a value that nobody here knows."""
    return not view.touched


def certainly_past(view: StampView) -> bool:
    """T3: a write is told once nobody who knows the time could give a smaller timestamp any more."""
    return view.earliest_ns is not None and view.earliest_ns > view.stamp_ns


def promise_election_timeout(bounds: Bounds) -> int:
    """F1: a promise lasts E from when the round was heard, on the clock of whoever heard it."""
    return bounds.election_ns


def promise_a_grant(bounds: Bounds) -> int:
    """S2: whoever grants a one-shot lease helps nobody else for that long."""
    return bounds.grant_ns


def promise_at_boot(view: BootView) -> int:
    """F4: who has lived before may have promised something just before it died."""
    return 0 if view.brand_new else view.promise_ns


def nobody_is_freed(_view: LossView) -> bool:
    """F5: whoever is not heard any more may still serve from what it was promised."""
    return False


def all_of_it(hard: HardState) -> HardState:
    """F6: a vote is said once the disk has it, with its term, and both outlive a restart."""
    return hard


def promise_nothing(_bounds: Bounds) -> int:
    """Voting is free: a policy that keeps leases apart in another way needs no promise."""
    return 0


def reckon_with_nobody(_bounds: Bounds) -> int:
    """Promises outlive leases, so no old lease is alive when a new leader is elected."""
    return 0


def reckon_with_a_whole_lease(bounds: Bounds) -> int:
    """W1: a lease ends at most D/(1-rho) after a round was heard, (1+rho) times that on a fast clock."""
    return _stretched(drift_safe_lease_ns(bounds), bounds.drift_ppm)


def wait_it_out(old: OldLease) -> int:
    """W2: wait for what is left, and for what this clock may run faster than the voter's."""
    return _stretched(old.left_ns, old.drift_ppm) if old.left_ns else 0


def _stretched(duration_ns: int, drift_ppm: int) -> int:
    """Return what a clock may count at most while another one counts ``duration_ns``."""
    return duration_ns * (PPM + drift_ppm) // (PPM - drift_ppm) + 1


def counted_at_most(duration_ns: int, drift_ppm: int) -> int:
    """Return what a clock may count at most while so much true time passes."""
    return -(-duration_ns * (PPM + drift_ppm) // PPM) + 1


def closed_by_transfer(view: TransferView) -> bool:
    """L9: no lease while a successor that this leader set free may be elected, nor soon after."""
    if view.under_way:
        return True
    if view.told_ns is None:
        return False
    if not view.outdated:
        return True
    return view.now_ns <= view.told_ns + _stretched(view.election_ns, view.drift_ppm)


def after_an_election_timeout(view: HandoverView) -> bool:
    """L9: a transfer that has come to nothing ends; nothing is written while one is under way."""
    return view.under_way_ns >= view.election_ns


def applied_of_late(view: ProgressView) -> bool:
    """L8: who gets nothing done does not lead or campaign, however well its heartbeats are answered."""
    return view.waited_ns < 2 * view.election_ns


def notice_anomaly(view: ClockView) -> Anomaly | None:
    """L11: a loop that came back late, or two clocks that disagree about how long that was.

    One stall is one anomaly: while the loop runs but has not come round to its timer, only the time
    since it was last seen running counts. A suspended host shows as no stall, its monotonic clock
    having stood still as well; but its boot time went on.
    """
    before, now = view.before, view.now
    elapsed_ns = now.mono_ns - before.mono_ns
    if elapsed_ns > view.stall_max_ns and now.mono_ns - view.wake_ns > view.stall_max_ns:
        return Anomaly("stall", min(elapsed_ns, now.mono_ns - view.wake_ns))
    if view.slept_ns > view.step_max_ns:
        return Anomaly("boottime-gap", view.slept_ns)
    step_ns = now.wall_ns - before.wall_ns - elapsed_ns
    if abs(step_ns) > view.step_max_ns + elapsed_ns * view.drift_ppm // PPM:
        return Anomaly("wall-forward" if step_ns > 0 else "wall-backward", abs(step_ns))
    return None


def ignore_anomalies(_view: ClockView) -> Anomaly | None:
    """L11 off."""
    return None


def own_term_committed(barrier: Barrier) -> int | None:
    """L1, R1: no index before an entry of one's own term is committed; older ones may be missing."""
    return barrier.commit_index if barrier.commit_index >= barrier.noop_index else None


def whatever_is_committed(barrier: Barrier) -> int | None:
    """G3 instead of L1: what an earlier leader may have committed besides is in limbo."""
    return barrier.commit_index


def ask_the_leader() -> bool:
    """R5: who does not lead cannot know what is committed."""
    return False


def fresh_ticket(last: int) -> int:
    """R3: an answer to an earlier request must not pass for the answer to this one."""
    return last + 1


def own_index(view: BatchView) -> int:
    """R4: a read sees what was committed when it arrived, whoever else shares its round."""
    return view.own_index


def round_after_arrival(view: RoundView) -> int:
    """R2: a read is confirmed by rounds sent after it arrived, so by the next one at the earliest."""
    return view.sent + 1


def by_a_majority(view: AnswerView) -> bool:
    """R5: no read before a majority has answered its round, or a later one."""
    return view.round <= view.confirmed


def wait_for_applied(view: AppliedView) -> bool:
    """R6: a read sees everything up to its index."""
    return view.applied_index >= view.read_index


def applied_only(view: SightView) -> int:
    """L5: what is in the log and not committed may never have been."""
    return view.applied_index


def say_so(code: Code) -> Code | None:
    """R7: a node that cannot be sure says why; None would mean to answer with what it has."""
    return code


RULES_OFF: Final[dict[str, Callable[[Rules], Rules]]] = {
    "L11": lambda rules: msgspec.structs.replace(rules, anomaly=ignore_anomalies),
}
