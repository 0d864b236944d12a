"""What every format's reader is handed, and what it may say back.

A reader turns bytes into ``(line, event)`` pairs and never opens a file. What it cannot read it
refuses with the line; under ``lenient`` it skips the line instead and counts it, and the count ends up
in the notes of the history, for a verdict about a file with holes must say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from checker.errors import MalformedHistory
from checker.pairing import Line

if TYPE_CHECKING:
    from checker.events import Header

Rows = Iterator[tuple[int, Line]]


@dataclass(kw_only=True)
class Source:
    """One file being read. ``header`` and ``notes`` are filled while its rows are consumed.

    ``refusal`` is the first that was not raised, because lenience was asked for.
    """

    data: bytes
    name: str
    lenient: bool = False
    header: Header | None = None
    notes: list[str] = field(default_factory=list)
    skipped: list[int] = field(default_factory=list)
    refusal: MalformedHistory | None = None

    def refuse(self, sentence: str, line: int | None) -> None:
        """Raise `MalformedHistory`; or skip ``line`` and count it, where that was asked for."""
        refusal = MalformedHistory(sentence, name=self.name, line=line)
        if not self.lenient or line is None:
            raise refusal
        self.refusal = self.refusal or refusal
        self.skipped.append(line)

    def all_notes(self) -> tuple[str, ...]:
        """Return the notes, the count of skipped lines among them."""
        if not self.skipped:
            return tuple(self.notes)
        lines = ", ".join(map(str, self.skipped[:5])) + (", ..." if len(self.skipped) > 5 else "")
        return (*self.notes, f"{len(self.skipped)} unreadable lines skipped (lenient): {lines}")
