"""What a summary shows, as one frozen value: the seam between a run and every way to print it.

A run fills it as it ends and a report later, both from the verdict (`harness.report.saved`); `summary`
lays it out for the terminal and for a report's tables.
Text in here is raw: whoever renders escapes it. Stamps are nanoseconds from the run's origin.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from harness.outcome import Outcome


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """Why the history cannot be explained, and who is to blame for it as far as evidence tells.

    ``stale``: how far behind the offending read was; ``served``: who answered it, on which grounds.
    """

    kind: str
    key: str | None
    sentence: str
    drawing: tuple[str, ...] = ()
    stale: str | None = None
    served: str | None = None
    faults: tuple[str, ...] = ()


class RuleLine(msgspec.Struct, frozen=True, kw_only=True):
    """What is said of a rule; ``looks_like`` names mistakes of the catalog that leave the same trace.

    ``around``: leases, promises and votes near a violation that no rule explains.
    """

    said: str
    looks_like: tuple[str, ...] = ()
    around: tuple[str, ...] = ()


class FaultCount(msgspec.Struct, frozen=True, kw_only=True):
    """Of one kind of fault: how often it took hold, was skipped, or nobody knows; and what it did."""

    installed: int = 0
    skipped: int = 0
    unknown: int = 0
    did: str = ""


class ReadPathCount(msgspec.Struct, frozen=True, kw_only=True):
    """Reads answered on one path, and the median time they took."""

    reads: int
    p50_ns: int


class OracleLine(msgspec.Struct, frozen=True):
    """What one oracle said, in a word and a sentence."""

    name: str
    verdict: str
    said: str = ""


class RunView(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a summary of one run shows.

    ``operations``: function -> how it ended -> count; ``faults`` are by kind, ``reads`` by path.
    ``stall_ns``: the longest time without any operation that succeeded, as (length, start). ``claims``:
    what the policy promises to have exercised, with its counts, and ``units`` what some of them are
    measured in. ``planted``: what is known to be wrong with the target because it was put there, which
    convicts nobody of anything.
    None in place of counts is what nobody looked at, and not zero.
    """

    outcome: Outcome
    title: str
    reason: str | None
    seconds: float
    operations: Mapping[str, Mapping[str, int]] | None
    faults: Mapping[str, FaultCount]
    leader_changes: int
    reads: Mapping[str, ReadPathCount]
    stall_ns: tuple[int, int] | None
    keys: Mapping[str, int] | None
    oracles: tuple[OracleLine, ...]
    claims: Mapping[str, int] | None
    proof: Proof | None
    rules: tuple[RuleLine, ...] = ()
    planted: tuple[str, ...] = ()
    units: Mapping[str, str] = {}
    notes: tuple[str, ...]
    directory: str
    report: str | None = None
    replay: str
