r"""Text from a history, a node or a file name, made safe to print.

A run may come from a stranger. Whatever was not written by this program passes through `plain` before
it reaches a terminal: control characters (which move cursors, set titles, hide lines), bidirectional
overrides (which make text read otherwise than it is) and lone surrogates (undecodable file names)
become ``\x1b``-like escapes that show what was there.
"""

from __future__ import annotations

import unicodedata
from typing import Final

SHOWN_CHARS_MAX: Final = 400

# Cc control, Cf format (bidirectional overrides, zero width), Cs surrogate, Co private, Cn unassigned,
# Zl and Zp line and paragraph separators: all either invisible or taken as a line's end by someone.
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def plain(value: object, *, chars_max: int = SHOWN_CHARS_MAX) -> str:
    """Return ``str(value)`` on one line, with nothing hidden in it and no longer than ``chars_max``."""
    text = str(value)
    cut = len(text) - chars_max
    shown = "".join(_visible(char) for char in text[:chars_max])
    return f"{shown}... ({cut} characters more)" if cut > 0 else shown


def _visible(char: str) -> str:
    if char.isascii() and char.isprintable():
        return char
    if unicodedata.category(char) not in _HIDDEN:
        return char
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")
