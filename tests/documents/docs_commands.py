"""The commands that the documents tell a user to type, as they stand there.

A command is a line of a block (indented by four, or fenced) that begins with `lantern`, or `make run`;
what follows `#` is a remark. One inside a sentence, in backquotes, is a *mention*: it may leave out the
rest. A block indented by four that is no command is what the command before it prints, where a page
*shows* output.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))

_BLOCK = re.compile(r"^(?: {4,}|\$ )?(?:(?:\.venv/bin/)?lantern |make (?=run\b))(?P<rest>.*)$")
_MENTION = re.compile(r"`(?:\.venv/bin/)?lantern (?P<rest>[^`]+)`")


@dataclass(frozen=True, slots=True)
class Command:
    """The words after `lantern`, and where they stand: `README.md:23`."""

    where: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.where} {shlex.join(self.words)}"


def commands(page: Path) -> list[Command]:
    """Return the commands of a page's blocks, in their order."""
    found = []
    fenced = False
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif (fenced or line.startswith("    ")) and (match := _BLOCK.match(line)):
            found.append(
                Command(f"{page.name}:{number}", tuple(shlex.split(match["rest"], comments=True)))
            )
    return found


def mentions(page: Path) -> list[Command]:
    """Return what is called `lantern ...` within sentences."""
    text = page.read_text("utf-8")
    return [
        Command(f"{page.name}:{text.count(chr(10), 0, match.start()) + 1}", tuple(match["rest"].split()))
        for match in _MENTION.finditer(text)
    ]


def all_commands() -> list[Command]:
    """Return every command once, from the page that has it first."""
    first: dict[tuple[str, ...], Command] = {}
    for page in PAGES:
        for command in commands(page):
            first.setdefault(command.words, command)
    return list(first.values())


def shown(page: Path) -> list[tuple[Command, str]]:
    """Return each command of a page with what it is shown to print, "" where nothing is."""
    found: list[tuple[Command, str]] = []
    its = {command.where: command for command in commands(page)}
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        command = its.get(f"{page.name}:{number}")
        if command is not None:
            found.append((command, ""))
        elif line.startswith("    ") and found:
            last, text = found[-1]
            found[-1] = (last, f"{text}{line}\n")
    return found
