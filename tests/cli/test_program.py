"""A command that is printed can be typed as it stands."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import TYPE_CHECKING

from hypothesis import example, given
from hypothesis import strategies as st

from harness.program import command, quoted, replaying
from harness.report.escape import whole

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


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20))
@example("a\nb")
@example("\x1b[31m'\\ \t$x`")
@example("\u202e\x85\u2028")
@example("")
def test_any_word_is_one_line_of_plain_text_that_a_shell_reads_back(word: str) -> None:
    shown = quoted(word)
    assert whole(shown) == shown
    assert shown.isprintable()
    read = subprocess.run(["bash", "-c", f"printf %s {shown}"], capture_output=True, check=True)
    assert read.stdout.decode() == word


def test_a_run_whose_name_looks_like_an_option_is_a_path_all_the_same() -> None:
    assert replaying("-x") == "lantern replay ./-x"
    assert replaying("a\nb", "--trust") == "lantern replay $'a\\nb' --trust"


def test_what_standard_output_cannot_say_is_named_by_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert quoted("caf\u00e9") == r"$'caf\303\251'"
    read = subprocess.run(["bash", "-c", f"printf %s {quoted('-x é')}"], capture_output=True, check=True)
    assert read.stdout.decode() == "-x é"
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    assert quoted("caf\u00e9") == "'caf\u00e9'"
    monkeypatch.setattr(sys, "stdout", None)
    assert quoted("caf\u00e9") == "'caf\u00e9'"
