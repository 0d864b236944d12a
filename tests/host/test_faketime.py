"""The control file against the library's own arithmetic, and what is said where there is none."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from targets.cluster import ClockBend, ClockMode, TargetError, Unsupported
from targets.host import faketime
from targets.host.faketime import ControlFile

SECOND = 10**9


def text_of(directory: Path) -> str:
    return (directory / "timestamp").read_text()


def shown_ns(text: str, passed_ns: int) -> float:
    """Return what the library shows, from the process's start on: ``off + passed * rate``."""
    match = re.fullmatch(r"([+-]\d+\.\d{6}) x(\d+(?:\.\d+)?)\n", text)
    assert match, text
    return float(match[1]) * SECOND + passed_ns * float(match[2])


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 40), st.integers(-900_000, 4_000_000)), min_size=1, max_size=8))
def test_a_change_of_rate_never_steps_the_clock(changes: list[tuple[int, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as made:
        directory = Path(made)
        now_ns = 500 * SECOND
        patch.setattr(time, "monotonic_ns", lambda: now_ns)
        control = ControlFile(directory, ClockMode.RATE)
        control.environment()
        control._start_ns = start_ns = now_ns
        for wait_s, rate_ppm in changes:
            before = text_of(directory)
            now_ns += wait_s * SECOND
            control.bend(ClockBend(rate_ppm))
            after = text_of(directory)
            passed_ns = now_ns - start_ns
            assert abs(shown_ns(after, passed_ns) - shown_ns(before, passed_ns)) < 10_000
            gained_ns = shown_ns(after, passed_ns + SECOND) - shown_ns(after, passed_ns)
            assert abs(gained_ns - SECOND * (1 + rate_ppm / 1e6)) < 1_000


def test_the_file_is_never_there_half_written(tmp_path: Path) -> None:
    control = ControlFile(tmp_path, ClockMode.WALL)
    control.environment()
    first = (tmp_path / "timestamp").stat().st_ino
    control.bend(ClockBend(wall_offset_ns=-1_500_000_000))
    assert text_of(tmp_path) == "-1.500000 x1\n"
    assert (tmp_path / "timestamp").stat().st_ino != first, "replaced, not written over"


def test_the_two_modes_differ_in_what_happens_to_the_monotonic_clock(tmp_path: Path) -> None:
    for mode, untouched in ((ClockMode.WALL, "1"), (ClockMode.RATE, "0")):
        env = ControlFile(tmp_path, mode).environment()
        assert env["FAKETIME_DONT_FAKE_MONOTONIC"] == untouched
        assert env["FAKETIME_NO_CACHE"] == "1"
        assert "FAKETIME_XRESET" not in env
    assert ControlFile(tmp_path, ClockMode.NONE).environment() == {}


def test_without_a_library_clocks_are_unsupported_and_a_start_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faketime, "library", lambda: None)
    assert "libfaketime was not found" in (faketime.unavailable(ClockMode.RATE) or "")
    with pytest.raises(TargetError, match="libfaketime was not found"):
        ControlFile(tmp_path, ClockMode.RATE).environment()
    with pytest.raises(Unsupported, match="not armed"):
        ControlFile(tmp_path, ClockMode.NONE).bend(ClockBend(1))


def test_a_process_without_the_preload_is_found_out(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="came up without libfaketime"):
        ControlFile(tmp_path, ClockMode.RATE).started(os.getpid())
    assert not faketime.preloaded()


def test_only_what_a_dead_process_left_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faketime, "SHM", tmp_path)
    names = ["faketime_shm_71", "sem.faketime_sem_71", "faketime_shm_710", "faketime_shm_7", "other"]
    for name in names:
        (tmp_path / name).touch()
    assert len(faketime.sweep(71)) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names[2:])
    assert faketime.sweep(71) == []
