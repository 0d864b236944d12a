"""The history's writer: whole lines, out of our hands at every flush, honest when the disk is full."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from checker import formats
from checker.events import Event, EventType, Header
from harness.store.errors import StoreError, StoreFull
from harness.store.history import HistoryWriter

if TYPE_CHECKING:
    from pathlib import Path


def event(index: int) -> Event:
    return Event(
        index=index, time_ns=index, process=index, type=EventType.INVOKE, f="write", key="x", value=index
    )


def test_what_is_written_is_what_the_checker_reads(tmp_path: Path) -> None:
    writer = HistoryWriter(tmp_path / "h", Header(run="r", origin_ns=5, model="cas-register"))
    for index in range(10):
        writer.add(event(index))
    writer.close()
    writer.close()
    history = formats.read((tmp_path / "h").read_bytes(), name="h")
    assert len(history) == 10
    assert history.header == Header(run="r", origin_ns=5, model="cas-register")
    assert history.notes == ()


def test_the_header_is_there_before_anything_happens(tmp_path: Path) -> None:
    HistoryWriter(tmp_path / "h", Header())
    assert b'"schema":1' in (tmp_path / "h").read_bytes()


def test_a_flush_hands_the_lines_over(tmp_path: Path) -> None:
    writer = HistoryWriter(tmp_path / "h", Header())
    writer.add(event(0))
    writer.flush()
    assert (tmp_path / "h").read_bytes().count(b"\n") == 2
    writer.close()


def test_a_full_disk_leaves_whole_lines_and_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = HistoryWriter(tmp_path / "h", Header())
    writer.add(event(0))
    writer.flush()
    room = [150]
    real = os.write

    def write(descriptor: int, data: memoryview) -> int:
        fits = data[: room[0]]
        if not fits:
            raise OSError(28, "No space left on device")
        room[0] -= len(fits)
        return real(descriptor, fits)

    monkeypatch.setattr(os, "write", write)
    for index in range(1, 10):
        writer.add(event(index))
    with pytest.raises(StoreFull):
        writer.flush()
    writer.add(event(10))
    writer.flush()
    writer.close()
    monkeypatch.undo()
    assert isinstance(writer.broken, StoreFull)
    history = formats.read((tmp_path / "h").read_bytes(), name="h")
    assert history.notes == ()
    assert 1 < len(history) < 10


def test_a_history_is_never_written_over_or_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("x")
    (tmp_path / "link").symlink_to("elsewhere")
    for name in ("there", "link"):
        with pytest.raises(StoreError):
            HistoryWriter(tmp_path / name, Header())
    assert not (tmp_path / "elsewhere").exists()
