"""Histories of many tools, read into one shape, and written for others to check again.

A format is a module with four names: ``NAME``; ``CONVENTIONS``, what its tool means where tools
disagree; ``sniff(head)``, whether a file looks like it; ``rows(source)``, its events with their lines.
Those that can be written too have ``write(history)``, and ``unsaid(history)``: what they cannot say.

For the command line: ``lantern check`` is `read` and then `checker.check`; ``lantern convert`` is
`read`, then `unsaid` and `write`. They raise `MalformedHistory`, with file, line and sentence (exit 5),
and ValueError for the name of a format that is none, or that cannot be written (exit 2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from checker.errors import MalformedHistory
from checker.events import EventType, Header
from checker.formats import edn, elle_json, jepsen_log, jsonl, limo, porcupine_kv
from checker.formats.source import Source
from checker.pairing import Line, pair

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

    from checker.events import Event
    from checker.operations import History

_MODULES: Final[tuple[ModuleType, ...]] = (jepsen_log, limo, porcupine_kv, edn, elle_json, jsonl)
FORMATS: Final[dict[str, ModuleType]] = {module.NAME: module for module in _MODULES}
WRITABLE: Final = tuple(name for name, module in FORMATS.items() if hasattr(module, "write"))
_HEAD_BYTES: Final = 4096
_GZIP: Final = b"\x1f\x8b"


def detect(data: bytes) -> str:
    """Return the name of the format ``data`` is in; JSON lines where nothing else fits."""
    head = bytes(data[:_HEAD_BYTES])
    return next((name for name, module in FORMATS.items() if module.sniff(head)), jsonl.NAME)


def read(data: bytes, *, name: str, format: str = "auto", lenient: bool = False) -> History:  # noqa: A002 - the option
    """Return the history in ``data``; ``name`` is what errors call it, usually its path.

    ``lenient`` skips lines that cannot be read, and notes it. Raises `MalformedHistory`, and ValueError
    for a format that is none.
    """
    chosen = detect(data) if format == "auto" else format
    module = FORMATS.get(chosen)
    if module is None:
        raise ValueError(f"format {format!r} is none of auto, {', '.join(FORMATS)}")
    if data[:2] == _GZIP:
        raise MalformedHistory("compressed with gzip; unpack it first", name=name)
    source = Source(data=data, name=name, lenient=lenient)
    try:
        rows = module.rows(source)
        carried = None if source.header is None else source.header.conventions
        history = pair(
            rows, name=name, format=chosen, conventions=carried or module.CONVENTIONS, source=source
        )
    except RecursionError:
        raise MalformedHistory("a value is nested too deeply", name=name) from None
    if source.refusal is not None and not history.events and source.header is None:
        raise source.refusal  # lenient with lines, not with what is no history at all
    return history


def from_events(
    events: Iterable[Event], *, name: str = "history", header: Header | None = None
) -> History:
    """Return the history of events that are in memory; lines are counted as in a file with a header."""
    source = Source(data=b"", name=name, header=header)
    carried = None if header is None else header.conventions
    return pair(
        ((line, _line(event)) for line, event in enumerate(events, 2)),
        name=name,
        format=jsonl.NAME,
        conventions=carried or jsonl.CONVENTIONS,
        source=source,
    )


def write(history: History, *, format: str = jsonl.NAME) -> bytes:  # noqa: A002 - the option
    """Return every line of ``history``, those of the nemesis too, in ``format``.

    JSON lines carry the conventions of the format that the history came from. EDN cannot: there a read
    of nil counts as unknown, and the order of the lines as the order of the stamps. Raises ValueError
    for a format that is not written.
    """
    written: bytes = _writable(format).write(history)
    return written


def unsaid(history: History, *, format: str = jsonl.NAME) -> tuple[str, ...]:  # noqa: A002 - the option
    """Return, a sentence each, what `write` loses of ``history`` because ``format`` cannot say it."""
    return tuple(_writable(format).unsaid(history))


def _writable(format: str) -> ModuleType:  # noqa: A002 - the option
    if format not in WRITABLE:
        raise ValueError(f"format {format!r} cannot be written, only {', '.join(WRITABLE)}")
    return FORMATS[format]


_WORDS: Final = {kind: kind.value for kind in EventType}
"""By kind and by word alike; asking the enumeration takes longer than all the rest of a line."""


def _line(event: Event) -> Line:
    return Line(
        process=event.process,
        type=_WORDS[event.type],
        f=event.f,
        key=event.key,
        value=event.value,
        index=event.index,
        time_ns=event.time_ns,
        node=event.node,
        error=event.error,
        evidence=event.evidence,
    )
