"""A process that ends with its parent: the kernel is asked to signal it once that has died."""

from __future__ import annotations

import ctypes
import os
import signal
from typing import Final

_PR_SET_PDEATHSIG: Final = 1


def die_with(parent_pid: int, number: signal.Signals = signal.SIGKILL) -> bool:
    """Have this process sent ``number`` when its parent dies; False if it already has.

    It is the thread that started this process whose end counts, not only its process's.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
    return os.getppid() == parent_pid
