"""Sections as text: coloured and wrapped for a terminal, plain lines for everything else.

Plain lines have the same words in the same order, one row a line, so that a log can be searched. What
is printed has been escaped before; rich is given `Text`, never markup.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .summary import Section

_INDENT: Final = 2
_LABEL_ROOM_MAX: Final = 18
_STYLES: Final = {"good": "green", "bad": "bold red", "warn": "yellow", "drawing": "cyan", "note": "dim"}


def plain_lines(sections: Sequence[Section]) -> Iterator[str]:
    """Yield the sections as lines without colour."""
    room = _label_room(sections)
    for section in sections:
        yield section.heading
        for row in section.rows:
            yield f"{' ' * _INDENT}{row.label:<{room}}{row.text}".rstrip()


def coloured_lines(sections: Sequence[Section], *, width: int) -> Iterator[str]:
    """Yield the sections as lines with colour, wrapped to ``width`` columns."""
    buffer = io.StringIO()
    console = Console(file=buffer, force_terminal=True, width=width, highlight=False, emoji=False)
    room = _label_room(sections)
    for section in sections:
        console.print(Text(section.heading, style="bold"))
        grid = Table.grid(padding=(0, 0, 0, 0))
        grid.add_column(width=room + _INDENT, no_wrap=True)
        grid.add_column(overflow="fold")
        for row in section.rows:
            text = Text(row.text, style=_STYLES.get(row.tone, ""), no_wrap=row.tone == "drawing")
            grid.add_row(Text(f"{' ' * _INDENT}{row.label}", style="dim"), text)
        console.print(grid)
    yield from buffer.getvalue().splitlines()


def _label_room(sections: Sequence[Section]) -> int:
    longest = max((len(row.label) for section in sections for row in section.rows), default=0)
    return min(longest, _LABEL_ROOM_MAX - 2) + 2
