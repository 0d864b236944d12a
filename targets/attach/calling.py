"""Calling somebody's client: whatever comes of it is an answer, a `Definite`, or a `Raised`.

Somebody else's code may raise anything at all, an exit or a cancellation of its own among it. So no
method of a client is awaited but here; what is cancelled by us stays cancelled. The task that calls is
named after the method, so that one that never returns can be told.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeVar

from .client import Definite
from .words import in_words, message

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")

CALLED: Final = "client's "


class Raised(Exception):  # noqa: N818 - an answer, not a failure
    """What somebody's client raised, in words; whatever it was, nobody knows what it did."""


async def call(method: str, awaitable: Awaitable[T]) -> T:
    """Return what a method of somebody's client answers."""
    task = asyncio.current_task()
    assert task is not None
    task.set_name(CALLED + method)
    try:
        return await awaitable
    except Definite as error:
        raise Definite(message(error)) from error
    except asyncio.CancelledError as error:
        if task.cancelling():
            raise
        raise Raised(in_words(error)) from error
    except BaseException as error:
        raise Raised(in_words(error)) from error


def made(make: Callable[[], T]) -> T:
    """Return a new client of somebody's."""
    try:
        return make()
    except BaseException as error:
        raise Raised(in_words(error)) from error
