"""What there was around a violation that no rule explains: leases, promises and votes, a line each.

In the order of the true clock, from the holder's last granted check (or the answer) back and on: the
checks of the node that answered, the promises last made to it, and every vote for a later term.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from checker.evidence import Checked, Fact, Promised, Revoked, RoleChanged, ServedRead, Voted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from checker.timeline import Timelines

    from .incident import Incident

LINES_MAX: Final = 12
LAST: Final = 3
"""How many of a node's facts of one kind are told."""


def around(timelines: Timelines, incident: Incident) -> Iterator[str]:
    """Yield up to `LINES_MAX` sentences, the latest ones, in the order of time."""
    told: list[tuple[int, str]] = []
    for node, timeline in timelines.items():
        kinds = (
            (Checked, ServedRead, Revoked) if node == incident.node else (Promised, Voted, RoleChanged)
        )
        for kind in kinds:
            facts = [
                (timeline.before_ns[place], fact)
                for place, fact in timeline.facts(kind)
                if timeline.before_ns[place] <= incident.at_true_ns and _matters(fact, incident)
            ]
            told += [
                (at_ns, f"{timelines.at(at_ns)}: {node} {_said(fact, timeline.lines[0].own_ns)}")
                for at_ns, fact in facts[-LAST:]
            ]
    told.sort()
    yield from (sentence for _, sentence in told[-LINES_MAX:])


def _matters(fact: Fact, incident: Incident) -> bool:
    match fact:
        case Voted():
            return fact.granted and not fact.pre and fact.term > incident.term
        case RoleChanged():
            return fact.term > incident.term
        case Promised():
            return fact.holder == incident.node and fact.term == incident.term
        case _:
            return True


def _said(fact: Fact, first_ns: int) -> str:
    match fact:
        case Checked(term, granted, clock, _, until_ns):
            end = "open-ended" if until_ns is None else f"until {_at(until_ns, first_ns)}"
            did = "granted" if granted else "refused"
            said = f"{did} itself a lease of term {term}, {end} ({clock} clock)"
        case ServedRead(term, path):
            said = f"answered a read by {path} in term {term}"
        case Revoked(term, reason):
            said = f"dropped its lease of term {term} ({reason})"
        case Promised(term, holder, _, until_ns):
            end = f"until {_at(until_ns, first_ns)} of its own clock"
            said = f"promised {holder} silence in term {term}, {end}"
        case Voted(term, candidate):
            said = f"voted for {candidate} in term {term}"
        case RoleChanged(term, role):
            said = f"became {role} of term {term}"
        case _:
            said = str(fact)
    return said


def _at(own_ns: int, first_ns: int) -> str:
    return f"{(own_ns - first_ns) / 1e9:.3f} s"
