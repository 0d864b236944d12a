"""Many small keys with cas at once: one history made of all of them.

Below some hundreds of operations a key costs more to begin with than to decide. So the keys are laid
one behind another in time, each in a window of its own, and a value is a pair of key and value: what
comes out is the history of *one* register with unique values, and it fits some order iff every key
does. Each window opens with a write of the key's initial value.

Only a plain yes is worth having of all keys together. A conflict names its key, which is then judged on
its own, and so is everything where values repeat, where zones are unsure, or where unseen writes had to
be put in (an unseen write of one key must not stand in for another's).
"""

from __future__ import annotations

from itertools import compress, repeat
from operator import add
from typing import TYPE_CHECKING, Final

from checker.operations import NEVER
from checker.values import all_plain, tag
from checker.zones.lower import IS_PAIR, IS_PLAIN, Code, Lowered

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

_NOWHERE: Final = "before every window"


def batch(lowered: Lowered, keys: Sequence[Hashable], names: Sequence[Hashable]) -> Lowered | None:
    """Return one key's history that stands for all; None if so many windows cannot be told from `NEVER`.

    ``keys`` is the tagged key of each operation, ``names`` each key once.
    """
    codes, calls, returns = lowered.codes, lowered.calls, lowered.returns
    values = list(lowered.values)
    width = max(max(calls, default=0), max(filter(NEVER.__gt__, returns), default=0)) + 2
    if width * len(names) >= NEVER:
        return None
    windows = dict(zip(names, range(0, len(names) * width, width), strict=True))
    offsets = list(map(windows.__getitem__, keys))
    pairs = codes.translate(IS_PAIR)
    for i in compress(range(len(values)), pairs):
        old, new = values[i]
        values[i] = ((keys[i], tag(old)), (keys[i], tag(new)))
    plain = codes.translate(IS_PLAIN)
    if not all_plain(compress(values, plain)):
        for i in compress(range(len(values)), plain):
            values[i] = tag(values[i])
    for i in compress(range(len(values)), plain):
        values[i] = (keys[i], values[i])
    openings = [offset - 1 for offset in windows.values()]
    return Lowered(
        codes=bytes([Code.WRITE]) * len(openings) + codes,
        values=[*zip(names, repeat(lowered.start)), *values],
        calls=[*openings, *map(add, calls, offsets)],
        returns=[*openings, *map(add, returns, offsets)],
        start=_NOWHERE,
        tagged=True,
    )
