"""A figure under way: the shapes so far, and how far down it has come."""

from __future__ import annotations

from .shapes import GAP, ROW, Bar, Label, Tick

HEAD = 13
BETWEEN = 2


class Sheet:
    """Rows are begun from the top down; whoever begins one draws into it."""

    def __init__(self) -> None:
        self.y = GAP
        self.labels: list[Label] = []
        self.bars: list[Bar] = []
        self.ticks: list[Tick] = []

    def head(self, text: str) -> None:
        """Begin a group of rows."""
        self.y += GAP if self.labels else 0
        self.labels.append(Label(self.y, text, head=True))
        self.y += HEAD + BETWEEN

    def row(self, text: str, *, height: int = ROW) -> int:
        """Begin a row; return its top."""
        top = self.y
        self.labels.append(Label(top, text))
        self.y += height + BETWEEN
        return top
