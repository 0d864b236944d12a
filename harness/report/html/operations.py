"""Operations as bars: those of the proof large and named, those around it small, by the node asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from checker.values import shorten, show, tag
from harness.report.rows import rows_of

from .shapes import ROW, Bar, at, ms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from checker.operations import Operation
    from harness.report.focus import Focus
    from harness.report.load import RunData
    from harness.report.skim import Seen

    Placed = Callable[[int], Bar]

NAME_CHARS_MAX: Final = 60
TIP_CHARS_MAX: Final = 160
PROOF_MAX: Final = 40
CONTEXT_MAX: Final = 1_500
CONTEXT_ROWS: Final = 5
_HEIGHT: Final = 6
_WRITES: Final = frozenset({"write", "cas", "put", "append", "set", "delete", "add"})
_READ_PATHS: Final = frozenset({"lease", "readindex", "log", "follower"})


def proof_bars(focus: Focus, *, end_ns: int) -> Iterator[tuple[Placed, Operation]]:
    """Yield the proof's operations in the order of their calls, each with a bar that awaits its row."""
    order = sorted(focus.operations, key=lambda each: (each.call_ns, each.index))
    named = [each for each in (focus.newer, focus.offender) if each is not None]
    if len(order) > PROOF_MAX:
        rest = [each for each in order if each not in named]
        order = sorted([*named, *rest[: PROOF_MAX - len(named)]], key=lambda each: each.call_ns)
    for each in order:
        kind = "proof"
        if each == focus.offender:
            kind = "proof offender"
        elif each == focus.newer:
            kind = "proof newer"
        path = each.evidence.path if each.evidence is not None else None
        how = f" ({path})" if path is not None else ""
        ended = "nobody saw it end" if each.return_ns is None else f"returned {at(each.return_ns)}"
        what = f"process {each.process}: {each}{how} of key {show(each.key)}"
        tip = f"{what}, called {at(each.call_ns)}, {ended}"
        label = shorten(str(each), NAME_CHARS_MAX) + how

        def place(
            top: int, each: Operation = each, kind: str = kind, label: str = label, tip: str = tip
        ) -> Bar:
            open_ended = each.return_ns is None
            return Bar(
                start_ns=each.call_ns,
                end_ns=max(end_ns, each.call_ns) if each.return_ns is None else each.return_ns,
                y=top,
                height=ROW - 2,
                kind=f"{kind} open" if open_ended else kind,
                label=label,
                tip=shorten(tip, TIP_CHARS_MAX * 2),
                beside=not open_ended,
            )

        yield place, each


def context_bars(run: RunData, node: str) -> tuple[int, list[Placed]]:
    """Return how many rows a node's operations take, and a bar for each that awaits its row."""
    mine = [each for each in run.skimmed.kept if each.node == node]
    share = CONTEXT_MAX // max(1, len(run.nodes))
    if len(mine) > share:
        middle_ns = sum(run.focus.view_ns or (0, 0)) // 2
        mine = sorted(sorted(mine, key=lambda each: abs(each.call_ns - middle_ns))[:share], key=_call)
    keys = {_key(each.key) for each in run.focus.operations}
    names = {path: number for number, path in enumerate(run.paths)}
    gave_up_ns = run.election_ns // 10
    spans = [(each.call_ns, each.return_ns or each.call_ns + gave_up_ns) for each in mine]
    places = rows_of(spans, rows_max=CONTEXT_ROWS)
    bars = [
        _small(
            each,
            end_ns,
            row,
            tags=f"path-{names.get(each.path, 99)}" + " same-key" * (_key(each.key) in keys),
        )
        for each, (_, end_ns), row in zip(mine, spans, places, strict=True)
    ]
    return max(places, default=-1) + 1, bars


def _small(each: Seen, end_ns: int, row: int, *, tags: str) -> Placed:
    kind = each.path if each.path in _READ_PATHS else "writes" if each.f in _WRITES else "others"
    how = "" if each.path == each.f else f" ({each.path})"
    ended = (
        f"{each.outcome}, {ms(each.return_ns - each.call_ns)}"
        if each.return_ns is not None
        else "nobody knows"
    )
    error = f", {each.error}" if each.error else ""
    tip = f"p{each.process} {each}{how}, key {show(each.key)}: {at(each.call_ns)}, {ended}{error}"

    def place(top: int) -> Bar:
        return Bar(
            start_ns=each.call_ns,
            end_ns=end_ns,
            y=top + row * 7,
            height=_HEIGHT,
            kind=f"op {kind} {each.outcome}",
            tip=shorten(tip, TIP_CHARS_MAX),
            tags=tags,
        )

    return place


def _call(each: Seen) -> int:
    return each.call_ns


def _key(key: object) -> object:
    return tag(key)
