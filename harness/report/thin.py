"""Evidence too large to be drawn whole: all of it around the proof, elsewhere what is rare and a sample.

A node writes several lines for each operation. Most of them say once more what the line before said: a
promise renewed, a lease checked. What is drawn of a long run are bands of many such lines, and a few
hundred of those give the same picture; but votes, terms, leaderships, starts and anomalies are all
kept, wherever they are. Oracles never see anything thinned.

Lines are in the order of the true clock, so a stretch of time is a stretch of the file.
"""

from __future__ import annotations

import re
from typing import Final

WHOLE_MAX_BYTES: Final = 64 << 20
AROUND_MAX_BYTES: Final = 16 << 20
SAMPLED_LINES: Final = 12_000
_RARE: Final = re.compile(
    rb'"fact":"(?:boot|vote|term"|role|revoke|transfer|anomaly|session|grant"|store)'
)
_STAMP: Final = re.compile(rb'"true_ns":\[(\d{1,19}),')


def thinned(data: bytes, around_ns: tuple[int, int]) -> bytes:
    """Return fewer lines of an evidence file; ``around_ns`` is a stretch of the true clock kept whole.

    Of that stretch, too, no more than `AROUND_MAX_BYTES` are kept.
    """
    first = data.find(b"\n") + 1
    low, high = (_seek(data, at_ns) for at_ns in around_ns)
    high = max(low, min(high, low + AROUND_MAX_BYTES))
    starts = {_start(data, found.start()) for found in _RARE.finditer(data)}
    step = max(len(data) // SAMPLED_LINES, 1)
    starts |= {_start(data, at) for at in range(first, len(data), step)}
    before = [data[at : _end(data, at)] for at in sorted(starts) if first <= at < low]
    after = [data[at : _end(data, at)] for at in sorted(starts) if at >= max(high, first)]
    return b"".join([data[:first], *before, data[max(low, first) : high], *after])


def _seek(data: bytes, at_ns: int) -> int:
    """Return where the first line begins that was written at ``at_ns`` or later."""
    low, high = 0, len(data)
    while low < high:
        middle = _start(data, (low + high) // 2)
        end = _end(data, middle)
        stamp = _STAMP.search(data, middle, end)
        if stamp is None or int(stamp.group(1)) < at_ns:
            low = end
        else:
            high = middle
    return low


def _start(data: bytes, at: int) -> int:
    return data.rfind(b"\n", 0, at) + 1


def _end(data: bytes, at: int) -> int:
    end = data.find(b"\n", at)
    return len(data) if end < 0 else end + 1
