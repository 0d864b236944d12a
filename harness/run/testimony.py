"""What the evidence of a run's nodes comes to, under the policy that its plan declares.

The one judging of it: by a run as it ends (`judge`), and of its directory at any time later (`rejudge`).
Every judge can be heard for itself; who is heard without what it needs says nothing. What an answer
weighs beside a history's, and what is said of a judge that breaks, is for whoever hears them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker import exercised as exercising
from checker.oracles.availability import READS
from checker.oracles.judge import Declared, judge
from checker.oracles.result import OracleOutcome, violations
from checker.timeline import build
from harness.plan.plan import Load
from targets.catalog import mode

from .convicted import convicted
from .workloads import claims_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from checker.conviction import Conviction
    from checker.evidence import EvidenceLine
    from checker.operations import History, Operation
    from checker.oracles.result import OracleResult
    from checker.timeline import Timelines
    from checker.verdict import Violation
    from harness.plan.plan import Plan

AVAILABLE_AGAIN_E = 5  # reads and writes are back within so many election timeouts of the heal


def declared(
    plan: Plan, *, healed_ns: int | None = None, calm_ns: tuple[tuple[int, int], ...] = ()
) -> Declared:
    """Return what the oracles hold a run of this plan to; ``healed_ns`` None if no one knows."""
    return Declared(
        nodes=plan.node_names,
        drift_ppm=plan.drift_ppm,
        owes=mode(plan.target, plan.policy).owes,
        healed_ns=healed_ns,
        calm_ns=calm_ns,
        resume_within_ns=AVAILABLE_AGAIN_E * plan.election_ns,
        availability_required="availability" in plan.require,
    )


class Testimony:
    """What was said so far; ``exercised`` counts what the policy claims, and no other."""

    def __init__(self, plan: Plan, owed: Declared) -> None:
        self.plan = plan
        self.claims = claims_of(plan)
        self.timelines: Timelines | None = None
        self.oracles: tuple[OracleResult, ...] = ()
        self.convictions: tuple[Conviction, ...] = ()
        self.exercised: dict[str, int] = {}
        self._owed = owed

    def lay(self, lines: Iterable[EvidenceLine], history: History | None) -> None:
        """Lay every node's lines over the history, from whose origin times are told."""
        header = None if history is None else history.header
        self.timelines = build(lines, origin_ns=0 if header is None else header.origin_ns)

    def hear_oracles(self, history: History | None) -> None:
        """Hear every oracle."""
        if history is not None and self.timelines is not None:
            self.oracles = judge(list(history), self.timelines, self._owed)

    def convict(self, found: Violation | None) -> None:
        """Ask which rules are broken: for the history's proof, or else for what oracles found."""
        self.convictions = convicted(self.plan, found, self.oracles, self.timelines)

    def count(self, history: History | None) -> None:
        """Count what was exercised of what the policy claims."""
        if history is not None and self.timelines is not None:
            counts = exercising.count(history, self.timelines)
            self.exercised = {claim: counts.get(claim, 0) for claim in self.claims}

    def missing(self, history: History | None) -> tuple[str, ...]:
        """Return the nodes that owe evidence and left no fact of it.

        No load begins before every node has said who leads, so where there is an operation each of
        them has booted, and has that to tell at least.
        """
        if mode(self.plan.target, self.plan.policy).terms is None or not history:
            return ()
        told = () if self.timelines is None else self.timelines.keys()
        return tuple(node for node in self.plan.node_names if node not in told)

    def unheard(self, history: History | None) -> Iterator[str]:
        """Yield why an oracle that the policy owes to satisfy said nothing, of a run with operations."""
        for each in self.oracles if history else ():
            if each.name in self._owed.owes and each.outcome is OracleOutcome.UNAVAILABLE:
                yield f"{each.name} is owed and could not be judged: {each.reason}"

    @property
    def proofs(self) -> tuple[OracleResult, ...]:
        """The oracles that found a violation."""
        return tuple(violations(self.oracles))

    def idle(self, history: History | None) -> Iterator[str]:
        """Yield why nothing was in danger: what is claimed and nobody saw, or counted, and unread."""
        none = [claim for claim in self.claims if not self.exercised.get(claim)]
        if none:
            load = self.plan.workload
            beside = "" if load is Load.REGISTER else f" under workload {load}"
            claimed = f"policy {self.plan.policy}{beside} claims {', '.join(none)}"
            yield f"{claimed}, and this run had none"
        if history is not None and history and not any(map(_is_read, history)):
            yield "no read was answered, so there was nothing that could have been stale"


def _is_read(operation: Operation) -> bool:
    return operation.f in READS and operation.known
