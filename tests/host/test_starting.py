"""A start that breaks leaves nothing, and what broke is what is told."""

from __future__ import annotations

import asyncio

import pytest

from targets.cluster import TargetError
from targets.host import faketime
from targets.host.starting import require_true_clock, wholly


@pytest.mark.parametrize("kind", [OSError, TargetError, KeyboardInterrupt])
@pytest.mark.parametrize("left", [None, TargetError("n1 is left")])
def test_what_broke_is_told_and_what_is_left_beside_it(
    kind: type[BaseException], left: TargetError | None
) -> None:
    broken = kind("why")
    stopped = []

    async def stop() -> None:
        stopped.append(broken)
        if left is not None:
            raise left

    async def start() -> None:
        async with wholly(stop):
            raise broken

    with pytest.raises(kind) as raised:
        asyncio.run(start())
    assert raised.value is broken
    assert stopped == [broken]
    assert getattr(broken, "__notes__", []) == ([] if left is None else ["n1 is left"])


def test_a_start_that_is_whole_stops_nothing() -> None:
    async def start() -> None:
        async with wholly(lambda: pytest.fail("nothing broke")):
            pass

    asyncio.run(start())


def test_no_cluster_starts_on_a_false_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    require_true_clock()
    monkeypatch.setattr(faketime, "preloaded", lambda: True)
    with pytest.raises(TargetError, match="libfaketime itself"):
        require_true_clock()
