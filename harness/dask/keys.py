"""The keys of one large history, judged by a Dask cluster: the same workers that make a campaign's runs.

The history is read here, once, and goes out in portions, each with its lines (`checker.apart`). A
portion that is lost with its worker is given to another; what nobody could judge in time is unknown.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from checker import Budget, check
from checker.apart import Apart, apart, fit_to_travel
from checker.searching import NOT_LOOKED_AT
from checker.verdict import Outcome
from harness.memory import held_bytes

from .client import Gone, Presence
from .endings import Endings, result_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from checker import History
    from checker.verdict import Report

PORTIONS_EACH: Final = 4
"""Portions for each thread: a hard one is not waited for with idle hands."""

GRACE_S: Final = 5.0


def judged(history: History, how: Mapping[str, Any], memory_bytes: int) -> Report:
    """Judge a portion, in the worker that it was given to; ``how`` are options of `checker.check`."""
    before_bytes = held_bytes()
    options = dict(how)
    budget = Budget(
        time_s=options.pop("time_s"),
        memory_bytes=memory_bytes,
        clock=time.monotonic,
        memory=lambda: held_bytes() - before_bytes,
    )
    return fit_to_travel(check(history, budget=budget, **options))


def check_apart(
    client: Any, history: History, *, time_s: float, memory_bytes: int, how: Mapping[str, Any]
) -> Report:
    """Return the report of one check made by the workers of a client.

    ``how`` are options of `checker.check`; ``memory_bytes`` is each worker's. Raises what `check` does,
    and `Gone` once nobody is left to judge.
    """
    began_s = time.monotonic()
    presence = Presence(client)
    shared = {key: how[key] for key in ("initial", "ties", "nil_read", "failed_cas")}
    parts = apart(history, many=PORTIONS_EACH * max(1, presence.threads), model=how["model"], **shared)
    options = {**how, "model": parts.model}
    reports: dict[int, Report | str] = {}
    for number, told in _told(presence, parts, options, began_s + time_s, memory_bytes):
        reports[number] = told
        found = not isinstance(told, str) and told.outcome is Outcome.VIOLATION
        if found and not how["all_keys"]:
            left = dict.fromkeys(range(len(parts.portions)), NOT_LOOKED_AT)
            reports = {**left, **reports}
            break
    return parts.together(reports, seconds=time.monotonic() - began_s)


def _told(
    presence: Presence, parts: Apart, how: Mapping[str, Any], until_s: float, memory_bytes: int
) -> Iterator[tuple[int, Report | str]]:
    """Yield what came of each portion, as it comes; whoever stops listening has the rest called off."""
    client = presence.client
    left_s = max(0.001, until_s - time.monotonic())
    endings = Endings()
    numbers: dict[str, int] = {}
    futures = []
    for number, portion in enumerate(parts.portions):
        options = {**how, "time_s": left_s}
        future = client.submit(judged, portion.history, options, memory_bytes, pure=False)
        numbers[future.key] = number
        futures.append(future)
        endings.watch(future)
    try:
        while numbers:
            waited_in_vain = True
            for future, status in endings.next():
                waited_in_vain = False
                yield numbers.pop(future.key), _report(future, status)
            if waited_in_vain:
                presence.look()
                if time.monotonic() > until_s + GRACE_S:
                    late = "the time limit ran out at its worker"
                    yield from ((number, late) for number in numbers.values())
                    return
    finally:
        client.cancel(futures)


def _report(future: Any, status: str) -> Report | str:
    if status == "error":
        error = future.exception()
        if type(error).__name__ == "KilledWorker":
            return f"its worker died, again and again: {' '.join(str(error).split())}"
        raise error
    if status != "finished":
        raise Gone(f"the scheduler let go of some keys ({status})")
    report: Report = result_of(future)
    return report
