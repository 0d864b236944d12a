"""What a history is made of.

A *history* is what the harness observed: one `Event` a line, in the order it happened. A *process*
is a logical single-threaded client; it *invokes* an operation and the operation ends *ok* (it
happened), *fail* (it certainly did not) or *info* (nobody knows: it stays open to the end of the
history and its process number is retired). The nemesis writes events too, under the process name
``"nemesis"``; they are context, never operations.

An `Event` is a line, an `Operation` an interval. Everything here is a frozen value.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import msgspec

from checker.conventions import Conventions, FailedCas

HISTORY_SCHEMA: Final = 1
NEMESIS: Final = "nemesis"

MISMATCH: Final = "MISMATCH"
"""The one code of a failed operation that is an answer: a cas looked, and saw another value."""


def differed(error: str | None, conventions: Conventions) -> bool:
    """Return whether a cas that failed with ``error`` says that the value was another one."""
    if error is None:
        return conventions.bare_failed_cas is FailedCas.ASSERT
    return error == MISMATCH and conventions.mismatched_cas is FailedCas.ASSERT


class EventType(StrEnum):
    """The four things a line can say of an operation."""

    INVOKE = "invoke"
    OK = "ok"
    FAIL = "fail"
    INFO = "info"


class ReadPath(StrEnum):
    """How a target came to answer a read."""

    LEASE = "lease"
    READINDEX = "readindex"
    LOG = "log"
    FOLLOWER = "follower"


class Served(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a lease-aware target says of the answer it gave (the event's ``evidence``).

    ``lease_remaining_ns`` is on the serving node's own clock, as it was when the node checked;
    None where no lease was consulted. ``stamp_ns`` is the timestamp of a write, where it has one.
    """

    path: ReadPath | None = None
    term: int | None = None
    lease_remaining_ns: int | None = None
    read_index: int | None = None
    applied_index: int | None = None
    stamp_ns: int | None = None


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a history.

    ``time_ns`` counts from the run's origin on the host's CLOCK_MONOTONIC_RAW. Invocations are
    stamped before the first byte is sent, completions after the last byte came in, so the closed
    interval between the two contains the operation.

    ``value``: for ``read`` None at the invocation and the value read at ok; for ``write`` the value
    written; for ``cas`` the pair ``[old, new]``; for ``delete`` None.
    ``node`` is the node asked. ``error`` is the target's or the harness's code, in words.
    """

    index: int
    time_ns: int
    process: int | str
    type: EventType
    f: str
    key: Any = None
    value: Any = None
    node: str | None = None
    error: str | None = None
    evidence: Served | None = None


class Header(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The first line of a history file.

    ``origin_ns`` is the CLOCK_MONOTONIC_RAW reading that ``time_ns`` counts from; 0 in the
    simulator. It lets evidence, which is stamped with the raw clock, be laid over the history.
    ``conventions`` is for histories that were converted from another tool's.
    """

    schema: int = HISTORY_SCHEMA
    kind: str = "lantern-history"
    run: str | None = None
    origin_ns: int = 0
    model: str | None = None
    conventions: Conventions | None = None
