"""The limits while a history is read: an alarm that raises in what is bounded, and in nothing else."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.cli import reading
from harness.cli.reading import TooMuch, watched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cli_lantern import Lantern

GOOD = (
    b'{"process":0,"type":"invoke","f":"write","value":1}\n'
    b'{"process":0,"type":"ok","f":"write","value":1}\n'
)
OFTEN_S = 0.0003


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = signal.getsignal(signal.SIGALRM)
    monkeypatch.setattr(reading, "TICK_S", OFTEN_S)
    yield
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL)[1] == 0.0


def _until(seconds: float) -> None:
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        pass


def test_an_alarm_leaves_no_half_of_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = (
        "import time\nend_s = time.monotonic() + 0.2\nwhile time.monotonic() < end_s: pass\nWHOLE = 1\n"
    )
    (tmp_path / "imported_under_watch.py").write_text(body)
    monkeypatch.syspath_prepend(tmp_path)
    with (
        pytest.raises(TooMuch, match=r"0.05 s ran out"),
        watched(began_s=time.monotonic(), time_s=0.05, memory_bytes=1 << 40),
    ):
        import imported_under_watch  # type: ignore[import-not-found]  # noqa: F401
    assert sys.modules.pop("imported_under_watch").WHOLE == 1


def test_whoever_swallows_an_alarm_meets_it_again() -> None:
    met = 0

    def swallow() -> None:
        nonlocal met
        for _ in range(3):
            try:
                _until(5.0)
            except TooMuch:
                met += 1

    with (
        pytest.raises(TooMuch),
        watched(began_s=time.monotonic(), time_s=0.01, memory_bytes=1 << 40),
    ):
        swallow()
    assert met == 3


def test_an_alarm_raises_nowhere_but_in_its_block() -> None:
    for _ in range(300):
        with (
            pytest.raises(TooMuch),
            watched(began_s=time.monotonic(), time_s=0.0005, memory_bytes=1 << 40),
        ):
            _until(5.0)
        _until(0.0005)
    gc.collect()


@pytest.mark.parametrize("memory_mb", ["100", "4096"])
def test_many_looks_do_not_disturb_a_reading(lantern: Lantern, memory_mb: str) -> None:
    patch = f"import harness.cli.reading as reading\nreading.TICK_S = {OFTEN_S}\n"
    done = lantern("check", "--memory-limit", memory_mb, "-", patch=patch, data=GOOD)
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_endless_input_is_unknown_however_often_it_is_looked_at(lantern: Lantern) -> None:
    patch = f"import harness.cli.reading as reading\nreading.TICK_S = {OFTEN_S}\n"
    command = lantern.command("check", "--memory-limit", "100", "-", patch=patch)
    with Path("/dev/zero").open("rb") as zero:
        done = subprocess.run(command, stdin=zero, capture_output=True, timeout=50, check=False)
    assert done.returncode == 3, done
    assert done.stderr == b""
    assert b"100 MB" in done.stdout or b"50 MB" in done.stdout
