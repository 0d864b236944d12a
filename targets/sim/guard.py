"""Nothing real inside: while the guard is up, I/O, threads and clocks of the host raise.

A simulated run is a function of its plan. Whatever reads a clock, opens a file, draws from the system
or starts a thread would make it one of the machine's as well, mostly unseen. So for as long as virtual
time runs, such calls raise `Escaped` instead: I/O and threads by Python's audit events, clocks and the
global random source by standing in for the functions of `time`, `random` and `os`.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NoReturn

from checker.uncollected import uncollected

if TYPE_CHECKING:
    from collections.abc import Iterator

_EVENTS: Final = frozenset(
    {
        "open",
        "os.listdir",
        "os.remove",
        "os.rename",
        "os.mkdir",
        "os.system",
        "os.fork",
        "os.posix_spawn",
        "subprocess.Popen",
        "socket.__new__",
        "socket.connect",
        "socket.bind",
        "socket.getaddrinfo",
        "time.sleep",
    }
)
_CLOCKS: Final = (
    "time",
    "time_ns",
    "monotonic",
    "monotonic_ns",
    "perf_counter",
    "perf_counter_ns",
    "process_time",
    "process_time_ns",
    "thread_time",
    "clock_gettime",
    "clock_gettime_ns",
    "localtime",
    "gmtime",
    "sleep",
)
_CHANCES: Final = ("random", "randrange", "randint", "choice", "shuffle", "getrandbits", "uniform")
_STOOD_FOR: Final[tuple[tuple[Any, str], ...]] = (
    *((time, name) for name in _CLOCKS),
    *((random, name) for name in _CHANCES),
    (os, "urandom"),
    (os, "write"),
    (os, "read"),
    (threading.Thread, "start"),
)


class Escaped(RuntimeError):  # noqa: N818 - what happened
    """Something inside the simulator reached for the real world."""


class _Guard:
    """The one of this process: an audit hook cannot be taken away again, only be told to look away."""

    def __init__(self) -> None:
        self.up = False
        self.hooked = False
        self.real: list[Any] = []

    def hear(self, event: str, _arguments: tuple[Any, ...]) -> None:
        if self.up and event in _EVENTS:
            raise Escaped(f"{event} inside the simulator")


_GUARD: Final = _Guard()


@contextmanager
def sealed() -> Iterator[None]:
    """Keep the real world out until the end of the block."""
    if _GUARD.up:
        raise RuntimeError("one simulation at a time in a process")
    if not _GUARD.hooked:
        sys.addaudithook(_GUARD.hear)
        _GUARD.hooked = True
    _shut()
    try:
        with uncollected():
            yield
    finally:
        _open()


@contextmanager
def outside() -> Iterator[None]:
    """Leave the simulator for a moment, to tell of it: nothing may come back in but the control."""
    was_up = _GUARD.up
    if was_up:
        _open()
    try:
        yield
    finally:
        if was_up:
            _shut()


def _shut() -> None:
    _GUARD.real = [getattr(module, name) for module, name in _STOOD_FOR]
    for module, name in _STOOD_FOR:
        setattr(module, name, _refuse(f"{module.__name__}.{name}"))
    _GUARD.up = True


def _open() -> None:
    _GUARD.up = False
    for (module, name), function in zip(_STOOD_FOR, _GUARD.real, strict=True):
        setattr(module, name, function)


def _refuse(name: str) -> Any:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise Escaped(f"{name}() inside the simulator")

    return refuse
