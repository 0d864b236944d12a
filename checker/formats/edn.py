"""Histories of Jepsen and Knossos: EDN maps, in a vector, in a list, or one after another.

    {:process 0, :type :invoke, :f :write, :value 1}

A small reader of EDN lives here too: keywords become strings, sets sorted lists, tagged literals what is
tagged (a record of ``#jepsen.history.Op{...}`` is a map). A process is a number, or a keyword or string.

Conventions of these tools: the order of the lines counts, and ``:time`` is only shown (Jepsen's stamps
may run backwards between threads); a read of nil is one whose value nobody recorded; a failed operation
did not happen, and that is all it says, a failed cas included.

Jepsen's independent keys are tuples ``[key value]``, printed as any vector. What tells them apart is how
the first read begins: a register's has nothing to say yet, one of a key says ``[key nil]``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from checker.conventions import Conventions, NilRead
from checker.events import NEMESIS
from checker.formats import telling
from checker.pairing import Line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from checker.formats.source import Rows, Source
    from checker.operations import History

NAME: Final = "edn"
CONVENTIONS: Final = Conventions(nil_read=NilRead.WILDCARD, order_by_stamp=False)

_TOKEN: Final = re.compile(
    r"""[\s,]+ | ;[^\n]*
    | (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<discard>\#_) | (?P<set>\#\{) | (?P<tag>\#[^\s,()\[\]{}"]+)
    | (?P<open>[(\[{]) | (?P<close>[)\]}])
    | (?P<char>\\(?:newline|space|tab|return|u[0-9a-fA-F]{4}|.))
    | (?P<atom>[^\s,()\[\]{}"\#\\;][^\s,()\[\]{}";]*)""",
    re.VERBOSE | re.DOTALL,
)
_CLOSES: Final = {"(": ")", "[": "]", "{": "}", "#{": "}"}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CHARS: Final = {"newline": "\n", "space": " ", "tab": "\t", "return": "\r"}
_WHOLE: Final = re.compile(r"[+-]?\d+N?")
_NUMBER: Final = re.compile(r"[+-]?\d")
_TUPLE: Final = "tuple [key value]"


class EdnError(ValueError):
    """Not EDN, at ``offset`` characters into the text."""

    def __init__(self, sentence: str, offset: int) -> None:
        self.sentence = sentence
        self.offset = offset
        super().__init__(sentence)


def sniff(head: bytes) -> bool:
    """Return whether a file that starts with ``head`` is of this format."""
    return head.strip() == b"[]" or (
        re.search(rb"\{\s*:[a-z-]+\s", head) is not None and b":type" in head
    )


def rows(source: Source) -> Rows:
    """Return the events of ``source`` with their lines."""
    text = source.data.decode("utf-8", "replace")
    breaks = [found.start() for found in re.finditer("\n", text)]
    try:
        events = (event for form in forms(text) for event in _flat(*form))
        head, keyed = _until_a_read(events)
        keys: dict[int | str, Any] | None = {} if keyed else None
        if keyed:
            source.notes.append(f"the first read names a key: each value is taken for a {_TUPLE}")
        for at, event in chain(head, events):
            line = bisect_right(breaks, at) + 1
            try:
                found = _line(event, source, line, keys)
            except RecursionError:
                source.refuse("a value is nested too deeply", line)
                continue
            if found is not None:
                yield line, found
    except EdnError as error:
        line = bisect_right(breaks, error.offset) + 1
        source.refuse(f"not EDN ({error.sentence})", line)


def write(history: History) -> bytes:
    """Return ``history`` in this format: a vector of maps, one a line, as Jepsen writes them.

    An operation on a key becomes one on the tuple ``[key value]``, which is how Jepsen's independent
    keys look, and says ``:independent true``, so that it can be told from a value that is a pair.
    """
    maps = map(_map, telling.lines(history, by_order=True))
    return f"[{(chr(10) + ' ').join(maps)}]\n".encode()


def unsaid(history: History) -> Iterator[str]:
    """Yield what this format cannot say of ``history``."""
    return telling.unsaid_by_order(history)


def forms(  # noqa: C901 - one case a token
    text: str,
) -> Iterator[tuple[int, Any]]:
    """Yield the top-level forms of ``text`` with their offsets; raises `EdnError`.

    Maps become `Form`s, so that an event knows its place.
    """
    stack: list[tuple[str, int, list[Any]]] = []
    discards: list[int] = []
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise EdnError(f"nothing begins with {text[at]!r}", at)
        start, at = at, found.end()
        kind, token = found.lastgroup, found.group()
        if kind is None or kind == "tag":
            continue
        if kind in {"open", "set"}:
            stack.append((token, start, []))
            continue
        if kind == "discard":
            discards.append(len(stack))
            continue
        if kind == "close":
            if not stack or _CLOSES[stack[-1][0]] != token:
                raise EdnError(f"'{token}' closes nothing", start)
            opened, start, items = stack.pop()
            value = _collection(opened, start, items)
        else:
            value = _scalar(kind, token, start)
        if discards and discards[-1] == len(stack):
            discards.pop()
        elif stack:
            stack[-1][2].append(value)
        else:
            yield start, value
    if stack:
        raise EdnError(f"'{stack[-1][0]}' is never closed", stack[-1][1])


class Form(dict[Any, Any]):
    """A map, and where it stood."""

    offset = 0


def _collection(opened: str, start: int, items: list[Any]) -> Any:
    if opened == "#{":
        return sorted(items, key=repr)
    if opened != "{":
        return items
    if len(items) % 2:
        raise EdnError("a map with a key that has no value", start)
    names = (repr(key) if isinstance(key, list | dict) else key for key in items[::2])
    form = Form(zip(names, items[1::2], strict=True))
    form.offset = start
    return form


def _scalar(kind: str, token: str, start: int) -> Any:
    if kind == "string":
        return _ESCAPE.sub(lambda found: _unescape(found[1]), token[1:-1])
    if kind == "char":
        named = _CHARS.get(token[1:])
        return named or (token[1] if len(token) == 2 else _unescape(token[1:]))
    if token in {"nil", "true", "false"}:
        return {"nil": None, "true": True, "false": False}[token]
    if not _NUMBER.match(token):
        return token.removeprefix(":")
    try:
        if _WHOLE.fullmatch(token):
            return int(token.removesuffix("N"))
        return float(token.removesuffix("M"))
    except ValueError:
        raise EdnError(f"'{token[:40]}' is no number", start) from None


def _unescape(code: str) -> str:
    if len(code) == 1:
        return _ESCAPES.get(code, code)
    return bytes.fromhex(code[1:]).decode("utf-16-be", "replace")


def _flat(offset: int, form: Any) -> Iterator[tuple[int, Any]]:
    """Yield the events of a top-level form: itself, or those in it."""
    if isinstance(form, list):
        for each in form:
            yield getattr(each, "offset", offset), each
    else:
        yield offset, form


def _until_a_read(events: Iterator[tuple[int, Any]]) -> tuple[list[tuple[int, Any]], bool]:
    """Take events up to the first call of a read, and return whether it is one of a key."""
    head = []
    for at, event in events:
        head.append((at, event))
        if not isinstance(event, dict) or event.get("process") == NEMESIS:
            continue
        if event.get("type") == "invoke" and event.get("f") == "read":
            match event.get("value"):
                case [str() | int(), None] if event.get("key") is None:
                    return head, event.get("independent") is not True
            break
    return head, False


def _line(form: Any, source: Source, line: int, keys: dict[int | str, Any] | None) -> Line | None:
    """Return the event that a map is; None if it was refused and skipped.

    ``keys`` has the key of each process's latest operation, where values are tuples.
    """
    if not isinstance(form, dict):
        source.refuse("not a map", line)
        return None
    process, kind, f = form.get("process"), form.get("type"), form.get("f")
    if not isinstance(process, int | str) or isinstance(process, bool):
        source.refuse(":process is missing, or neither a number nor a name", line)
        return None
    if not isinstance(kind, str) or not isinstance(f, str):
        source.refuse(":type and :f are needed", line)
        return None
    index, time = form.get("index"), form.get("time")
    key, value = form.get("key"), _plain(form.get("value"))
    if key is None and process != NEMESIS and (keys is not None or form.get("independent") is True):
        of_call = None if keys is None or kind == "invoke" else keys.get(process)
        match value:
            case [named, said] if of_call is None or named == of_call:
                key, value = named, said
            case _ if of_call is not None:  # what was seen, or why nothing was, without its key
                key = of_call
            case _:
                why = "though :independent is true" if keys is None else "as that of the first read is"
                source.refuse(f":value is no {_TUPLE}, {why}", line)
                return None
        if keys is not None:
            keys[process] = key
    return Line(
        process=process,
        type=kind,
        f=f,
        key=key,
        value=value,
        index=index if isinstance(index, int) else None,
        time=time if isinstance(time, int) else None,
        node=form["node"] if isinstance(form.get("node"), str) else None,
        error=form.get("error"),
    )


def _plain(value: Any) -> Any:
    """Return ``value`` with plain dicts in it."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return value


def _map(line: Line) -> str:
    process = f":{NEMESIS}" if line.process == NEMESIS else _edn(line.process)
    value = _txn(line.value) if line.f == "txn" else _edn(line.value)
    parts = [f":process {process}", f":type :{line.type}", f":f {_keyword(line.f)}"]
    if line.key is None:
        parts.append(f":value {value}")
    else:
        parts += [f":value [{_edn(line.key)} {value}]", ":independent true"]
    if line.time_ns is not None:
        parts.append(f":time {line.time_ns}")
    parts.append(f":index {line.index}")
    if line.node is not None:
        parts.append(f":node {_edn(line.node)}")
    if line.error is not None:
        parts.append(f":error {_edn(line.error)}")
    return "{" + ", ".join(parts) + "}"


def _txn(value: Any) -> str:
    """Return a transaction, whose parts begin with the keyword of what they do."""
    match value:
        case list() if all(
            isinstance(part, list) and part and isinstance(part[0], str) for part in value
        ):
            parts = (" ".join([_keyword(part[0]), *map(_edn, part[1:])]) for part in value)
            return "[" + " ".join(f"[{part}]" for part in parts) + "]"
        case _:
            return _edn(value)


def _keyword(name: str) -> str:
    return f":{name}" if re.fullmatch(r"[A-Za-z*!_?<>=+-][\w*!?<>=+.-]*", name) else _edn(name)


def _edn(value: Any) -> str:
    match value:
        case None:
            return "nil"
        case bool():
            return "true" if value else "false"
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
        case list() | tuple():
            return "[" + " ".join(map(_edn, value)) + "]"
        case dict():
            return "{" + ", ".join(f"{_edn(key)} {_edn(each)}" for key, each in value.items()) + "}"
        case _:
            return str(value)
