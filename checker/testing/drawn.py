r"""Histories as people draw them.

    0 |----------w 1----------|
    1    |-r 1-|      |-cas! 2 3-|
    2             |-r nil->

Columns are time. A line belongs to the process that it begins with; ``|`` begins an operation, ``|``
ends it, ``>`` leaves its end unknown. Inside stand the function and its values: ``w``, ``r`` and
``cas`` for write, read and compare-and-set, any other name as it is; ``!`` after the name means that it
failed (a cas: with MISMATCH). ``x:`` before the function names the key.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from checker.errors import MalformedHistory
from checker.events import MISMATCH
from checker.pairing import Line, pair

if TYPE_CHECKING:
    from checker.conventions import Conventions
    from checker.operations import History

_INTERVAL: Final = re.compile(r"\|-*(?:(\w+):)?([a-z-]*[a-z])(!?)((?: [^|>-][^|> -]*)*)-*([|>])")
_NAMES: Final = {"w": "write", "r": "read"}


def drawn(text: str, *, name: str = "drawing", conventions: Conventions | None = None) -> History:
    """Return the history that ``text`` draws. Raises `MalformedHistory` with the line of the drawing."""
    events: list[tuple[int, int, Line]] = []
    retired = 0
    for number, row in enumerate(text.splitlines(), 1):
        found = re.match(r"\s*(\w+) +(?=\|)", row)
        if found is None:
            if row.strip() and not row.lstrip().startswith("#"):
                raise MalformedHistory(f"no process and interval in '{row}'", name=name, line=number)
            continue
        process: int | str = int(found[1]) if found[1].isdigit() else found[1]
        for interval in _INTERVAL.finditer(row, found.end()):
            key, f, failed, told, end = interval.groups()
            f = _NAMES.get(f, f)
            values = [_value(word) for word in told.split()]
            value = values[0] if len(values) == 1 else values or None
            asked = None if f == "read" else value
            invoke = Line(
                process=process, type="invoke", f=f, key=key, value=asked, time_ns=interval.start()
            )
            events.append((interval.start(), 0, invoke))
            if end == ">":
                retired += 1
                process = f"{found[1]}'{retired}"
                continue
            error = MISMATCH if failed and f == "cas" else None
            back = interval.end() - 1
            kind = "fail" if failed else "ok"
            line = Line(process=process, type=kind, f=f, key=key, value=value, time_ns=back, error=error)
            events.append((back, 1, line))
    events.sort(key=lambda event: event[:2])
    rows = [(number, line) for number, (_, _, line) in enumerate(events, 1)]
    return pair(rows, name=name, conventions=conventions)


def _value(word: str) -> Any:
    if word == "nil":
        return None
    try:
        return json.loads(word)
    except ValueError:
        return word
