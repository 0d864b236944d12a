"""What a campaign comes to: pure, from its rows and what was expected.

An expected outcome counts as a pass, and so does a pass where a violation is expected, as long as
another seed of that name shows it; if none does, the expectation was missed. Everything else keeps its
own word, and the worst wins. A name that nothing was run of, because the budget ran out first, is
undecided, and no pass; a violation of nothing but rules that are known to be broken is expected, and
told as known.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from harness.outcome import Outcome, worst

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .entries import Entry
    from .row import Row


class Reckoning(msgspec.Struct, frozen=True, kw_only=True):
    """A campaign that ended, in words: ``missed`` and ``not_run`` are names, ``known_unseen`` rules.

    ``cut_off`` is what ended it before its end, if anything did.
    """

    outcome: Outcome
    missed: tuple[str, ...]
    not_run: tuple[str, ...]
    known_unseen: tuple[str, ...]
    cut_off: Outcome | None = None


def reckoned(
    entries: Sequence[Entry], rows: Sequence[Row], *, cut_off: Outcome | None = None
) -> Reckoning:
    """Return what the rows come to."""
    run = {row.name for row in rows}
    shown = {row.name for row in rows if row.outcome is Outcome.VIOLATION}
    missed = tuple(
        entry.name
        for entry in entries
        if entry.expected is Outcome.VIOLATION and entry.name in run - shown
    )
    not_run = tuple(entry.name for entry in entries if entry.name not in run)
    seen = {rule for row in rows if row.known for rule in row.rules}
    known = dict.fromkeys(rule for entry in entries for rule in entry.known)
    outcomes = [row.counted for row in rows] + ([] if cut_off is None else [cut_off])
    outcomes += [Outcome.EXPECTATION_MISSED for _ in missed]
    outcomes += [Outcome.UNKNOWN for _ in not_run]
    return Reckoning(
        outcome=worst(outcomes),
        missed=missed,
        not_run=not_run,
        known_unseen=tuple(rule for rule in known if rule not in seen),
        cut_off=cut_off,
    )


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Return rows in figures."""
    virtual_s = sum(row.virtual_s for row in rows)
    cpu_s = sum(row.cpu_s for row in rows if row.virtual_s)
    return {
        "runs": len(rows),
        "outcomes": dict(Counter(row.outcome.value for row in rows)),
        "unexpected": sum(row.counted is not Outcome.PASS for row in rows),
        "known": sum(row.known for row in rows),
        "cpu_seconds": round(cpu_s, 3),
        "simulated_seconds": round(virtual_s, 3),
        "simulated_per_cpu_second": round(virtual_s / cpu_s, 1) if cpu_s else None,
    }
