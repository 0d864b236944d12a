"""The audit measures what clocks did, within what stamps allow, and accuses nobody."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.evidence import Booted, EvidenceLine, Refused, Slept
from checker.oracles.clock_audit import clock_audit, measure
from checker.oracles.result import OracleOutcome
from checker.timeline import MS, SECOND, Timelines, build

EVERY = 10 * MS


def ticking(
    *,
    ppm: int = 0,
    jump_ns: int = 0,
    wall_jump_ns: int = 0,
    bracket_ns: int = 0,
    boots: int = 1,
    seconds: int = 4,
) -> Timelines:
    """One node, a line every 10 ms; jumps come halfway, every boot starts its clock anew."""
    lines = []
    count = seconds * SECOND // EVERY
    for place in range(count):
        true_ns = place * EVERY
        boot = place * boots // count
        own_ns = true_ns + true_ns * ppm // 1_000_000 + boot * 77 * SECOND
        wall_ns = own_ns - boot * 77 * SECOND
        if place > count // 2:
            own_ns += jump_ns
            wall_ns += wall_jump_ns
        starts = place == 0 or boot != (place - 1) * boots // count
        fact = Booted(boot + 1, 1) if starts else Refused(1, "MISMATCH")
        lines.append(
            EvidenceLine("n1", own_ns, wall_ns, (true_ns - bracket_ns, true_ns + bracket_ns), fact)
        )
    return build(lines)


@given(st.integers(-900_000, 900_000), st.sampled_from((0, 1000, 5 * MS)))
def test_a_rate_is_measured_to_what_the_stamps_allow(ppm: int, bracket_ns: int) -> None:
    report = measure(ticking(ppm=ppm, bracket_ns=bracket_ns)["n1"])
    assert report.windows > 10
    assert abs(report.rate_error_ppm) <= abs(ppm)
    assert abs(report.rate_error_ppm - ppm) <= 2 + 4 * bracket_ns * 2_000_000 // SECOND


def test_clocks_that_start_anew_with_a_boot_are_not_bent() -> None:
    report = measure(ticking(boots=2)["n1"])
    assert report.rate_error_ppm == 0
    assert report.windows > 4


def test_a_wall_jump_is_an_offset_and_no_rate() -> None:
    report = measure(ticking(wall_jump_ns=-3 * SECOND)["n1"])
    assert (report.rate_error_ppm, report.wall_offset_ns) == (0, -3 * SECOND)


def test_a_rate_at_the_declared_bound_stays_inside_and_beyond_it_is_outside() -> None:
    inside = clock_audit(ticking(ppm=-50_000), drift_ppm=50_000)
    assert (inside.outcome, inside.findings) == (OracleOutcome.OK, ())
    outside = clock_audit(ticking(ppm=-80_000), drift_ppm=50_000)
    assert outside.outcome is OracleOutcome.OUTSIDE
    assert "-80000 ppm off at worst, beyond the declared 50000 ppm" in outside.findings[0].sentence
    assert outside.figures["outside"] == outside.figures["windows"]


def test_steps_of_a_fake_are_granularity_and_no_broken_bound() -> None:
    assert clock_audit(ticking(ppm=50_000, jump_ns=6 * MS), drift_ppm=50_000).findings == ()
    assert clock_audit(ticking(ppm=50_000, jump_ns=60 * MS), drift_ppm=50_000).findings != ()


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("drift_ppm", "seconds"), [(50_000, 3), (5_000, 4), (500, 16)])
def test_four_times_a_small_bound_is_outside_and_the_bound_itself_is_not(
    drift_ppm: int, seconds: int, sign: int
) -> None:
    """A second's window alone would forgive 10,000 ppm: a small bound is told by the longer ones."""
    bent = clock_audit(ticking(ppm=4 * sign * drift_ppm, seconds=seconds), drift_ppm=drift_ppm)
    assert bent.outcome is OracleOutcome.OUTSIDE
    kept = clock_audit(ticking(ppm=sign * drift_ppm, seconds=seconds), drift_ppm=drift_ppm)
    assert kept.outcome is OracleOutcome.OK


@pytest.mark.parametrize("ppm", [0, 40_000, -40_000])
def test_a_host_that_slept_has_no_clock_of_another_rate(ppm: int) -> None:
    """Its clock stands still for longer than a window, which is what no bound allows a rate."""
    (timeline,) = ticking(ppm=ppm, seconds=12).values()
    half, nap_ns = len(timeline.lines) // 2, 3 * SECOND
    lines = [
        msgspec.structs.replace(
            line,
            true_ns=(line.true_ns[0] + nap_ns, line.true_ns[1] + nap_ns),
            wall_ns=line.wall_ns + nap_ns,
            what=Slept(1, nap_ns) if place == half else line.what,
        )
        if place >= half
        else line
        for place, line in enumerate(timeline.lines)
    ]
    audit = clock_audit(build(lines), drift_ppm=50_000)
    assert (audit.outcome, audit.findings) == (OracleOutcome.OK, ())
    assert abs(audit.figures["rate_error_ppm.n1"] - ppm) <= 2
    untold = [
        msgspec.structs.replace(line, what=Refused(1, "MISMATCH"))
        if line.what == Slept(1, nap_ns)
        else line
        for line in lines
    ]
    assert clock_audit(build(untold), drift_ppm=50_000).outcome is OracleOutcome.OUTSIDE


def test_nothing_declared_is_nothing_broken() -> None:
    assert clock_audit(ticking(ppm=500_000)).findings == ()
    assert clock_audit(build(()), drift_ppm=1).outcome is OracleOutcome.UNAVAILABLE
