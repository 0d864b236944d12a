"""A command that is printed can be typed as it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.program import command

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_what_the_shell_finds_is_called_by_its_name_and_else_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = tmp_path / "bin" / "lantern"
    ours.parent.mkdir()
    ours.write_text("#!/bin/sh\n")
    ours.chmod(0o755)
    monkeypatch.setenv("PATH", "/nowhere")
    assert command(str(ours)) == str(ours)
    monkeypatch.setenv("PATH", str(ours.parent))
    assert command(str(ours)) == "lantern"
    other = tmp_path / "lantern"
    other.write_text("")
    assert command(str(other)) == str(other)


def test_what_was_not_started_by_that_name_is_called_by_it_all_the_same() -> None:
    assert command("/usr/bin/python3") == "lantern"
