"""Trace files: cases of commands, ``----`` and what they must print, with comments that make claims.

A case is a block between blank lines. ``pytest tests/run --rewrite-run`` writes what the code prints
now; commit the difference only if you understand it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

TESTDATA = Path(__file__).parent / "testdata"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-run", action="store_true", help="rewrite the traces of tests/run")


@pytest.fixture
def replay(request: pytest.FixtureRequest) -> Callable[[str, Callable[[list[str]], list[str]]], None]:
    """Return a function that runs every case of a file and compares, or rewrites it."""

    def run(name: str, play: Callable[[list[str]], list[str]]) -> None:
        path = TESTDATA / name
        cases = [case.splitlines() for case in path.read_text().strip("\n").split("\n\n")]
        found = []
        for case in cases:
            split = case.index("----") if "----" in case else len(case)
            commands = [line for line in case[:split] if not line.startswith("#")]
            found.append([*case[:split], "----", *play(commands)])
        if request.config.getoption("--rewrite-run"):
            path.write_text("\n\n".join("\n".join(case) for case in found) + "\n")
        assert found == cases

    return run
