"""LiMo's histories of stacks and queues: ``.hist`` and ``.log``.

    # @object atomic-queue
    [1] call enq(3)
    [1] return
    [2] call deq
    [2] return empty

A thread is a process, and may call again once it has returned; ``call enq 3`` is accepted too. A thread
that calls again *before* it has returned leaves its earlier call open for ever and goes on under a new
name, with a note. ``empty`` is nil.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from checker.conventions import Conventions
from checker.events import Header
from checker.pairing import Line

if TYPE_CHECKING:
    from checker.formats.source import Rows, Source

NAME: Final = "limo"
CONVENTIONS: Final = Conventions()
_OBJECT: Final = re.compile(r"#\s*@object\s+(?:atomic-)?(\S+)")
_CALL: Final = re.compile(r"\[(\w+)\]\s+call\s+([\w-]+)(?:\s*\(\s*(.*?)\s*\)|\s+(\S+))?$")
_RETURN: Final = re.compile(r"\[(\w+)\]\s+return\s*(.*)$")
_MODELS: Final = {
    "queue": "fifo-queue",
    "stack": "stack",
    "set": "set",
    "priority-queue": "priority-queue",
}


def sniff(head: bytes) -> bool:
    """Return whether a file that starts with ``head`` is of this format."""
    return b"@object" in head or re.match(rb"\s*\[\w+\]\s+call ", head) is not None


def rows(source: Source) -> Rows:
    """Yield the events of ``source`` with their lines."""
    called: dict[str, str] = {}
    names: dict[str, int | str] = {}
    renamed = 0
    for number, raw in enumerate(source.data.decode("utf-8", "replace").splitlines(), 1):
        text = raw.strip()
        if not text:
            continue
        if text.startswith("#"):
            found = _OBJECT.match(text)
            if found:
                source.header = Header(model=_MODELS.get(found[1], found[1]))
            continue
        if call := _CALL.match(text):
            thread, f = call[1], call[2]
            if thread in called:
                renamed += 1
                names[thread] = f"{thread}/{renamed}"
                source.notes.append(
                    f"thread {thread} calls again on line {number}, its last call still open"
                )
            called[thread] = f
            yield (
                number,
                Line(
                    process=names.setdefault(thread, _process(thread)),
                    type="invoke",
                    f=f,
                    value=_value(call[3] or call[4] or ""),
                ),
            )
        elif (back := _RETURN.match(text)) and back[1] in called:
            yield (
                number,
                Line(process=names[back[1]], type="ok", f=called.pop(back[1]), value=_value(back[2])),
            )
        elif back:
            yield number, Line(process=_process(back[1]), type="ok", f="return")
        else:
            source.refuse(f"'{text[:60]}' is neither a call nor a return", number)


def _process(text: str) -> int | str:
    return int(text) if text.isdigit() else text


def _value(text: str) -> Any:
    if text in {"", "empty"}:
        return None
    return int(text) if re.fullmatch(r"-?\d{1,40}", text) else text
