"""Scripts of `leasekv_desk` with what they must print; `--rewrite-leasekv` writes what they print."""

from __future__ import annotations

from pathlib import Path

import pytest
from leasekv_desk import Desk

FILES = sorted((Path(__file__).parent / "testdata").glob("*.txt"))


def replay(script: str) -> str:
    """Return the script with its expectations replaced by what it prints."""
    desk = Desk()
    blocks = []
    for block in script.strip("\n").split("\n\n"):
        commands = block.split("\n----")[0].splitlines()
        printed = [
            line for command in commands if not command.startswith("#") for line in desk.play(command)
        ]
        asks = not all(command.startswith(("#", "quiet ")) for command in commands)
        blocks.append("\n".join([*commands, *(["----", *printed] if asks else [])]))
    return "\n\n".join(blocks) + "\n"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_script_prints_what_it_printed_when_it_was_last_understood(
    file: Path, request: pytest.FixtureRequest
) -> None:
    before = file.read_text(encoding="utf-8")
    now = replay(before)
    if request.config.getoption("--rewrite-leasekv"):
        file.write_text(now, encoding="utf-8")
    assert now.splitlines() == before.splitlines()


def test_there_are_scripts() -> None:
    assert len(FILES) >= 5
