"""The second look itself: it finds what is wrong with an answer, and no flag turns it off."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from checker import CasRegister, Ties
from checker.paranoid import confirm, replay
from checker.shares import Shares
from checker.testing import drawn
from checker.verdict import Violation

if TYPE_CHECKING:
    from checker.part import Share

WRONG = """
from checker import CasRegister, Ties
from checker.paranoid import replay
from checker.shares import Shares
from checker.testing import drawn
history = drawn("0 |-w 1-| |-r 1-|")
(share,) = Shares(history, CasRegister(), None, history.spans(Ties.CONCURRENT))
replay(share, [0, 1])
replay(share, [1, 0])
"""


def share_of(drawing: str) -> Share:
    history = drawn(drawing)
    (share,) = Shares(history, CasRegister(), None, history.spans(Ties.CONCURRENT))
    return share


@pytest.mark.parametrize(
    ("drawing", "order", "why"),
    [
        ("0 |-w 1-| |-r 1-|", [1, 0], "does not fit"),
        ("0 |-w 1-| |-r 1-|", [0], "leaves out read -> 1"),
        ("0 |-w 1-| |-r 1-|", [0, 1, 1], "taken twice"),
        ("0 |-w 1-| |-w 2-|", [1, 0], "after its own return"),
    ],
)
def test_a_linearization_that_is_none_is_refused(drawing: str, order: list[int], why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        replay(share_of(drawing), order)


def test_a_proof_that_is_none_is_refused() -> None:
    share = share_of("0 |-w 1-| |-r 1-|")
    proof = Violation(key=share.key, operations=tuple(share.history), sentence="")
    with pytest.raises(AssertionError, match="fit an order"):
        confirm(share, proof)


def test_a_second_look_is_taken_under_python_o_too() -> None:
    done = subprocess.run(
        [sys.executable, "-O", "-c", WRONG], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "does not fit where the linearization puts it" in done.stderr
