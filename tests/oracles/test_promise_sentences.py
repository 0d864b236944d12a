"""A finding about a promise says who did what: a voter that waited its promise out broke nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from checker.oracles.promise import promise
from checker.timeline import build

if TYPE_CHECKING:
    from collections.abc import Callable

    from checker.evidence import EvidenceLine

    Draw = Callable[[str], tuple[EvidenceLine, ...]]

OUTLIVED = """
    n1 term=1 lease=200         |BLs2c  .  .  .  x
    n2 term=2 lease=20 for=n3   |B  p      v   .
    n3 term=2 lease=50          |B       .
"""


def sentence(draw: Draw, text: str) -> str:
    (finding,) = promise(build(draw(text)), nodes=("n1", "n2", "n3")).findings
    return finding.sentence


def test_a_lease_that_outlives_a_kept_promise_is_what_is_accused(draw: Draw) -> None:
    said = sentence(draw, OUTLIVED)
    assert said.startswith("a lease of n1 (term 1) outlived the promise of n2 that it rests on")
    assert "had ended 5" in said
    assert "n2's own clock when n2 voted for n3 in term 2" in said


@pytest.mark.parametrize(
    ("n2", "wanted"),
    [
        ("n2 term=2 lease=200 for=n3  |B  p      v   .", "its promise still ran for"),
        ("n2 term=2 lease=200 for=n3  |B         v   .", "it had made no promise since it booted"),
    ],
)
def test_a_vote_that_breaks_or_knows_no_promise_is_what_is_accused(
    draw: Draw, n2: str, wanted: str
) -> None:
    said = sentence(draw, OUTLIVED.replace("n2 term=2 lease=20 for=n3   |B  p      v   .", n2))
    assert said.startswith("n2 voted for n3 in term 2")
    assert "while a lease of n1 (term 1) that rests on its acknowledgement lived on" in said
    assert wanted in said
