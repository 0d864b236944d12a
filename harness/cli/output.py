"""What a verb says, and where: the result on standard output, the story on standard error.

With ``--json`` standard output carries JSON objects, one a line, pure ASCII, and nothing else. What a
verb says is never allowed to change how it ends: a reader that goes away (a closed pipe, a closed
descriptor) is a reader's choice and stops nothing, least of all a heal. A result that could not be
*written* (a full disk behind the redirection) is remembered, and `lost` then tells the entry point.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from typing import TYPE_CHECKING, Any, Final, TextIO

from harness.report.escape import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_READER_LEFT: Final = frozenset({errno.EPIPE, errno.EBADF, errno.EIO})


class Output:
    """The two streams of one process. ``objects`` counts the JSON objects printed so far."""

    def __init__(self) -> None:
        self.objects = 0
        self.lost: str | None = None

    def result(self, lines: Iterable[str]) -> None:
        """Print lines that are already safe to show."""
        self._write(sys.stdout, "".join(f"{line}\n" for line in lines))

    def json(self, value: Mapping[str, Any]) -> None:
        """Print one JSON object on one line."""
        self.objects += 1
        text = json.dumps(value, ensure_ascii=True, allow_nan=False, default=_jsonable)
        self._write(sys.stdout, text + "\n")

    def data(self, data: bytes) -> None:
        """Print bytes as they are."""
        self._write(sys.stdout, data)

    def story(self, text: str) -> None:
        """Say something in one line of standard error; its control characters are shown, never sent.

        Line ends are among them: behind one, a text of others could begin a line like one of ours, or
        a command of a CI server.
        """
        self._write(sys.stderr, f"{plain(text, chars_max=4000)}\n")

    def _write(self, stream: TextIO | None, text: str | bytes) -> None:
        if stream is None:  # Python's answer to a descriptor that was closed before it started
            return
        try:
            if isinstance(text, bytes):
                stream.buffer.write(text)
            else:
                stream.write(text)
            stream.flush()
        except (OSError, ValueError) as error:
            _silence(stream)
            number = error.errno if isinstance(error, OSError) else errno.EBADF
            if number not in _READER_LEFT and stream is sys.stdout:
                self.lost = f"the result could not be written to standard output: {error}"


def _jsonable(value: object) -> str:
    """Values of a history are any JSON; what else may come along is shown as text."""
    return str(value)


def _silence(stream: TextIO) -> None:
    """Point the stream at nothing, so that neither later writes nor Python's exit complain again."""
    try:
        descriptor = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)
    except (OSError, ValueError):
        return
