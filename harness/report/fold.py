"""Long lines, folded at the width of a terminal that nobody has made wider."""

from __future__ import annotations

import textwrap
from typing import Final

WIDTH: Final = 80


def folded(text: str, *, first: str = "", rest: str = "", width: int = WIDTH) -> list[str]:
    """Return ``text`` as lines, ``first`` before the first and ``rest`` before the others.

    Words are never broken: a path or a name can be copied, however long it is.
    """
    lines = textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines or [first.rstrip()]
