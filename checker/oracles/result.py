"""What an oracle answers.

An oracle judges facts, never the policy: it says what it saw and how surely. *ok* means nothing was
seen that must not be; findings of an ok result are notes. *violation* is a proof, certain over the
bracketing stamps. *outside* means that what a proof would rest on did not hold: nobody is accused, and
nobody should read it as ok. *unavailable* means the facts to judge by are missing, with the reason; it
is never read as ok.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

import msgspec

from checker.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

FINDINGS_MAX: Final = 20


class Oracle(StrEnum):
    """The oracles that a policy owes or not: a right one may break what they look for, by design."""

    LEASE_OVERLAP = "lease-overlap"
    PROMISE = "promise"


class OracleOutcome(StrEnum):
    """The four things an oracle can say."""

    OK = "ok"
    VIOLATION = "violation"
    OUTSIDE = "outside"
    UNAVAILABLE = "unavailable"


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing seen, in a sentence that stands alone.

    ``during_ns`` is a closed interval of the true clock that holds it; ``nodes`` and ``terms`` are
    those concerned, pairwise where there are two. ``operations`` are those that prove it, where it is
    clients who saw it, the one that should not have been last.
    """

    sentence: str
    during_ns: tuple[int, int] | None = None
    nodes: tuple[str, ...] = ()
    terms: tuple[int, ...] = ()
    operations: tuple[Operation, ...] = ()


class OracleResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one oracle says of a run.

    ``kind`` is the kind of violation it would be. Of many findings the first `FINDINGS_MAX` are kept;
    ``figures["findings"]`` counts all of them.
    """

    name: str
    kind: str
    outcome: OracleOutcome
    findings: tuple[Finding, ...] = ()
    figures: dict[str, int | float] = {}
    reason: str | None = None

    @property
    def sentence(self) -> str:
        """What it said first; empty of one that had nothing to say."""
        return self.reason or (self.findings[0].sentence if self.findings else "")


def violations(oracles: Iterable[OracleResult]) -> Iterator[OracleResult]:
    """Yield those that are a proof."""
    return (each for each in oracles if each.outcome is OracleOutcome.VIOLATION)


def unavailable(name: str, kind: str, reason: str) -> OracleResult:
    """Return the answer of an oracle that cannot judge."""
    return OracleResult(name=name, kind=kind, outcome=OracleOutcome.UNAVAILABLE, reason=reason)


def judged(
    name: str, kind: str, findings: Sequence[Finding], figures: dict[str, int | float] | None = None
) -> OracleResult:
    """Return *violation* if there is any finding, else *ok*."""
    return OracleResult(
        name=name,
        kind=kind,
        outcome=OracleOutcome.VIOLATION if findings else OracleOutcome.OK,
        findings=tuple(findings[:FINDINGS_MAX]),
        figures={**(figures or {}), "findings": len(findings)},
    )


def assumed(
    name: str, kind: str, findings: Sequence[Finding], figures: dict[str, int | float] | None = None
) -> OracleResult:
    """Return *outside* if there is any finding, else *ok*."""
    return OracleResult(
        name=name,
        kind=kind,
        outcome=OracleOutcome.OUTSIDE if findings else OracleOutcome.OK,
        findings=tuple(findings[:FINDINGS_MAX]),
        figures={**(figures or {}), "findings": len(findings)},
    )


def noted(
    name: str, kind: str, findings: Sequence[Finding], figures: dict[str, int | float] | None = None
) -> OracleResult:
    """Return *ok* with the findings as notes."""
    return OracleResult(
        name=name,
        kind=kind,
        outcome=OracleOutcome.OK,
        findings=tuple(findings[:FINDINGS_MAX]),
        figures={**(figures or {}), "findings": len(findings)},
    )
