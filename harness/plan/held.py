"""What a plan can hold, whoever says it: a file, an option, or the marker of a test.

A plan is written to a file and read again, also by programs that know no more of numbers than JSON does.
So its numbers are finite and fit in 64 bits, its text is Unicode, and its mappings have text for keys.
YAML has all of that checked scalar by scalar, with its line; what Python itself hands in is looked
through as a whole.
"""

from __future__ import annotations

import math
from typing import Any, Final

DEPTH_MAX: Final = 20
INT_MIN: Final = -(1 << 63)
INT_MAX: Final = (1 << 64) - 1


def wrong_with(value: object) -> str | None:
    """Return what is wrong with a scalar, as the end of a sentence about it; None if it can be held."""
    match value:
        case float() if not math.isfinite(value):
            return "is no number to plan with"
        case int() if not INT_MIN <= value <= INT_MAX:
            return f"is a number of {value.bit_length()} bits, and 64 are taken"
        case str():
            return _half_of_a_character(value)
        case _:
            return None


def wrong_within(value: object, *, depth: int = 0) -> str | None:
    """Return what is wrong with a value or in it, as a sentence; None if nothing is."""
    if depth > DEPTH_MAX:
        return f"it is nested deeper than {DEPTH_MAX}"
    match value:
        case dict():
            inner: list[Any] = [each for pair in value.items() for each in pair]
            if not all(isinstance(key, str) for key in value):
                return "a key is a word"
        case list() | tuple():
            inner = [*value]
        case None | bool() | int() | float() | str():
            wrong = wrong_with(value)
            named = value if isinstance(value, float) else "it"
            return None if wrong is None else f"{named} {wrong}"
        case _ if not depth:  # the type of its field says what there should be
            return None
        case _:
            return f"a value of type {type(value).__name__} is not taken"
    return next(filter(None, (wrong_within(each, depth=depth + 1) for each in inner)), None)


def _half_of_a_character(text: str) -> str | None:
    """Tell of text that no file can hold: an escape may stand for half of a character."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(text[error.start]):04x}"
        return f"holds {half}, half of a surrogate pair, which no file can hold"
    return None
