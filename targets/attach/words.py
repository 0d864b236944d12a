"""What somebody's code raised or answered, in words that can be written down.

An object of somebody else's may fail at being shown, and what it says may be no text.
"""

from __future__ import annotations

from typing import Any, Final

SAID_CHARS: Final = 500
SHOWN_CHARS: Final = 80


def in_words(error: BaseException) -> str:
    """Return an error's kind and what it says."""
    said = message(error)
    return _plain(type(error).__name__) + (f": {said}" if said else "")


def shown(answer: Any) -> str:
    """Return an answer for a sentence."""
    try:
        return _plain(repr(answer))[:SHOWN_CHARS]
    except BaseException:  # noqa: BLE001 - somebody's own object may fail at that as well
        return f"a {_plain(type(answer).__name__)}"


def message(error: BaseException) -> str:
    """Return what an error says, nothing if it cannot."""
    try:
        return _plain(str(error))
    except BaseException:  # noqa: BLE001 - as above
        return ""


def _plain(said: str) -> str:
    """Return what can be written down: a name of a file may be no text, and an error is told with it."""
    return said[:SAID_CHARS].encode("utf-8", "backslashreplace").decode()
