"""A tiny run, by hand: the evidence of a stale read, in milliseconds, and what is drawn of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from checker.evidence import (
    Booted,
    Checked,
    EvidenceLine,
    Fact,
    OwnClock,
    Promised,
    Revoked,
    RoleChanged,
    TermChanged,
    Voted,
)
from checker.timeline import Timelines, build
from harness.outcome import Outcome
from harness.report.bands import bands_of
from harness.report.focus import focus_of
from harness.report.load import RunData
from harness.report.locks import locks_of
from harness.report.marks import marks_of
from harness.report.saved import told
from harness.report.skim import skim
from nemesis.faults import Pause, Standing
from nemesis.machine.record import Injected

if TYPE_CHECKING:
    from collections.abc import Iterable

MS = 1_000_000
MONOTONIC = OwnClock.MONOTONIC


def line(node: str, at_ms: float, what: Fact, *, rate: float = 1.0) -> EvidenceLine:
    """Return a line of a node whose monotonic clock runs at ``rate``, and began at 0."""
    at = round(at_ms * MS)
    return EvidenceLine(node, round(at_ms * MS * rate), at, (at, at), what)


def granted(at_ms: float, until_ms: float, *, term: int) -> Checked:
    return Checked(term, True, MONOTONIC, round(at_ms * MS), round(until_ms * MS))


def vote(term: int, candidate: str, *, bound_ms: float = 0) -> Voted:
    return Voted(term, candidate, False, True, None, bound_until_ns=round(bound_ms * MS))


STALE: tuple[EvidenceLine, ...] = (
    line("n1", 0, Booted(1, 0)),
    line("n1", 10, TermChanged(1)),
    line("n1", 10, vote(1, "n1")),
    line("n1", 12, RoleChanged(1, "leader")),
    line("n1", 20, granted(20, 100, term=1)),
    line("n1", 60, granted(60, 140, term=1)),
    line("n1", 130, granted(130, 140, term=1)),
    line("n1", 150, Revoked(1, "step-down")),
    line("n1", 150, TermChanged(2)),
    line("n1", 150, RoleChanged(2, "follower")),
    line("n1", 170, Promised(2, "n2", 1, 250 * MS)),
    line("n2", 0, Booted(1, 0), rate=2),
    line("n2", 11, vote(1, "n1"), rate=2),
    line("n2", 20, Promised(1, "n1", 1, 240 * MS), rate=2),
    line("n2", 70, Promised(1, "n1", 2, 340 * MS), rate=2),
    line("n2", 80, TermChanged(2), rate=2),
    line("n2", 80, vote(2, "n2", bound_ms=340), rate=2),
    line("n2", 82, RoleChanged(2, "leader"), rate=2),
    line("n2", 90, granted(180, 400, term=2), rate=2),
    line("n2", 180, granted(360, 500, term=2), rate=2),
)

PAUSED = Injected(
    id=1,
    episode="storm",
    repetition=1,
    step="freeze",
    fault=Pause(("n1",)),
    roles={"n1": "leader"},
    asked_ns=75 * MS,
    standing=Standing.INSTALLED,
    installed_ns=75 * MS,
    healed_ns=120 * MS,
)


def event(index: int, at_ms: float, process: int, kind: str, f: str, value: Any, **more: Any) -> bytes:
    told = {"index": index, "time_ns": round(at_ms * MS), "process": process, "type": kind, "f": f}
    return _json({**told, "key": "x", "value": value, **more})


def _json(value: Any) -> bytes:
    import msgspec

    return bytes(msgspec.json.encode(value)) + b"\n"


EVENTS = (
    b'{"schema":1,"kind":"lantern-history","run":"drawn"}\n',
    event(0, 30, 0, "invoke", "write", 1, node="n1"),
    event(1, 32, 0, "ok", "write", 1, node="n1", evidence={"term": 1}),
    event(2, 95, 1, "invoke", "write", 2, node="n2"),
    event(3, 100, 1, "ok", "write", 2, node="n2", evidence={"term": 2}),
    event(4, 110, 3, "invoke", "write", 3, node="n2"),
    event(5, 126, 2, "invoke", "read", None, node="n1"),
    event(6, 131, 2, "ok", "read", 1, node="n1", evidence={"path": "lease", "term": 1}),
    event(7, 160, 3, "info", "write", 3, node="n2", error="TIMEOUT"),
)


def operation(
    index: int, process: int, f: str, value: Any, at_ms: tuple[float, float], node: str, **told: Any
) -> dict[str, Any]:
    call_ns, return_ns = (round(ms * MS) for ms in at_ms)
    return {
        "index": index, "process": process, "f": f, "key": "x", "value": value, "outcome": "ok",
        "call_ns": call_ns, "return_ns": return_ns, "call_line": index + 2, "return_line": index + 3,
        "node": node, "evidence": told,
    }  # fmt: skip


VERDICT: dict[str, Any] = {
    "outcome": "violation",
    "reason": "not linearizable: key x: 2 ended before read -> 1 began",
    "operations": 4,
    "violation": {
        "kind": "history",
        "key": "x",
        "sentence": "2 ended before read -> 1 began",
        "operations": [
            operation(0, 0, "write", 1, (30, 32), "n1", term=1),
            operation(1, 1, "write", 2, (95, 100), "n2", term=2),
            operation(3, 2, "read", 1, (126, 131), "n1", term=1, path="lease"),
        ],
        "staleness": {"stale_ns": 26 * MS, "versions": 1},
    },
    "convictions": [
        {"certainty": "certain", "sentence": "n2 voted", "rules": ["F3"], "looks_like": ["a-mistake"]}
    ],
}


def timelines(lines: Iterable[EvidenceLine] = STALE, *, origin_ns: int = 0) -> Timelines:
    return build(lines, origin_ns=origin_ns)


def drawn(verdict: dict[str, Any] | None = None) -> RunData:
    """Return the tiny run as a report takes it."""
    said = told({**VERDICT, **(verdict or {})}, name="drawn")
    lines = timelines()
    bands = bands_of(lines)
    focus = focus_of(said, lines, bands, faults=(), election_ns=100 * MS, origin_ns=0)
    return RunData(
        name="drawn", directory="drawn", plan=None, said=said, believed=False, check="",
        skimmed=skim(EVENTS, focus.stretch_ns), timelines=lines, bands=bands,
        marks=marks_of(lines, bands), locks=locks_of(lines), faults=(PAUSED,), focus=focus, notes=(),
    )  # fmt: skip


assert Outcome(VERDICT["outcome"]) is Outcome.VIOLATION
