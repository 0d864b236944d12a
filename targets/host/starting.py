"""How a cluster starts from this host: on a true clock, and wholly or not at all."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from targets.cluster import TargetError

from . import faketime

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable


def require_true_clock() -> None:
    """Raise `TargetError` if this very process is told a false time."""
    if faketime.preloaded():
        raise TargetError("the harness runs under libfaketime itself: its clock would be worth nothing")


@asynccontextmanager
async def wholly(stop: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Stop what there is of a start that breaks; a `TargetError` of that is a note on what broke."""
    try:
        yield
    except BaseException as error:
        try:
            await stop()
        except TargetError as left:
            error.add_note(str(left))
        raise
