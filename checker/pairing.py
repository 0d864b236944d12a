"""From lines to intervals, and everything that can be wrong with lines.

A history is *well formed* when every completion ends the one open operation of its process, no
process opens a second one, none is heard of again after an `info`, no index comes twice and no stamp
is smaller than the one before. Anything else is a broken recording, and a verdict about a broken
recording would be a lie: `MalformedHistory` names the line. Nothing is mended silently.

What is no fault: gaps in `index`; equal stamps; an invocation without a completion (it is `info`);
a process that is a string.

The value of an operation is that of its completion where it succeeded and said one. A completion
without a value leaves the invocation's, except for functions that only look: there nil was seen.
"""

from __future__ import annotations

from array import array
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from checker.conventions import Conventions
from checker.errors import MalformedHistory
from checker.events import MISMATCH, NEMESIS, EventType, Header, Served
from checker.operations import NEVER, History, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

LOOKING: Final = frozenset(
    {
        "read",
        "get",
        "pop",
        "deq",
        "dequeue",
        "len",
        "size",
        "peek",
        "top",
        "contains",
        "get-all",
        "get-any",
    }
)
_WRITING: Final = frozenset({"write", "put", "cas", "append", "add", "enqueue", "enq", "push", "insert"})
_KINDS_MAX: Final = 256
_NESTED: Final = frozenset({list, tuple, dict, set, frozenset})
_DEPTH_MAX: Final = 200
"""How deep a value may be nested: what compares and shows values follows them down, a call a level."""
_ENDINGS: Final = frozenset({"ok", "fail", "info"})


class Context(Protocol):
    """What is known of a file only after its last line."""

    header: Header | None

    def all_notes(self) -> tuple[str, ...]:
        """Return what a reader of the verdict must know of the file."""
        ...


