"""Can this host bend a node's clocks? Found out on a child, armed exactly as a node is.

The child shows its own clocks between two readings of the true one. What it shows before and after a
bend must be what was asked for, and the true clock must not have moved with it: stamps of evidence
rest on that.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Final

import msgspec

from targets.cluster import ClockBend, ClockMode, TargetError
from targets.host import faketime
from targets.trueclock import Stamp

RATE_PPM: Final = 500_000
WALL_OFFSET_NS: Final = -3_600_000_000_000
ERROR_NS_MAX: Final = 20_000_000
_BEND_S: Final = 0.2
_HERE: Final = Path(__file__).resolve().parents[2]

_CHILD: Final = f"""
import sys
sys.path.insert(0, {str(_HERE)!r})
import msgspec
from targets.trueclock import Clocks, open_clock
clocks = Clocks(open_clock())
for _ in sys.stdin:
    print(msgspec.json.encode(clocks.stamp()).decode(), flush=True)
"""


def bend(mode: ClockMode) -> str | None:
    """Bend a child's clocks in this mode; return what went wrong, None if they bent as asked."""
    try:
        return _bend(mode)
    except TargetError as error:
        return str(error)


def _bend(mode: ClockMode) -> str | None:
    asked = (
        ClockBend(rate_ppm=RATE_PPM)
        if mode is ClockMode.RATE
        else ClockBend(wall_offset_ns=WALL_OFFSET_NS)
    )
    with tempfile.TemporaryDirectory(prefix="lantern-probe-") as directory:
        control = faketime.ControlFile(Path(directory), mode)
        environment = control.environment()
        with subprocess.Popen(  # noqa: S603 - ourselves
            [sys.executable, "-P", "-c", _CHILD],
            env={"PATH": "/usr/bin:/bin", **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as child:
            try:
                assert child.stdin is not None
                assert child.stdout is not None
                unbent = _ask(child.stdin, child.stdout)
                control.started(child.pid)
                control.bend(asked)
                first = _ask(child.stdin, child.stdout)
                time.sleep(_BEND_S)
                last = _ask(child.stdin, child.stdout)
            finally:
                child.kill()
        faketime.sweep(child.pid)
    return wrong(asked, unbent, first, last)


def _ask(questions: IO[bytes], answers: IO[bytes]) -> Stamp:
    questions.write(b"\n")
    questions.flush()
    answer = answers.readline()
    if not answer:
        raise TargetError("a process that is armed with it does not live")
    return msgspec.json.decode(answer, type=Stamp)


def wrong(asked: ClockBend, unbent: Stamp, first: Stamp, last: Stamp) -> str | None:
    """Return what is wrong with a child's clocks: before the bend, right after it, and at the end."""
    true_ns = last.true_ns[0] - first.true_ns[0]
    if abs(true_ns - _BEND_S * 1e9) > 1e9:
        return f"the true clock of a node went {true_ns / 1e9:.2f} s in {_BEND_S} s"
    own_ns = last.own.mono_ns - first.own.mono_ns
    wanted_ns = true_ns * (1_000_000 + asked.rate_ppm) // 1_000_000
    if abs(own_ns - wanted_ns) > ERROR_NS_MAX:
        return (
            f"a monotonic clock went {own_ns / 1e6:.0f} ms where {wanted_ns / 1e6:.0f} ms were asked for"
        )
    if asked.wall_offset_ns:
        moved_ns = first.own.wall_ns - unbent.own.wall_ns - (first.true_ns[0] - unbent.true_ns[0])
        if abs(moved_ns - asked.wall_offset_ns) > ERROR_NS_MAX:
            return f"a wall clock jumped by {moved_ns} ns, not by {asked.wall_offset_ns} ns"
    return None
