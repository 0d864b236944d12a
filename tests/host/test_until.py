"""What a process was told to do is waited for with words that name it, and no longer than allowed."""

from __future__ import annotations

import asyncio

import pytest

from targets.cluster import ProcessState, TargetError
from targets.host.until import until

STATES = ProcessState


def waited(*seen: ProcessState, pressed: list[int] | None = None, within_s: float = 5.0) -> int:
    """Wait for a stop, seeing these in turn and the last one for ever; return how many were seen."""
    looks = 0

    def look() -> ProcessState:
        nonlocal looks
        looks += 1
        return seen[min(looks, len(seen)) - 1]

    press = (lambda: pressed.append(looks)) if pressed is not None else (lambda: None)
    asyncio.run(until(STATES.STOPPED, look, name="n1", verb="stop", within_s=within_s, pressing=press))
    return looks


@pytest.mark.parametrize("late", [0, 1, 4, 5, 9])
def test_it_returns_with_the_first_look_that_shows_it(late: int) -> None:
    pressed: list[int] = []
    assert waited(*[STATES.RUNNING] * late, STATES.STOPPED, pressed=pressed) == late + 1
    assert pressed == list(range(late + 1)), "pressed before each look"


def test_one_that_is_gone_cannot_obey() -> None:
    with pytest.raises(TargetError, match=r"^n1 was to stop but is gone$"):
        waited(STATES.RUNNING, STATES.GONE)


def test_one_that_does_not_obey_is_given_up() -> None:
    with pytest.raises(TargetError, match=r"^n1 did not stop within 0\.02 s: it is running$"):
        waited(STATES.RUNNING, within_s=0.02)


def test_others_have_their_turns_while_it_waits() -> None:
    async def beside() -> int:
        turns = 0

        async def counts() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(counts())
        with pytest.raises(TargetError):
            await until(STATES.STOPPED, lambda: STATES.RUNNING, name="n1", verb="stop", within_s=0.05)
        counting.cancel()
        return turns

    assert asyncio.run(beside()) > 1
