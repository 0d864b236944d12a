"""Where a node's facts go: one file, appended to with one write a turn of the loop.

Facts are buffered while inputs are stepped and written before any message or reply of the same turn
goes out, so what a node did is never seen before what it knew. Nothing is synced: the file has to
survive the node's death, not the host's.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from checker import evidence_lines
from checker.evidence import EvidenceLine, Fact

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from targets.trueclock import Stamp

    from .tally import Tally


class Counted:
    """An `EvidenceFile` whose facts are counted as they pass."""

    def __init__(self, file: EvidenceFile, tally: Tally) -> None:
        self._file = file
        self._tally = tally
        self.flush = file.flush

    def add(self, facts: Iterable[Fact], stamp: Stamp) -> None:
        """Count the facts of one step, and keep them."""
        facts = tuple(facts)
        self._tally.hear(facts, stamp.own.mono_ns)
        self._file.add(facts, stamp)


class EvidenceFile:
    """One node's evidence, opened for appending; a header says that a boot begins here.

    ``OSError`` means the disk fails, and the node must end rather than act unseen.
    """

    def __init__(self, path: Path, node: str) -> None:
        self._node = node
        self._lines: list[EvidenceLine] = []
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        os.fchmod(self._fd, 0o644)  # whatever the umask
        self._write(evidence_lines.header(node))

    def add(self, facts: Iterable[Fact], stamp: Stamp) -> None:
        """Keep the facts of one step, with the readings that step was given."""
        own, true_ns = stamp.own, stamp.true_ns
        node = self._node
        self._lines += [EvidenceLine(node, own.mono_ns, own.wall_ns, true_ns, fact) for fact in facts]

    def flush(self) -> None:
        """Write what was added."""
        if self._lines:
            data = evidence_lines.encode(self._lines)
            self._lines.clear()
            self._write(data)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]

    def close(self) -> None:
        """Let the file go; what was not flushed is lost."""
        os.close(self._fd)
