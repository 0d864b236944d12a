"""The history's writer: a header, then one event a line, out of our hands as soon as it happened.

Lines are gathered and written once per turn of the driver's loop, with one system call: the kernel has
them then, so a harness that is killed loses at most the turn it was in. The disk being full is
remembered, never hidden: `write` raises `StoreFull`, a torn last line is cut off, and from then on
nothing more is written.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from .errors import StoreError
from .files import open_new, trouble

if TYPE_CHECKING:
    from pathlib import Path

    from checker.events import Event, Header


class HistoryWriter:
    """Writes one history file; close it in any case."""

    def __init__(self, path: Path, header: Header) -> None:
        self._path = path
        self._encode = msgspec.json.Encoder().encode
        self._lines: list[bytes] = [self._encode(msgspec.structs.asdict(header))]  # defaults too
        self._descriptor = open_new(path)
        self._whole_bytes = 0  # up to the end of the last whole line
        self.broken: StoreError | None = None
        self.flush()

    def add(self, event: Event) -> None:
        """Take a line; it is written by the next `flush`."""
        self._lines.append(self._encode(event))

    def flush(self) -> None:
        """Write what was taken; raise `StoreError` the first time that fails."""
        if not self._lines or self.broken is not None:
            return
        data = b"\n".join(self._lines) + b"\n"
        self._lines.clear()
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError as error:
            self.broken = trouble(error, self._path)
            self._cut(data[: len(data) - len(left)])
            raise self.broken from error
        self._whole_bytes += len(data)

    def close(self) -> None:
        """Write what is left and make it durable; idempotent."""
        if self._descriptor < 0:
            return
        try:
            self.flush()
            os.fsync(self._descriptor)
        except OSError as error:
            self.broken = self.broken or trouble(error, self._path)
        except StoreError:
            pass  # kept in `broken`
        finally:
            os.close(self._descriptor)
            self._descriptor = -1

    def _cut(self, written: bytes) -> None:
        """Leave whole lines only: what a reader finds is short, not broken."""
        os.ftruncate(self._descriptor, self._whole_bytes + written.rfind(b"\n") + 1)
