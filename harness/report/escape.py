r"""Text from a history, a node or a file name, made safe to print.

A run may come from a stranger. Whatever was not written by this program passes through `plain` before
it reaches a terminal: control characters (which move cursors, set titles, hide lines), bidirectional
overrides (which make text read otherwise than it is), odd spaces and lone surrogates (undecodable file
names) become ``\x1b``-like escapes that show what was there.
"""

from __future__ import annotations

from typing import Final

SHOWN_CHARS_MAX: Final = 400


def plain(value: object, *, chars_max: int = SHOWN_CHARS_MAX) -> str:
    """Return ``str(value)`` on one line, with nothing hidden in it and no longer than ``chars_max``."""
    text = str(value)
    cut = len(text) - chars_max
    shown = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text[:chars_max])
    return f"{shown}... ({cut} characters more)" if cut > 0 else shown
