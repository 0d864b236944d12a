"""A run directory read for a person: whatever is there, as far as it can be read.

Files only, sizes bounded, links not followed; nothing in them is acted on. A report is wanted most when
a run went wrong, so what is missing or broken becomes a note, and the rest is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from checker.events import Header
from checker.evidence_lines import MalformedEvidence, gather
from checker.timeline import Timelines, build
from harness import program
from harness.plan import Plan, PlanError, Trust, from_file
from harness.plan.resolve import resolve
from harness.store.errors import StoreError
from harness.store.rundir import RunDir, existing

from . import injected
from .bands import Band, bands_of
from .focus import Focus, focus_of
from .locks import locks_of
from .marks import Mark, marks_of
from .saved import Told, told
from .skim import KEPT_MAX, PATHS_MAX, Skimmed, skim
from .tally import Tally
from .thin import WHOLE_MAX_BYTES, thinned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import TypeVar

    from nemesis.machine.record import Injected

    ReadT = TypeVar("ReadT")

ELECTION_NS: Final = 1_000_000_000
NODES_MAX: Final = 12


@dataclass(frozen=True, kw_only=True)
class RunData:
    """What a run directory holds; None is what is not there, or cannot be read.

    ``end_ns`` is the last instant that anything tells of, from the origin. ``believed`` is whether the
    verdict is verdict.json's word, which may be anybody's, and ``check`` what judges the history again.
    """

    name: str
    directory: str
    plan: Plan | None
    said: Told | None
    believed: bool
    check: str
    skimmed: Skimmed
    timelines: Timelines | None
    bands: tuple[Band, ...]
    marks: tuple[Mark, ...]
    locks: tuple[tuple[Band, ...], tuple[Mark, ...]]
    faults: tuple[Injected, ...]
    focus: Focus
    notes: tuple[str, ...]

    @property
    def election_ns(self) -> int:
        """The election timeout, or its default."""
        return _election_ns(self.plan)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes that anything names, in order; of more than a run can have, the first."""
        named = set() if self.plan is None else set(self.plan.node_names)
        named |= set(self.timelines or ())
        named |= {each.node for each in self.skimmed.kept if each.node is not None}
        named |= {node for each in self.faults for node in each.fault.concerned}
        return tuple(sorted(named, key=lambda node: (len(node), node))[:NODES_MAX])

    @property
    def paths(self) -> tuple[str, ...]:
        """How the operations that are kept were answered, by name."""
        return tuple(sorted({each.path for each in self.skimmed.kept})[:PATHS_MAX])

    @property
    def end_ns(self) -> int:
        """The last instant that anything tells of."""
        ends = [band.end_ns for band in self.bands]
        ends += [each.healed_ns for each in self.faults if each.healed_ns is not None]
        ends += [] if self.skimmed.span_ns is None else [self.skimmed.span_ns[1]]
        return max(ends, default=1)


def load(
    directory: Path,
    *,
    verdict: Mapping[str, Any] | None = None,
    stretch_ns: tuple[int, int] | None = None,
    kept_max: int = KEPT_MAX,
) -> RunData:
    """Read a run directory; raise `NotARun` if it is none.

    ``verdict`` stands in for verdict.json, where something newer is known; ``stretch_ns`` for the
    stretch, around what is to be seen, of which at most ``kept_max`` operations are kept.
    """
    run = existing(directory)
    notes: list[str] = []

    def attempt(what: str, read: Callable[[], ReadT]) -> ReadT | None:
        try:
            return read()
        except (StoreError, PlanError, MalformedEvidence) as error:
            notes.append(f"{what}: {error}")
            return None

    plan = attempt("the plan is not shown", lambda: _plan(run))
    said = attempt("the verdict is not shown", lambda: _verdict(run, verdict))
    origin_ns = attempt("no operation is shown", lambda: _origin_ns(run))
    timelines = attempt(
        "nothing of the nodes is shown",
        lambda: _timelines(run, plan, said, origin_ns=origin_ns or 0, notes=notes),
    )
    faults = attempt("no fault is shown", lambda: injected.load(run).faults) or ()
    bands = () if timelines is None else bands_of(timelines)
    focus = focus_of(
        said,
        timelines,
        bands,
        faults=injected.windows(faults),
        election_ns=_election_ns(plan),
        origin_ns=origin_ns or 0,
    )
    skimmed = None
    if origin_ns is not None:
        skimmed = attempt(
            "no operation is shown",
            lambda: skim(run.history_lines(), stretch_ns or focus.stretch_ns, kept_max=kept_max),
        )
    skimmed = skimmed or Skimmed(tally=Tally())
    if skimmed.unread:
        notes.append(f"{skimmed.unread} lines of the history could not be read, and are not shown")
    return RunData(
        name=run.path.resolve().name,
        directory=str(run.path),
        plan=plan,
        said=said,
        believed=said is not None and verdict is None,
        check=program.judging(str(run.path)) if run.history.is_file() else "",
        skimmed=skimmed,
        timelines=timelines,
        bands=bands,
        marks=() if timelines is None else marks_of(timelines, bands),
        locks=((), ()) if timelines is None else locks_of(timelines),
        faults=faults,
        focus=focus,
        notes=tuple(notes),
    )


def _plan(run: RunDir) -> Plan:
    draft, document = from_file(run.read_plan(), name=str(run.plan))
    return resolve(draft, fresh_seed=0, where=document.where, trust=Trust.LOOK)


def _verdict(run: RunDir, verdict: Mapping[str, Any] | None) -> Told:
    """Return the verdict, with the command that runs this directory again from here.

    A run may have been moved, or come from a stranger: a command out of a file is none to be pasted.
    """
    said = told(run.read_verdict() if verdict is None else verdict, name=str(run.verdict))
    again = program.replaying(str(run.path)) if run.plan.is_file() else ""
    return msgspec.structs.replace(said, replay=again)


def _origin_ns(run: RunDir) -> int:
    """Return the history's origin; 0 where its first line is no header."""
    first = next(run.history_lines(), b"")
    try:
        return msgspec.json.decode(first, type=Header).origin_ns
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return 0


def _election_ns(plan: Plan | None) -> int:
    return ELECTION_NS if plan is None else plan.election_ns


def _timelines(
    run: RunDir, plan: Plan | None, said: Told | None, *, origin_ns: int, notes: list[str]
) -> Timelines | None:
    evidence = run.read_evidence()
    if not evidence:
        return None
    size = sum(map(len, evidence.values()))
    if size > WHOLE_MAX_BYTES:
        election_ns = _election_ns(plan)
        there = focus_of(said, None, (), faults=(), election_ns=election_ns, origin_ns=origin_ns)
        start_ns, end_ns = there.stretch_ns or (0, 0)
        around_ns = (origin_ns + start_ns - election_ns, origin_ns + end_ns + election_ns)
        evidence = {node: thinned(data, around_ns) for node, data in evidence.items()}
        notes.append(
            f"the nodes left {size >> 20} MB of evidence: away from {there.about} what repeats itself is"
            " drawn from a sample"
        )
    gathered = gather(evidence, nodes=plan.node_names if plan is not None else evidence)
    notes.extend(gathered.notes)
    return build(gathered.lines, origin_ns=origin_ns)
