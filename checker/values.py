"""Which values are the same value.

Python says ``1 == True == 1.0``; a register that answers ``true`` where ``1`` was written is broken,
so the checker compares *tagged* values. Whole numbers, strings and nil are their own tags (they
differ already, and they are nearly everything a history holds); every other type is wrapped in a
tuple that starts with its type's name. Lists and maps become hashable on the way. NaN equals itself:
it was written, it can be read back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

_PLAIN: Final = frozenset({int, str, type(None)})


def tag(value: Any) -> Hashable:
    """Return what stands for ``value`` in comparisons: hashable, and equal only for equal types."""
    kind = type(value)
    if kind in _PLAIN:
        return value  # type: ignore[no-any-return]
    if kind is list or kind is tuple:
        return ("list", *map(tag, value))
    if kind is dict:
        return ("map", frozenset((tag(key), tag(item)) for key, item in value.items()))
    if kind is set or kind is frozenset:
        return ("set", frozenset(map(tag, value)))
    return (kind.__name__, repr(value))


def all_plain(values: Iterable[Any]) -> bool:
    """Return whether every value is its own tag, so that tagging can be left out."""
    return _PLAIN.issuperset(map(type, values))


def show(value: Any) -> str:  # noqa: PLR0911 - one a type
    """Return ``value`` as a history's reader writes it: nil, true, "text", [1, 2]."""
    match value:
        case None:
            return "nil"
        case bool():
            return "true" if value else "false"
        case list() | tuple():
            return "[" + ", ".join(map(show, value)) + "]"
        case dict():
            return "{" + ", ".join(f"{show(key)}: {show(item)}" for key, item in value.items()) + "}"
        case set() | frozenset():
            return "#{" + ", ".join(sorted(map(show, value))) + "}"
        case str():
            return value if value.isalnum() and not value.isdigit() else ascii_quoted(value)
        case _:
            return str(value)


def shorten(text: str, most: int) -> str:
    """Cut the middle out of a text that is too long; both of its ends tell something."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    return f"{text[:head]}...{text[head + 3 - most :]}"


def ascii_quoted(text: str) -> str:
    """Return ``text`` in double quotes with every control character escaped."""
    inner = "".join(c if c.isprintable() and c not in '"\\' else repr(c)[1:-1] for c in text)
    return f'"{inner}"'
