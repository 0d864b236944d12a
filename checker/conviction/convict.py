"""From a violation to the rule it broke.

An answer is taken apart in the order in which it came about: the grounds of its index (`indexes`), the
lease it rested on (`leases`, `log_leases`), and, if a right node would have answered too, what should
have kept a newer leader away while that lease lived: promises (`promises`) or, where voting is free, its
waiting (`waits`). At last comes what all of this rests on, that nobody forgets what it said (`memory`).
The first that contradicts a rule convicts it. Only contradictions that this very answer rests on count:
what else went wrong in the run convicts nobody.

If nothing is contradicted, that is said, with what leases, promises and votes there were, and whether a
clock ran beyond the declared bound: no rule holds beyond it.

Fences (`fences`) speak for themselves: once one was seen broken, whatever contradicts their rules counts
beside that.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from checker.evidence import OwnClock, ServedRead
from checker.oracles import fencing
from checker.oracles.clock_audit import clock_audit
from checker.oracles.result import OracleOutcome, violations

from .around import around
from .dates import date_breaches
from .fences import fence_breaches
from .incident import of_findings, of_history
from .indexes import index_breaches
from .leases import Judged, judged_checks, lease_breaches
from .log_leases import LogLeases
from .memory import memory_breaches
from .owed import Family
from .progress import progress_breaches
from .promises import promise_breaches
from .said import Breach, Certainty, Conviction, of_breach
from .spans import Spans
from .waits import wait_breaches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from checker.oracles.result import OracleResult
    from checker.timeline import Timelines
    from checker.verdict import Violation

    from .incident import Incident
    from .owed import Owed


def convict(
    timelines: Timelines,
    owed: Owed,
    *,
    violation: Violation | None = None,
    oracles: Sequence[OracleResult] = (),
) -> tuple[Conviction, ...]:
    """Return what evidence convicts: for the history's proof, or else for what oracles found."""
    incidents = of_history(violation, timelines) if violation is not None else []
    said = of_incidents(timelines, owed, [*incidents, *of_findings(oracles, timelines)])
    if any(told.kind == fencing.KIND for told in violations(oracles)):
        known = (each for each in said if each.certainty is not Certainty.UNKNOWN)
        return (*known, *map(of_breach, fence_breaches(timelines)))
    return said


def of_incidents(
    timelines: Timelines, owed: Owed, incidents: Sequence[Incident]
) -> tuple[Conviction, ...]:
    """Return what evidence convicts for incidents, of which the first that convicts counts.

    Nothing at all is said where the policy owes nothing, or evidence does not tell of the violation.
    """
    if not owed.families or not incidents:
        return ()
    court = Court(timelines, owed)
    for incident in incidents:
        if breaches := court.breaches(incident):
            return tuple(of_breach(breach) for breach in breaches)
    return (_unknown(timelines, owed, incidents[0]),)


class Court:
    """The evidence of a run, and what is owed; what is recounted is recounted once."""

    def __init__(self, timelines: Timelines, owed: Owed) -> None:
        self.timelines = timelines
        self.owed = owed
        self._spans = {node: Spans(timeline, owed.drift_ppm) for node, timeline in timelines.items()}

    @cached_property
    def _checks(self) -> dict[str, list[Judged]]:
        return {
            node: judged_checks(timeline, self._spans[node], self.owed)
            for node, timeline in self.timelines.items()
        }

    @cached_property
    def _log_leases(self) -> LogLeases:
        return LogLeases(self.timelines, self._spans, self.owed)

    def breaches(self, incident: Incident) -> list[Breach]:
        """Return the contradictions that an incident rests on."""
        return (
            self._of_the_index(incident)
            or self._of_the_lease(incident)
            or self._of_the_date(incident)
            or self._of_progress(incident)
            or self._of_memory(incident)
        )

    def _of_the_index(self, incident: Incident) -> list[Breach]:
        if incident.served is None or Family.INDEX not in self.owed.families:
            return []
        return index_breaches(self.timelines, incident.node, incident.served, self.owed)

    def _of_the_lease(self, incident: Incident) -> list[Breach]:
        owed = self.owed
        spans_missing = owed.clock is OwnClock.INTERVAL and not self._spans[incident.node].told
        if not incident.checks or not self._by_lease(incident) or spans_missing:
            return []
        if Family.LOG in owed.families:
            return self._of_the_log_lease(incident)
        if Family.LEASE not in owed.families:
            return []
        timelines, node = self.timelines, incident.node
        found = lease_breaches(
            timelines,
            node,
            self._checks,
            spans=self._spans[node],
            owed=owed,
            places=incident.checks,
            own_ns=incident.own_ns,
        )
        last, until_ns = incident.checks[-1], incident.at_true_ns
        if not found and Family.PROMISE in owed.families:
            found = promise_breaches(
                timelines, node, last, spans=self._spans, until_true_ns=until_ns, owed=owed
            )
        if not found and Family.WAIT in owed.families:
            found = wait_breaches(timelines, node, last, until_true_ns=until_ns, owed=owed)
        return found

    def _of_the_log_lease(self, incident: Incident) -> list[Breach]:
        if incident.served is None:
            return []
        return self._log_leases.breaches(
            incident.node, incident.checks, incident.served, incident.at_true_ns
        )

    def _of_the_date(self, incident: Incident) -> list[Breach]:
        if Family.COMMIT_WAIT not in self.owed.families or not self._spans[incident.node].told:
            return []
        return date_breaches(self.timelines, incident, self._spans)

    def _of_progress(self, incident: Incident) -> list[Breach]:
        if incident.led is None or Family.PROGRESS not in self.owed.families:
            return []
        return progress_breaches(self.timelines, incident.led, self.owed)

    def _of_memory(self, incident: Incident) -> list[Breach]:
        if Family.MEMORY not in self.owed.families:
            return []
        of_an_invariant = incident.served is None and not incident.checks
        return memory_breaches(
            self.timelines, until_true_ns=incident.at_true_ns, harmless=of_an_invariant
        )

    def _by_lease(self, incident: Incident) -> bool:
        if incident.served is None:
            return True
        what = self.timelines[incident.node].lines[incident.served].what
        return isinstance(what, ServedRead) and what.path == "lease"


def _unknown(timelines: Timelines, owed: Owed, incident: Incident) -> Conviction:
    audit = clock_audit(timelines, drift_ppm=owed.drift_ppm)
    sentence = "nothing that the nodes wrote contradicts a rule known here"
    if audit.outcome is OracleOutcome.OUTSIDE:
        sentence = f"{sentence}, and {audit.findings[0].sentence}"
    return Conviction(
        certainty=Certainty.UNKNOWN,
        sentence=sentence,
        node=incident.node,
        term=incident.term,
        around=tuple(around(timelines, incident)),
    )
