"""Leaving things out: the smallest part of a list that still does it. Pure, and in a fixed order."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def reduced(items: tuple[T, ...], still: Callable[[tuple[T, ...]], bool]) -> tuple[T, ...]:
    """Return a part of ``items``, in their order, of which no single one can be left out.

    Chunks are left out from the end, halves first, then smaller ones, then singles, until a whole
    round of singles changes nothing. ``still`` is true of ``items``; it is asked of parts only.
    """
    if items and still(()):
        return ()
    size = max(1, len(items) // 2)
    while items:
        before = len(items)
        end = len(items)
        while end > 0:
            rest = items[: max(0, end - size)] + items[end:]
            if len(rest) < len(items) and rest and still(rest):
                items = rest
            end -= size
        if size > 1:
            size = max(1, size // 2)
        elif len(items) == before:
            break
    return items
