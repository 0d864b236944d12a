"""What a campaign comes to: pure, from its rows and what was expected.

An expected outcome counts as a pass, and so does a pass where a violation is expected, as long as
another seed of that name shows it; if none does, the expectation was missed. Everything else keeps its
own word, and the worst wins. A name that nothing was run of, because the budget ran out first, is
undecided, and no pass; a violation of nothing but rules that are known to be broken is expected, and
told as known.

A single run of a swarm need not have exercised what its policy claims; all of them together do. A claim
that counts zero over every seed of an entry, of `SEEDS_TELL` at least, makes that entry not exercised.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import msgspec

from harness.outcome import Outcome, worst
from harness.report.escape import plain

from .entries import Drawn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .entries import Entry
    from .row import Row


SEEDS_TELL: Final = 20
"""So many seeds of a right policy have anything it claims somewhere, but for one time in a hundred."""


class Reckoning(msgspec.Struct, frozen=True, kw_only=True):
    """A campaign that ended, in words: ``missed`` and ``not_run`` are names, ``known_unseen`` rules.

    A rule is seen where a run convicts it, whatever else that run convicts. ``idle`` are claims that no
    seed of a name exercised, by that name. ``cut_off`` is what ended it before its end, if anything did.
    """

    outcome: Outcome
    missed: tuple[str, ...]
    not_run: tuple[str, ...]
    known_unseen: tuple[str, ...]
    idle: dict[str, tuple[str, ...]] = {}
    cut_off: Outcome | None = None

    @property
    def of_all(self) -> Iterator[tuple[str, Outcome, str]]:
        """What is said of all runs of a name, or of none: the name, the outcome, and why."""
        missed = "a violation was expected, and no seed showed one"
        yield from ((name, Outcome.EXPECTATION_MISSED, missed) for name in self.missed)
        over = "the budget was over" if self.cut_off is None else "the campaign ended"
        why = f"{over} before its first run"
        yield from ((name, Outcome.UNKNOWN, why) for name in self.not_run)
        for name, claims in self.idle.items():
            yield name, Outcome.NOT_EXERCISED, f"no seed exercised {', '.join(claims)}"


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
    seen = {rule for row in rows if row.outcome is Outcome.VIOLATION for rule in row.broken}
    known = dict.fromkeys(rule for entry in entries for rule in entry.known)
    outcomes = [row.counted for row in rows] + ([] if cut_off is None else [cut_off])
    outcomes += [Outcome.EXPECTATION_MISSED for _ in missed]
    outcomes += [Outcome.UNKNOWN for _ in not_run]
    idle = {entry.name: claims for entry in entries if (claims := _idle(entry, rows))}
    outcomes += [Outcome.NOT_EXERCISED for _ in idle]
    return Reckoning(
        outcome=worst(outcomes),
        missed=missed,
        not_run=not_run,
        known_unseen=tuple(rule for rule in known if rule not in seen),
        idle=idle,
        cut_off=cut_off,
    )


def _idle(entry: Entry, rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the claims of a drawn entry that is to pass which none of its seeds exercised."""
    if entry.drawn is not Drawn.SWARM or entry.expected is not Outcome.PASS:
        return ()
    counted = [row.exercised for row in rows if row.name == entry.name and row.exercised]
    if len(counted) < SEEDS_TELL:
        return ()
    claims = dict.fromkeys(claim for row in counted for claim in row)
    return tuple(claim for claim in claims if not any(row.get(claim) for row in counted))


def idle_words(idle: Mapping[str, Sequence[str]]) -> str:
    """Return which names exercised what in none of their seeds, as a list in words."""
    return "; ".join(f"{name}: {plain(', '.join(claims))}" for name, claims in idle.items())


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
