"""Series over the whole run: rate and latency by path, and what each node's clock did.

Every series is at most `POINTS_MAX` points, whatever the run. A chart's x is seconds from the origin; a
point where nothing is known is None. What is drawn with the series, faults and the view, is the page's.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import cycle
from typing import TYPE_CHECKING, Final

import msgspec

from harness.report.escape import plain
from harness.report.tally import rank

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterator, Mapping, Sequence

    from checker.timeline import Boot, Timeline, Timelines
    from harness.report.load import RunData
    from harness.report.tally import Tally

POINTS_MAX: Final = 240
NODES_MAX: Final = 9
NAME_CHARS_MAX: Final = 40
STYLES: Final = 8
FAILED: Final = 5
_STYLES: Final = {"cas": 0, "lease": 1, "follower": 3, "readindex": 4, "write": 6}
RATE_WINDOW_NS: Final = 500_000_000


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """A line. ``style`` picks its colour, dashes and point; ``x`` in seconds."""

    name: str
    style: int
    x: tuple[float, ...]
    y: tuple[float | None, ...]
    dashed: bool = False


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """A chart. ``band`` is what was declared to be the most and the least of y; ``log`` a scale."""

    name: str
    title: str
    unit: str
    about: str
    series: tuple[Series, ...]
    log: bool = False
    band: tuple[float, float] | None = None


def charts_of(run: RunData) -> tuple[Chart, ...]:
    """Return every chart that there is something for. Names are made plain: a script shows them."""
    charts = [_rates(run.skimmed.tally), _latencies(run.skimmed.tally)]
    if run.timelines is not None:
        charts += _clocks(run, run.timelines)
    return tuple(chart for chart in charts if chart.series)


def _name(text: str) -> str:
    return plain(text, chars_max=NAME_CHARS_MAX)


def _styled(tally: Tally) -> Iterator[tuple[str, int, Mapping[int, array[int]]]]:
    """Yield each path with its style, where it has one the colour that it has in the figure."""
    free = cycle(style for style in range(STYLES) if style not in {FAILED, *_STYLES.values()})
    for path, bins in sorted(tally.bins.items()):
        yield path, _STYLES[path] if path in _STYLES else next(free), bins


def _rates(tally: Tally) -> Chart:
    width_s = tally.width_ns / 1e9
    bins = sorted({place for each in tally.bins.values() for place in each} | set(tally.failed))
    places = range(bins[0], bins[-1] + 1) if bins else range(0)
    x = tuple(round((place + 0.5) * width_s, 4) for place in places)
    series = [
        Series(
            name=_name(path),
            style=style,
            x=x,
            y=tuple(round(len(each.get(place, ())) / width_s, 2) for place in places),
        )
        for path, style, each in _styled(tally)
    ]
    if tally.failed:
        y = tuple(round(tally.failed.get(place, 0) / width_s, 2) for place in places)
        series.append(Series(name="failed or unknown", style=FAILED, x=x, y=y, dashed=True))
    return Chart(
        name="rate",
        title="Operations a second, by how they were answered",
        unit="1/s",
        about=f"Counted in bins of {width_s * 1e3:.0f} ms, by when they ended.",
        series=tuple(series),
    )


def _latencies(tally: Tally) -> Chart:
    series = []
    for path, style, bins in _styled(tally):
        places = sorted(bins)
        x = tuple(round((place + 0.5) * tally.width_ns / 1e9, 4) for place in places)
        ordered = [sorted(bins[place]) for place in places]
        for percent in (50, 99):
            y = tuple(max(rank(each, percent), 1) / 1e6 for each in ordered)
            series.append(
                Series(name=f"{_name(path)} p{percent}", style=style, x=x, y=y, dashed=percent == 99)
            )
    return Chart(
        name="latency",
        title="Latency, median and 99th percentile",
        unit="ms",
        log=True,
        about="From call to return of operations that ended ok.",
        series=tuple(series),
    )


def _clocks(run: RunData, timelines: Timelines) -> list[Chart]:
    wall = run.plan is not None and run.plan.clock == "wall"
    which = "wall" if wall else "monotonic"
    offsets, rates = [], []
    for style, timeline in enumerate([*timelines.values()][:NODES_MAX]):
        points = [
            _boot(timeline, boot, timelines.origin_ns, run.end_ns, wall=wall) for boot in timeline.boots
        ]
        offsets.append(_series(timeline.node, style, [each[0] for each in points]))
        rates.append(_series(timeline.node, style, [each[1] for each in points]))
    drift = None if run.plan is None else run.plan.drift_ppm / 1e4
    return [
        Chart(
            name="offset",
            title=f"How far each node's {which} clock is off",
            unit="ms",
            about="Since the boot began, against the true clock.",
            series=tuple(offsets),
        ),
        Chart(
            name="clock-rate",
            title="How fast each node's monotonic clock runs",
            unit="%",
            about="Too fast is above 0; dashed lines are the declared bound, on which leases rest.",
            series=tuple(rates),
            band=None if drift is None else (-drift, drift),
        ),
    ]


_Points = list[tuple[float, float | None]]


def _series(node: str, style: int, boots: Sequence[_Points]) -> Series:
    points: _Points = []
    for boot in boots:
        if points and boot:
            points.append((boot[0][0], None))  # the line is not drawn over the time that it was down
        points += boot
    return Series(
        name=_name(node), style=style, x=tuple(p[0] for p in points), y=tuple(p[1] for p in points)
    )


def _boot(
    timeline: Timeline, boot: Boot, origin_ns: int, end_ns: int, *, wall: bool
) -> tuple[_Points, _Points]:
    """Return the offset of a clock and the rate of the monotonic one in a boot, evenly spread."""
    lines, before_ns = timeline.lines, timeline.before_ns
    step_ns = max(end_ns // POINTS_MAX, 1)
    offsets: _Points = []
    rates: _Points = []
    taken: list[tuple[int, int]] = []
    place = boot.first
    first = lines[place]
    while place <= boot.last:
        line = lines[place]
        true_ns = line.true_ns[0]
        x = round((true_ns - origin_ns) / 1e9, 4)
        shown_ns, began_ns = (each.wall_ns if wall else each.own_ns for each in (line, first))
        offsets.append((x, round(((shown_ns - began_ns) - (true_ns - first.true_ns[0])) / 1e6, 3)))
        taken.append((true_ns, line.own_ns))
        since = _before(taken, true_ns - max(RATE_WINDOW_NS, step_ns))
        if since is not None:
            passed_ns = true_ns - since[0]
            rates.append((x, round(((line.own_ns - since[1]) / passed_ns - 1) * 100, 4)))
        place = max(place + 1, bisect_left(before_ns, true_ns + step_ns, place + 1, boot.last + 1))
    return offsets, rates


def _before(taken: Sequence[tuple[int, int]], true_ns: int) -> tuple[int, int] | None:
    """Return the last pair taken no later than an instant."""
    at = bisect_left(taken, (true_ns + 1, 0)) - 1
    return taken[at] if at >= 0 else None