class Line(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An event as a file may hold it: what `Event` says, with fewer certainties.

    ``time`` is what Jepsen and others call the stamp.
    """

    index: int | None = None
    time_ns: int | None = None
    time: int | None = None
    process: int | str
    type: str
    f: str
    key: Any = None
    value: Any = None
    node: str | None = None
    error: Any = None
    evidence: Served | None = None


def pair(  # noqa: C901, PLR0912, PLR0915 - one loop over millions of lines: calls double its time
    rows: Iterable[tuple[int, Line]],
    *,
    name: str,
    format: str = "jsonl",  # noqa: A002 - the word of the command line
    conventions: Conventions | None = None,
    source: Context | None = None,
) -> History:
    """Return the operations of ``rows``, pairs of a line number (from 1) and an event.

    ``source`` is asked for header and notes once ``rows`` is consumed. Raises `MalformedHistory`.
    """
    conventions = conventions or Conventions()
    what = bytearray()
    kinds: dict[tuple[str, str, str | None], int] = {}
    keys: list[Any] = []
    values: list[Any] = []
    processes: list[int | str] = []
    nodes: list[str | None] = []
    errors: dict[int, str] = {}
    evidence: dict[int, Served] = {}
    given_up: dict[int, tuple[int, int]] = {}
    nemesis: list[tuple[int, Line]] = []
    call_at, return_at, call_ns, return_ns = array("q"), array("q"), array("q"), array("q")
    lines = array("i")
    open_operation: dict[int | str, int] = {}
    retired: set[int | str] = set()
    nemesis_functions: dict[str, int] = {}
    invoked: dict[str, int] = {}
    succeeded: dict[str, int] = {}
    changed: list[int] = []
    last_index, last_ns = -1, -NEVER
    stamped: bool | None = None
    at = -1

    def malformed(sentence: str, line: int) -> MalformedHistory:
        return MalformedHistory(sentence, name=name, line=line)

    def kind_of(f: str, outcome: str, error: str | None, line: int) -> int:
        told = error if error is None or outcome != "fail" else MISMATCH if error == MISMATCH else ""
        number = kinds.setdefault((f, outcome, told if outcome == "fail" else None), len(kinds))
        if number >= _KINDS_MAX:
            raise malformed(f"more than {_KINDS_MAX} kinds of operation; '{f}' is one too many", line)
        return number

    for line, event in rows:
        at += 1
        lines.append(line)
        if (
            type(event.value) in _NESTED or type(event.key) in _NESTED or type(event.error) in _NESTED
        ) and _too_deep([event.value, event.key, event.error]):
            raise malformed(f"a value is nested too deeply: more than {_DEPTH_MAX} levels", line)
        index = event.index
        if index is not None:
            if index <= last_index:
                if index < 0:
                    raise malformed(f"index {index} is none: the first is 0", line)
                raise malformed(
                    f"index {index} after index {last_index}: an index is used once and only grows",
                    line,
                )
            last_index = index
        time_ns = event.time_ns if event.time_ns is not None else event.time
        if stamped is None:
            stamped = time_ns is not None
        elif stamped is not (time_ns is not None):
            if conventions.order_by_stamp:
                raise malformed("some lines carry a stamp and some do not", line)
            stamped = False
        if time_ns is None:
            time_ns = at
        elif not -NEVER < time_ns < NEVER:
            raise malformed(f"time {time_ns} is no stamp: 62 bits hold a hundred years of ns", line)
        elif conventions.order_by_stamp:
            if time_ns < last_ns:
                raise malformed(
                    f"time {time_ns} is before the line above ({last_ns}): stamps never decrease", line
                )
            last_ns = time_ns

        process = event.process
        if process == NEMESIS:
            nemesis_functions.setdefault(event.f, line)
            event.time_ns = time_ns
            nemesis.append((at, event))
            continue
        kind = event.type
        if kind == "invoke":
            if process in open_operation:
                was = lines[call_at[open_operation[process]]]
                raise malformed(
                    f"process {process} invokes again, its call of line {was} still open", line
                )
            if process in retired:
                raise malformed(
                    f"process {process} acts again after an unknown end (info) retired it", line
                )
            number = len(what)
            open_operation[process] = number
            f = event.f
            code = invoked.get(f)
            if code is None:
                code = invoked[f] = kind_of(f, "info", None, line)
            what.append(code)
            keys.append(event.key)
            values.append(event.value)
            processes.append(process)
            nodes.append(event.node)
            call_at.append(at)
            call_ns.append(time_ns)
            return_at.append(NEVER)
            return_ns.append(NEVER)
            continue
        if kind not in _ENDINGS:
            raise malformed(f"type '{kind}' is none of invoke, ok, fail, info", line)
        found = open_operation.pop(process, None)
        if found is None:
            raise malformed(f"process {process} completes ({kind}) what it never invoked", line)
        error = None if event.error is None else str(event.error)
        f = event.f
        code = succeeded.get(f) if kind == "ok" else kind_of(f, kind, error, line)
        if code is None:
            code = succeeded[f] = kind_of(f, kind, None, line)
        started = what[found]
        what[found] = code
        if invoked.get(f) != started:
            was = lines[call_at[found]]
            raise malformed(
                f"process {process} completes '{f}', but line {was} invoked something else", line
            )
        if event.key is not None and event.key != keys[found]:
            raise malformed(
                f"process {process} completes on key {event.key!r}, invoked on {keys[found]!r}", line
            )
        if error is not None:
            errors[found] = error
        if event.node is not None:
            nodes[found] = event.node
        if kind == "info":
            retired.add(process)
            given_up[found] = (at, time_ns)
            continue
        return_at[found] = at
        return_ns[found] = time_ns
        if kind == "ok":
            if event.value is not None or f in LOOKING:
                if f in _WRITING and event.value != values[found] and values[found] is not None:
                    changed.append(line)
                values[found] = event.value
            if event.evidence is not None:
                evidence[found] = event.evidence

    for f, line in nemesis_functions.items():
        if f in invoked:
            raise malformed(
                f"process {NEMESIS} performs '{f}', as clients do: the name is reserved", line
            )
    return History(
        name=name,
        format=format,
        conventions=conventions,
        header=None if source is None else source.header,
        events=at + 1,
        stamped=bool(stamped),
        kinds=[Kind(f, EventType(outcome), error) for f, outcome, error in kinds],
        what=what,
        key=keys,
        value=values,
        process=processes,
        call_at=call_at,
        return_at=return_at,
        call_ns=call_ns,
        return_ns=return_ns,
        lines=lines,
        node=nodes,
        error=errors,
        evidence=evidence,
        given_up=given_up,
        nemesis=nemesis,
        notes=(*(() if source is None else source.all_notes()), *_changed(changed)),
    )


def _too_deep(level: list[Any]) -> bool:
    """Return whether some of these values hold more levels of collections than anything here follows."""
    for _ in range(_DEPTH_MAX):
        level = [
            inner
            for each in level
            if type(each) in _NESTED
            for inner in (chain(each, each.values()) if type(each) is dict else each)
        ]
    return not _NESTED.isdisjoint(map(type, level))


def _changed(lines: list[int]) -> Iterable[str]:
    if lines:
        who = (
            f"line {lines[0]} says"
            if len(lines) == 1
            else f"line {lines[0]} and {len(lines) - 1} others say"
        )
        yield f"the completion on {who} another value than the invocation: what completed counts"
