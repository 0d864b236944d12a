"""The nemesis machine, told what happens line by line: see ``testdata``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    "name", ["reactive.txt", "trouble.txt", "overlap.txt", "final_heal.txt", "members.txt"]
)
def test_the_machine_does_what_its_trace_says(traced: Callable[[str], None], name: str) -> None:
    traced(name)
