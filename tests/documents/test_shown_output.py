"""What a page shows of a command's output is what the command prints.

A page may leave out whole lines, and what `[...]` stands for; how lines are folded is left to the width
of a terminal. What is asked of virtual time, by a seed, prints the very figures. Any other command is
asked of virtual time here, and each of its numbers stands for a number: there is no second run of
processes with the same ones.
"""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest
from docs_commands import ROOT, Command, shown

if TYPE_CHECKING:
    from pathlib import Path

RUN_S_MAX: Final = 250.0
HERE: Final = ("--on", "sim", "--seed", "1")
"""What else a run on processes is asked for; this seed bends a rate, as the run that is shown did."""
PAGES: Final = (ROOT / "docs/tutorial.md",)

_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")


def pattern(text: str, *, exact: bool) -> re.Pattern[str]:
    """Return what matches everything that a page may mean by this."""

    def word(said: str) -> str:
        if said == "[...]":
            return r"[\s\S]*?"
        numbers = r"\\d+(?:\\.\\d+)?"
        return re.escape(said) if exact else _NUMBER.sub(numbers, re.escape(said).replace(r"\.", "."))

    lines = [r"\s+".join(map(word, line.split())) for line in text.splitlines() if line.strip()]
    return re.compile(r"\s[\s\S]*?".join(lines))


def reads(command: Command) -> set[str]:
    return {word for word in command.words[1:] if "/" in word}


def makes(command: Command) -> str | None:
    words = command.words
    return words[words.index("--out") + 1] if "--out" in words else None


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_shows_is_what_its_commands_print(page: Path, tmp_path: Path) -> None:
    every = shown(page)
    needed = {place for command, text in every if text for place in reads(command)}
    exact: set[str] = set()
    compared = 0
    for command, text in every:
        made = makes(command)
        if not text and made not in needed:
            continue
        words = command.words
        repeatable = ("sim" in words and "--seed" in words) or bool(exact & reads(command))
        if made is not None and repeatable:
            exact.add(made)
        printed = output(tmp_path, *words, *(() if repeatable else HERE))
        if text:
            compared += 1
            wanted = pattern(text, exact=repeatable)
            assert wanted.search(printed), f"{command}\nshows\n{text}\nand prints\n{printed}"
    assert compared == 4


def output(place: Path, *arguments: str) -> str:
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "harness.cli.main", *arguments],
        cwd=place,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=RUN_S_MAX,
        check=False,
    )
    assert ended.returncode in {0, 1}, ended.stderr[-2000:]
    return ended.stdout


@pytest.mark.parametrize(
    ("text", "printed", "exact", "matches"),
    [
        ("clock-bend 9\n", "clock-bend 49994 ppm off (rate)\n", False, True),
        ("clock-bend 9 ppm\n", "clock-bend 49.5 ppm\n", False, True),
        ("clock-bend 9 ms\n", "clock-bend 9 ppm\n", False, False),
        ("after 171 runs\n", "after 135 runs\n", True, False),
        ("write 5 [...] began\n", "write 5 (process 12)\n   began\n", True, True),
        ("one\nthree\n", "one\ntwo\nthree\n", True, True),
        ("three\none\n", "one\ntwo\nthree\n", True, False),
        ("p12 read -> 5  |---|\n", "p2 read -> 47   |---|\n", False, True),
        ("n1 led\n", "nobody led\n", False, False),
    ],
)
def test_what_a_page_may_mean(text: str, printed: str, exact: bool, matches: bool) -> None:  # noqa: FBT001
    assert bool(pattern(text, exact=exact).search(printed)) == matches
