r"""Our own format: one JSON object a line, the first of them a header.

The recorder flushes line by line, so a power cut leaves a last line without its newline, or a tail of
NULs: what was complete is read and the loss is noted. Everything else that is no event is refused with
its line: half an object in the middle, a number that JSON does not know (NaN), a byte order mark,
``\r\n`` (a file that went through something that rewrites files), one field twice (readers differ in
which of the two they take, so nobody knows what was said).

Lines are decoded a block at a time, which is twice as fast as one by one; a block that does not decode
is read again line by line to find the culprit.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from checker.conventions import Conventions
from checker.errors import MalformedHistory
from checker.events import HISTORY_SCHEMA, Header
from checker.formats import telling
from checker.pairing import Line
from checker.values import show

if TYPE_CHECKING:
    from collections.abc import Iterable

    from checker.formats.source import Rows, Source
    from checker.operations import History

NAME: Final = "jsonl"
CONVENTIONS: Final = Conventions()
_BLOCK_BYTES: Final = 1 << 20
_NESTED: Final = frozenset({list, tuple, dict})
_LONE: Final = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])")
_TWICE: Final = re.compile(
    rb'"(%s)"\s*:[^\n]*"\1"\s*:' % "|".join(Line.__struct_fields__).encode(), re.ASCII
)
"""A line with a field twice, or with one that its value has, too; in a string quotes are escaped."""

_BOM: Final = b"\xef\xbb\xbf"


class _Exact(Line, forbid_unknown_fields=True):
    """A line all of whose fields are known."""


_exact: Final = msgspec.json.Decoder(_Exact)
_decoder: Final = msgspec.json.Decoder(Line)
_raw: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_encoder: Final = msgspec.json.Encoder()


def sniff(head: bytes) -> bool:
    """Return whether a file that starts with ``head`` is of this format."""
    return head.lstrip(_BOM + b" \r\n\t")[:1] == b"{" and b'"' in head.split(b"\n", 1)[0]


def rows(source: Source) -> Rows:
    """Return the events of ``source`` with their lines; its header is read at once."""
    data = source.data
    if data[:3] == _BOM:
        sentence = "a byte order mark: the file was re-encoded on its way here"
        if not source.lenient:
            source.refuse(sentence, 1)
        source.notes.append(f"{sentence} (lenient: it was passed over)")
        data = data[3:]
    end = _complete(source, data)
    return _events(source, data, end, *_header(source, data))


def _events(source: Source, data: bytes, end: int, at: int, line: int) -> Rows:
    """Yield the events from ``at``, which is on ``line``, to ``end``."""
    decoder: msgspec.json.Decoder[_Exact] | msgspec.json.Decoder[Line] = _exact
    while at < end:
        stop = data.find(b"\n", min(at + _BLOCK_BYTES, end - 1)) + 1
        block = data[at : stop or end]
        at += len(block)
        events = _decoded(decoder, block)
        if events is None and decoder is _exact:
            events = _decoded(_decoder, block)
            unknown = [] if events is None else _unknown(block)
            if unknown:  # said once: the blocks that follow are not asked again
                names = ", ".join(map(show, unknown[:5]))
                source.notes.append(f"fields that mean nothing here and were passed over: {names}")
                decoder = _decoder
        if (
            events is not None
            and len(events) == block.count(b"\n") + (block[-1:] != b"\n")
            and b"\r" not in block
            and not (_may_have_twice(block) and any(map(_twice, block.split(b"\n"))))
        ):
            yield from enumerate(events, line)
            line += len(events)
        else:
            yield from _one_by_one(source, block, line)
            line += block.count(b"\n")


def _decoded(decoder: msgspec.json.Decoder[Any], block: bytes) -> list[Any] | None:
    try:
        lines: list[Any] = decoder.decode_lines(block)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return lines


def _may_have_twice(block: bytes) -> bool:
    """Return whether some line of a block may have a field twice: quicker than to ask each line.

    There are as many colons behind quotes as fields, if none is twice and none holds more of them.
    """
    lines = _decoded(_raw, block) if b" :" not in block and b"\t:" not in block else None
    if lines is not None:
        within = sum(bytes(line["evidence"]).count(b'":') for line in lines if "evidence" in line)
        if block.count(b'":') == sum(map(len, lines)) + within:
            return False
    return bool(_TWICE.search(block))


def _twice(text: bytes) -> str | None:
    """Return the field that a line has twice, if there is one."""
    if not _TWICE.search(text):
        return None
    names: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> None:  # called for the line last, after what is in it
        names[:] = [name for name, _ in pairs]

    try:
        json.loads(text, object_pairs_hook=note)
    except (ValueError, RecursionError):
        return None  # no JSON; that is said of it
    return next((name for name in Line.__struct_fields__ if names.count(name) > 1), None)


def _unknown(block: bytes) -> list[str]:
    """Return the fields of a block that no line has."""
    lines = _decoded(_raw, block)
    if lines is None:
        return ["one that is not UTF-8"]
    return sorted({name for line in lines for name in line}.difference(Line.__struct_fields__))


def write(history: History) -> bytes:
    """Return ``history`` in this format; its header carries the conventions that it came with."""
    told = history.header or Header()
    carried = None if history.conventions == CONVENTIONS else history.conventions
    header = Header(run=told.run, origin_ns=told.origin_ns, model=told.model, conventions=carried)
    first = {"schema": header.schema, "kind": header.kind, **msgspec.to_builtins(header)}
    lines = [_encoder.encode(first), *map(_encoded, telling.lines(history))]
    return b"\n".join(lines) + b"\n"


def unsaid(history: History) -> Iterable[str]:
    """Yield what this format cannot say of ``history``."""
    columns = (history.key, history.value)
    maps = sum(map(_odd_maps, (each for column in columns for each in column if type(each) in _NESTED)))
    if maps:
        yield f"JSON makes text of the keys of {maps} maps, which were other values"


def _odd_maps(value: Any) -> int:
    """Return the count of maps in ``value`` with a key that is not text."""
    match value:
        case list() | tuple():
            return sum(map(_odd_maps, value))
        case dict():
            return any(not isinstance(key, str) for key in value) + sum(map(_odd_maps, value.values()))
        case _:
            return 0


def _encoded(line: Line) -> bytes:
    try:
        return _encoder.encode(line)
    except TypeError:  # EDN may have any key in a map, JSON text
        return _encoder.encode(
            msgspec.structs.replace(line, key=_json(line.key), value=_json(line.value))
        )


def _json(value: Any) -> Any:
    """Return ``value`` with text for every key of a map."""
    match value:
        case list() | tuple():
            return [_json(each) for each in value]
        case dict():
            return {
                key if isinstance(key, str) else show(key): _json(each) for key, each in value.items()
            }
        case _:
            return value


def _complete(source: Source, data: bytes) -> int:
    """Return where the complete lines end, and note what is lost behind them."""
    end = len(data.rstrip(b"\0"))
    if end < len(data):
        source.notes.append("NUL bytes at the end: the file was cut short by a crash")
    last = data.rfind(b"\n", 0, end) + 1
    if last < end and data[last:end].strip():
        try:
            msgspec.json.decode(data[last:end])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            if data[last:end].lstrip()[:1] != b"{":  # no crash leaves that: a line begins with a brace
                return end
            if b"\r" in data[last:end].rstrip(b"\r"):
                return end  # the line ends of another system, not a crash
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
        sentence = f"schema {header.get('schema')!r} is not known here, only {HISTORY_SCHEMA}"
        raise MalformedHistory(sentence, name=source.name, line=1)  # lenient or not
    if header.get("kind", Header().kind) != Header().kind:
        sentence = f"this is a {header['kind']!r} file, not a history"
        raise MalformedHistory(sentence, name=source.name, line=1)
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
        twice = _twice(text)
        if twice is not None:
            source.refuse(f"'{twice}' is there twice", number)
            continue
        try:
            event = _decoder.decode(text)
        except UnicodeDecodeError:
            source.refuse("not UTF-8", number)
        except RecursionError:
            source.refuse("a value is nested too deeply", number)
        except msgspec.ValidationError as error:
            source.refuse(f"not an event ({error})", number)
        except msgspec.DecodeError as error:
            half = "truncated" in str(error) and _LONE.search(text)
            source.refuse(f"not JSON ({'half of a surrogate pair' if half else error})", number)
        else:
            yield number, event
