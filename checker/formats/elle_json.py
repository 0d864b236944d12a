"""elle-cli's JSON: one array of operation objects, with Jepsen's conventions (see `edn`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from checker.formats import edn
from checker.pairing import Line

if TYPE_CHECKING:
    from checker.formats.source import Rows, Source

NAME: Final = "elle-json"
CONVENTIONS: Final = edn.CONVENTIONS

_array: Final = msgspec.json.Decoder(list[msgspec.Raw])
_event: Final = msgspec.json.Decoder(Line)


def sniff(head: bytes) -> bool:
    """Return whether a file that starts with ``head`` is of this format."""
    return head.lstrip()[:1] == b"[" and b'"' in head


def rows(source: Source) -> Rows:
    """Yield the events of ``source`` with the lines on which they begin."""
    try:
        objects = _array.decode(source.data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        source.refuse(f"no JSON array ({error})", None)
        return
    at, line = 0, 1
    for raw in objects:
        text = bytes(raw)
        start = source.data.index(text, at)
        line += source.data.count(b"\n", at, start)
        try:
            event = _event.decode(text)
        except msgspec.MsgspecError as error:
            source.refuse(f"not an event ({error})", line)
        except RecursionError:
            source.refuse("a value is nested too deeply", line)
        else:
            yield line, event
        line += text.count(b"\n")
        at = start + len(text)
