"""Disks that are really full: the kernel's own refusal, on a file system that was made small."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from targets.host.disk import SIZE_BYTES, Disk, unmount_all

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE = os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    place = tmp_path / "a disk"
    place.mkdir()
    disk = Disk(place)
    yield disk
    disk.remove()


def test_a_write_without_room_is_refused_by_the_kernel_after_its_beginning(disk: Disk) -> None:
    file = os.open(disk.path / "log", os.O_RDWR | os.O_CREAT)
    os.write(file, b"a" * (PAGE + 100))
    disk.set_room(0)
    assert disk.room_bytes() == 0
    assert os.write(file, b"b" * PAGE) == PAGE - 100, "the rest of the page"
    with pytest.raises(OSError, match="No space left on device") as refused:
        os.write(file, b"c")
    assert refused.value.errno == errno.ENOSPC
    with pytest.raises(OSError, match="No space left"):
        (disk.path / "another").write_bytes(b"d")
    disk.set_room(None)
    assert os.write(file, b"c" * PAGE) == PAGE
    assert os.pread(file, 3 * PAGE, 0) == b"a" * (PAGE + 100) + b"b" * (PAGE - 100) + b"c" * PAGE
    os.close(file)


def test_room_is_counted_in_pages_and_comes_back_whole(disk: Disk) -> None:
    assert disk.room_bytes() == SIZE_BYTES
    (disk.path / "log").write_bytes(b"a")
    for room, left in ((3 * PAGE, 3 * PAGE), (10, 0), (PAGE + 10, PAGE)):
        disk.set_room(room)
        assert disk.room_bytes() == left
    disk.set_room(None)
    assert disk.room_bytes() == SIZE_BYTES - PAGE


def test_what_is_on_it_is_known_by_its_device(disk: Disk, tmp_path: Path) -> None:
    assert disk.is_at(disk.path)
    assert not disk.is_at(tmp_path)


def test_a_dead_runs_directory_can_be_removed_once_nothing_is_mounted_in_it(
    disk: Disk, tmp_path: Path
) -> None:
    other = tmp_path / "deep/er"
    other.mkdir(parents=True)
    Disk(other)
    with pytest.raises(OSError, match="busy"):
        disk.path.rmdir()
    assert set(unmount_all(tmp_path)) == {disk.path, other}
    disk.path.rmdir()
    assert unmount_all(tmp_path) == ()
    disk.remove()
