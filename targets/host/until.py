"""Wait until a process has done what it was told to.

The kernel stops a process within some 0.2 ms of the signal, while an event loop that waits at all
waits a millisecond, for so coarse is what it waits with. So the first looks are taken with the loop
held, for as long in all as its own first wait would be, and only then does it get its turns.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from targets.cluster import ProcessState, TargetError

if TYPE_CHECKING:
    from collections.abc import Callable

SOON_S: Final = 0.0002
SOON_LOOKS: Final = 4
PROBE_S: Final = 0.0005


async def until(
    wanted: ProcessState,
    look: Callable[[], ProcessState],
    *,
    name: str,
    verb: str,
    within_s: float,
    pressing: Callable[[], None] = lambda: None,
) -> None:
    """Return as soon as ``look`` shows the ``wanted`` state; ``pressing`` goes before every look.

    ``within_s`` counts on the event loop's clock. Raises `TargetError`, in the words of ``name`` and
    ``verb``, for a process that is gone instead, or that does not obey in time.
    """
    loop = asyncio.get_running_loop()
    deadline_s = loop.time() + within_s
    looks = 0
    while True:
        pressing()
        found = look()
        if found is wanted:
            return
        if found is ProcessState.GONE:
            raise TargetError(f"{name} was to {verb} but is gone")
        if loop.time() > deadline_s:
            raise TargetError(f"{name} did not {verb} within {within_s:g} s: it is {found.value}")
        looks += 1
        if looks <= SOON_LOOKS:
            time.sleep(SOON_S)  # noqa: ASYNC251 - see above
        else:
            await asyncio.sleep(PROBE_S)
