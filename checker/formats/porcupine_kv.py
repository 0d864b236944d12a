"""Porcupine's key-value test data: EDN maps with ``:key``, and get, put and append on strings.

The text is EDN; what is its own is the convention: a get of "" says that the key was absent, and nil is
a value like any other.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from checker.conventions import Conventions
from checker.formats import edn

if TYPE_CHECKING:
    from checker.formats.source import Rows, Source

NAME: Final = "porcupine-kv"
CONVENTIONS: Final = Conventions(order_by_stamp=False)
_EVENT: Final = re.compile(rb"\{:process \d+, :type :\w+, :f :(get|put|append), :key ")


def sniff(head: bytes) -> bool:
    """Return whether a file that starts with ``head`` is of this format."""
    return _EVENT.match(head.lstrip()) is not None


def rows(source: Source) -> Rows:
    """Return the events of ``source`` with their lines."""
    return edn.rows(source)
