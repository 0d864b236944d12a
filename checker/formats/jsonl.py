r"""Our own format: one JSON object a line, the first of them a `Header`.

The recorder flushes line by line, so a power cut leaves a last line without its newline, or a tail of
NULs: what was complete is read and the loss is noted. Everything else that is no event is refused with
its line: half an object in the middle, a number that JSON does not know (NaN), a byte order mark,
``\r\n`` (a file that went through something that rewrites files).

Lines are decoded a block at a time, which is twice as fast as one by one; a block that does not decode
is read again line by line to find the culprit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from checker.conventions import Conventions, FailedCas
from checker.events import HISTORY_SCHEMA, Event, EventType, Header
from checker.operations import NEVER
from checker.pairing import Line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from checker.formats.source import Rows, Source
    from checker.operations import History, Operation

NAME: Final = "jsonl"
CONVENTIONS: Final = Conventions()
_BLOCK_BYTES: Final = 1 << 20
_BOM: Final = b"\xef\xbb\xbf"

_decoder: Final = msgspec.json.Decoder(Line)
_encoder: Final = msgspec.json.Encoder()


def sniff(head: bytes) -> bool:
    """Return whether a file that starts with ``head`` is of this format."""
    return head.lstrip(_BOM + b" \r\n\t")[:1] == b"{" and b'"' in head.split(b"\n", 1)[0]


def rows(source: Source) -> Rows:
    """Return the events of ``source`` with their lines; its header is read at once."""
    data = source.data
    if data[:3] == _BOM:
        source.refuse("a byte order mark: the file was re-encoded on its way here", 1)
        data = data[3:]
    end = _complete(source, data)
    return _events(source, data, end, *_header(source, data))


def _events(source: Source, data: bytes, end: int, at: int, line: int) -> Rows:
    """Yield the events from ``at``, which is on ``line``, to ``end``."""
    while at < end:
        stop = data.find(b"\n", min(at + _BLOCK_BYTES, end - 1)) + 1
        block = data[at : stop or end]
        at += len(block)
        try:
            events = _decoder.decode_lines(block)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            events = []
        if len(events) == block.count(b"\n") + (block[-1:] != b"\n") and b"\r" not in block:
            yield from enumerate(events, line)
            line += len(events)
        else:
            yield from _one_by_one(source, block, line)
            line += block.count(b"\n")


def write(history: Iterable[Event], header: Header | None = None) -> bytes:
    """Return ``history`` in this format."""
    told = header or Header()
    first = {"schema": told.schema, "kind": told.kind, **msgspec.to_builtins(told)}
    lines = [_encoder.encode(first), *map(_encoder.encode, history)]
    return b"\n".join(lines) + b"\n"


def _complete(source: Source, data: bytes) -> int:
    """Return where the complete lines end, and note what is lost behind them."""
    end = len(data.rstrip(b"\0"))
    if end < len(data):
        source.notes.append(f"{len(data) - end} NUL bytes at the end: the file was cut short by a crash")
    last = data.rfind(b"\n", 0, end) + 1
    if last < end and data[last:end].strip():
        try:
            msgspec.json.decode(data[last:end])
        except (msgspec.MsgspecError, UnicodeDecodeError):
            source.notes.append("the last line is torn and was left out: 1 event lost")
            return last
    return end


def _header(source: Source, data: bytes) -> tuple[int, int]:
    """Read the header, if there is one; return where the events start and on which line."""
    stop = data.find(b"\n") + 1 or len(data)
    if b'"schema"' not in data[:stop]:
        return 0, 1
    try:
        header = msgspec.json.decode(data[:stop], type=dict[str, Any])
    except msgspec.MsgspecError as error:
        source.refuse(f"the header is no JSON object ({error})", 1)
        return stop, 2
    if "process" in header:
        return 0, 1
    if header.get("schema") != HISTORY_SCHEMA:
        source.refuse(f"schema {header.get('schema')!r} is not known here, only {HISTORY_SCHEMA}", None)
    if header.get("kind", Header().kind) != Header().kind:
        source.refuse(f"this is a {header['kind']!r} file, not a history", None)
    try:
        source.header = msgspec.convert(header, Header)
    except msgspec.ValidationError as error:
        source.refuse(f"the header does not fit ({error})", 1)
    return stop, 2


def _one_by_one(source: Source, block: bytes, line: int) -> Rows:
    """Yield what can be read of a block with something wrong in it."""
    for number, text in enumerate(block.split(b"\n"), line):
        if not text.strip():
            continue
        if text.endswith(b"\r") and not source.lenient:
            source.refuse(
                "the line ends in a carriage return: the file was rewritten on its way here", number
            )
        try:
            event = _decoder.decode(text)
        except UnicodeDecodeError:
            source.refuse("not UTF-8", number)
        except msgspec.ValidationError as error:
            source.refuse(f"not an event ({error})", number)
        except msgspec.DecodeError as error:
            source.refuse(f"not JSON ({error})", number)
        else:
            yield number, event


def events(history: History) -> Iterable[Event]:
    """Yield the events a history was made of, client operations only, in their order."""
    marks = sorted([(at, i, 0) for i, at in enumerate(history.call_at)] + _returns(history))
    for index, (_, i, ended) in enumerate(marks):
        operation = history[i]
        outcome = operation.outcome
        yield Event(
            index=index,
            time_ns=(history.return_ns if ended else history.call_ns)[i],
            process=operation.process,
            type=outcome if ended else type(outcome).INVOKE,
            f=operation.f,
            key=operation.key,
            value=operation.value,
            node=operation.node,
            error=_error(history, operation) if ended else None,
            evidence=operation.evidence if ended else None,
        )


def _error(history: History, operation: Operation) -> str | None:
    """Return the code of an end; a bare failed cas that asserts gets the code that says so."""
    asserts = history.conventions.bare_failed_cas is FailedCas.ASSERT
    if (
        operation.f == "cas"
        and operation.outcome is EventType.FAIL
        and operation.error is None
        and asserts
    ):
        return "MISMATCH"
    return operation.error


def _returns(history: History) -> list[tuple[int, int, int]]:
    ends = history.return_at
    return [(at, i, 1) for i, at in enumerate(ends) if at != NEVER]
