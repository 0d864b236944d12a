r"""Text from a history, a node or a file name, made safe to print.

A run may come from a stranger. Whatever was not written by this program passes through `plain` before
it reaches a terminal: control characters (which move cursors, set titles, hide lines), bidirectional
overrides (which make text read otherwise than it is), odd spaces and lone surrogates (undecodable file
names) become ``\x1b``-like escapes that show what was there.
"""

from __future__ import annotations

from typing import Final

SHOWN_CHARS_MAX: Final = 400
COMMAND_CHARS_MAX: Final = 20_000


def plain(value: object, *, chars_max: int = SHOWN_CHARS_MAX) -> str:
    """Return ``str(value)`` on one line, with nothing hidden in it, cut to ``chars_max`` characters.

    A note says how many were cut; what is no longer than that note stands in its place.
    """
    text = str(value)
    cut = max(0, len(text) - chars_max)
    note = f"... ({cut} characters more)"
    if cut <= len(note):
        chars_max, note = len(text), ""
    shown = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text[:chars_max])
    return shown + note


def whole(command: str) -> str:
    """Return a command on one line, and all of it: cut short it could not be typed."""
    return plain(command, chars_max=COMMAND_CHARS_MAX)
