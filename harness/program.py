r"""How this program was called, so that a command it prints can be typed, or pasted, as it stands.

A name may hold anything, a newline too. What a terminal would not show as it is, or a paste not carry,
is written in the shell's own escapes (``$'a\nb'``), so a printed command is one line of plain text. So
is what standard output has no bytes for: an escape of the encoder would name something else.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Final

NAME: Final = "lantern"


def command(argument_0: str | None = None) -> str:
    """Return ``lantern`` where a shell finds this one, else the path it was started by."""
    started = Path(sys.argv[0] if argument_0 is None else argument_0)
    found = shutil.which(NAME)
    if started.name != NAME or (found is not None and _same(Path(found), started)):
        return NAME
    return str(started)


def line(*words: str) -> str:
    """Return the command line of this program with these words, for a person to paste into a shell."""
    return " ".join(map(quoted, (command(), *words)))


def replaying(run: str, *options: str) -> str:
    """Return the command that runs a saved run once more, and compares."""
    return line("replay", _named(run), *options)


def judging(run: str) -> str:
    """Return the command that judges the history of a saved run again."""
    return line("check", _named(run))


def _named(run: str) -> str:
    """Return a run's path as an argument that is no option."""
    return f"./{run}" if run.startswith("-") else run


def quoted(word: str) -> str:
    """Return a word as a shell reads it: bare, quoted, or escaped where it holds what does not print."""
    if all(map(_carried, word)):
        return shlex.quote(word)
    return f"$'{''.join(map(_escaped, word))}'"


def _escaped(char: str) -> str:
    if char in "\\'":
        return f"\\{char}"
    if _carried(char):
        return char
    named = {"\n": "\\n", "\t": "\\t"}
    return named.get(char) or "".join(f"\\{byte:03o}" for byte in os.fsencode(char))


def _carried(char: str) -> bool:
    """Tell whether a character is seen, and comes out as itself."""
    if char.isascii() or not char.isprintable():
        return char.isprintable()
    try:
        char.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
