"""The catalog: a matrix of every mistake that can be shown somewhere and every policy as its control."""

from __future__ import annotations

from typing import TYPE_CHECKING

from targets.catalog import DEFAULT, find

from .entries import Drawn
from .matrix import Block, Matrix

if TYPE_CHECKING:
    from collections.abc import Iterable


def catalog(*, on: str, drawn: Drawn) -> Matrix:
    """Return every mistake that can be shown there, then every policy as its control."""
    target = find(DEFAULT)
    swarm = drawn is Drawn.SWARM
    mistakes = [name for name, mistake in target.mistakes.items() if on in mistake.places]
    axes: Iterable[tuple[str, list[str]]] = (("mistake", mistakes), ("policy", list(target.modes)))
    plan = {} if swarm else {"on": on}
    return Matrix(
        schema=1,
        runs=tuple(
            Block(swarm=swarm, plan=dict(plan), matrix={axis: list(values)})
            for axis, values in axes
            if values
        ),
    )
