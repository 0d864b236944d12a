"""How often something shows, from a few tries, and when a few are enough. Pure.

A real run is not its plan: processes are scheduled as the host likes, and what a plan shows once it may
not show the next time. So what is said of it is a rate, with the interval in which it lies nineteen
times of twenty (Wilson's, which also means something at 0 and at all of the tries).

To choose between two plans less is enough: does a plan show the thing *usually*, or *hardly*? `Question`
asks by Wald's sequential test: after each try the odds of the two are compared, and it ends as soon as
one is likely enough, after three tries where all agree.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Any, Final

import msgspec

SURE: Final = 1.959964
"""Half the width of the middle 95 % of a normal distribution, in standard deviations."""


class Rate(msgspec.Struct, frozen=True):
    """It showed ``shown`` times in ``tries``."""

    shown: int = 0
    tries: int = 0

    def and_then(self, *, showed: bool) -> Rate:
        """Return the rate after one more try."""
        return Rate(self.shown + showed, self.tries + 1)

    @property
    def share(self) -> float | None:
        """The share of tries in which it showed; None before the first."""
        return self.shown / self.tries if self.tries else None

    @property
    def interval(self) -> tuple[float, float]:
        """Between which shares it lies, nineteen times of twenty."""
        if not self.tries:
            return 0.0, 1.0
        share = self.shown / self.tries
        z2n = SURE**2 / self.tries
        middle = (share + z2n / 2) / (1 + z2n)
        half = SURE * math.sqrt(share * (1 - share) / self.tries + z2n / (4 * self.tries)) / (1 + z2n)
        low = 0.0 if self.shown == 0 else middle - half
        return low, 1.0 if self.shown == self.tries else middle + half

    def __str__(self) -> str:
        """Return it for a person."""
        if self.share is None:
            return "not tried"
        low, high = (round(100 * end) for end in self.interval)
        return (
            f"{self.shown} of {self.tries}: {100 * self.share:.0f} % (95 % interval {low} to {high} %)"
        )


def as_json(rate: Rate) -> dict[str, Any]:
    """Return a rate as ``--json`` has it."""
    return {
        "times": rate.shown,
        "of": rate.tries,
        "rate": rate.share,
        "interval": list(rate.interval),
    }


class Known(StrEnum):
    """What is known of a plan: whether it shows the thing usually or hardly."""

    USUALLY = "usually"
    HARDLY = "hardly"
    OPEN = "open"


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """Which of two rates is it? Wrong either way in at most about ``error`` of all cases.

    After ``tries_max`` tries it is taken for the lower one: in doubt nothing is left out of a plan.
    """

    hardly: float = 0.3
    usually: float = 0.8
    error: float = 0.1
    tries_max: int = 10

    def answer(self, rate: Rate) -> Known:
        """Return what the tries so far say."""
        odds = rate.shown * math.log(self.usually / self.hardly) + (rate.tries - rate.shown) * math.log(
            (1 - self.usually) / (1 - self.hardly)
        )
        enough = math.log((1 - self.error) / self.error)
        if odds >= enough:
            return Known.USUALLY
        if odds <= -enough or rate.tries >= self.tries_max:
            return Known.HARDLY
        return Known.OPEN
