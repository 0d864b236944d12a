"""Answers to writes that wait until the write's timestamp is certainly past (T3).

A timestamp is the latest that it can be when the entry is appended, so it may be ahead of the true time.
Along one log timestamps rise in any case. Whoever else asks the same time service does not know that
log: what it does after a client heard of a write must come later by the clock as well, and what it
reads as of now must hold that write. So an answer waits, whoever leads by then: it is committed.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from checker.evidence import Dated
from targets.clock import FOREVER_NS
from targets.leasekv.moments import PPM
from targets.leasekv.views import StampView

if TYPE_CHECKING:
    from targets.leasekv.messages import Response

    from .state import State


class CommitWait:
    """``answers`` are kept in the order of their timestamps, each with its client."""

    __slots__ = ("_state", "answers")

    def __init__(self, state: State) -> None:
        self._state = state
        self.answers: deque[tuple[int, int, int, Response]] = deque()

    def hold(self, stamp_ns: int, index: int, client: int, answer: Response) -> None:
        """Keep the answer for the entry at ``index`` until its timestamp is past."""
        self.answers.append((stamp_ns, index, client, answer))

    def let_go(self) -> None:
        """Give the answers whose time has come."""
        state = self._state
        while self.answers and state.rules.stamp_past(StampView(self._earliest_ns, self.answers[0][0])):
            stamp_ns, index, client, answer = self.answers.popleft()
            state.out.fact(Dated(state.term, index, stamp_ns))
            state.out.reply(client, answer)

    def forget_client(self, client: int) -> None:
        """Nobody hears the answers to ``client`` any more."""
        self.answers = deque(each for each in self.answers if each[2] != client)

    @property
    def due_ns(self) -> int:
        """When the next one is due, on the monotonic clock, as far as anybody can tell."""
        if not self.answers:
            return FOREVER_NS
        earliest_ns = self._earliest_ns
        if earliest_ns is None:
            return FOREVER_NS
        ahead_ns = self.answers[0][0] + 1 - earliest_ns
        state = self._state
        return state.reading.mono_ns + ahead_ns * (PPM + state.config.drift_ppm) // PPM + 1

    @property
    def _earliest_ns(self) -> int | None:
        span = self._state.moment.span
        return None if span is None else span.earliest_ns
