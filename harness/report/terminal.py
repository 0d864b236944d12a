"""Sections as text: coloured for a terminal, plain lines for everything else.

Both have the same words in the same order and fold long lines under their label; drawings, and what a
reader may want to copy, are never folded. What is printed has been escaped before; rich is given
`Text`, never markup.
"""

from __future__ import annotations

import io
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .fold import WIDTH, folded
from .tone import Tone

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .summary import Row, Section

_INDENT: Final = 2
_LABEL_ROOM_MAX: Final = 18
_UNFOLDED: Final = frozenset({Tone.DRAWING, Tone.EXACT})
_STYLES: Final[Mapping[Tone, str]] = {
    Tone.GOOD: "green",
    Tone.BAD: "bold red",
    Tone.WARN: "yellow",
    Tone.DRAWING: "cyan",
    Tone.NOTE: "dim",
}


def plain_lines(sections: Sequence[Section]) -> Iterator[str]:
    """Yield the sections as lines without colour."""
    room = _label_room(sections)
    for section in sections:
        yield section.heading
        for row in section.rows:
            for label, line in zip_longest([row.label], _folded(row, room), fillvalue=""):
                yield f"{' ' * _INDENT}{label:<{room}}{line}".rstrip()


def coloured_lines(sections: Sequence[Section], *, width: int) -> Iterator[str]:
    """Yield the sections as lines with colour, for a terminal ``width`` columns wide."""
    buffer = io.StringIO()
    console = Console(file=buffer, force_terminal=True, width=width, highlight=False, emoji=False)
    room = _label_room(sections)
    for section in sections:
        console.print(Text(section.heading, style="bold"))
        for row in section.rows:
            label = Text(f"{' ' * _INDENT}{row.label:<{room}}", style="dim")
            text = Text(row.text, style=_STYLES.get(row.tone, ""))
            if row.tone in _UNFOLDED:
                console.print(Text.assemble(label, text), soft_wrap=True)
            else:
                grid = Table.grid()
                grid.add_column(width=room + _INDENT, no_wrap=True)
                grid.add_column(overflow="fold")
                grid.add_row(label, text)
                console.print(grid)
    yield from buffer.getvalue().splitlines()


def _folded(row: Row, room: int) -> list[str]:
    if row.tone in _UNFOLDED:
        return [row.text]
    return folded(row.text, width=WIDTH - _INDENT - room)


def _label_room(sections: Sequence[Section]) -> int:
    longest = max((len(row.label) for section in sections for row in section.rows), default=0)
    return min(longest, _LABEL_ROOM_MAX) + 2
