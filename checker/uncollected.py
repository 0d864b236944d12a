"""The cycle collector, kept from walking what is all alive and in no cycle.

A run, and the judging of it, makes millions of small values and hardly a cycle among them. Whenever
enough are new the collector walks all of them and finds nothing: a fifth of the time.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def uncollected() -> Iterator[None]:
    """Look for no cycles until the end of the block."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
