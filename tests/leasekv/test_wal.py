"""The log against a dumb reader: a list of the records that were synced."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from targets.leasekv import wal
from targets.leasekv.membership import Membership
from targets.leasekv.messages import Entry, Op, Snapshot
from targets.leasekv.ports import HardState, Persist, Restored

Persists = list[Persist]

unhurried = settings(deadline=None)  # a busy host is no reason to fail


@st.composite
def persists(draw: st.DrawFn) -> Persists:
    """Draw what a core may ask for: entries that follow on or replace a tail, or a snapshot."""
    found: Persists = []
    last = base = 0
    for seq in range(1, draw(st.integers(1, 6)) + 1):
        hard = draw(st.none() | st.builds(HardState, st.integers(0, 99), st.sampled_from([None, "n1"])))
        count = draw(st.integers(0, 3))
        snapshot = None
        if draw(st.integers(0, 3)) == 0:
            base = last = base + draw(st.integers(0, 5))
            snapshot = Snapshot(base, seq, Membership(("n1", "n2")), None, [["x", base]])
            hard = hard or HardState(seq, "n2")
        first = draw(st.integers(max(base + 1, last - 1), last + 1))
        value = draw(st.integers(0, 5) | st.text(max_size=400))
        entries = tuple(Entry(first + n, seq, Op.WRITE, "x", value) for n in range(count))
        last = entries[-1].index if entries else last
        found.append(Persist(seq, hard, entries, snapshot))
    return found


def expected(done: Persists) -> Restored:
    """Return what a node must find: the dumb oracle."""
    hard, snapshot = HardState(), None
    entries: dict[int, Entry] = {}
    for persist in done:
        hard = persist.hard or hard
        if persist.snapshot:
            snapshot, entries = persist.snapshot, {}
        if persist.entries:
            first = persist.entries[0].index
            entries = {index: entry for index, entry in entries.items() if index < first}
            entries |= {entry.index: entry for entry in persist.entries}
    return Restored(0, hard, tuple(entries[index] for index in sorted(entries)), snapshot)


def fitting(done: Persists, room_bytes: int) -> int:
    """Count the syncs that a disk has room for; a snapshot's file stands beside the old one at first."""
    head = len(wal.MAGIC) + len(wal.encode(wal.Record(1, None, ())))
    size = head
    for count, (persist, record) in enumerate(zip(done, records(done), strict=True)):
        needed = len(record) + (head if persist.snapshot else 0)
        if needed > room_bytes:
            return count
        room_bytes += (size if persist.snapshot else 0) - needed
        size = needed if persist.snapshot else size + needed
    return len(done)


def records(done: Persists) -> list[bytes]:
    return [wal.encode(wal.Record(None, each.hard, each.entries, each.snapshot)) for each in done]


@unhurried
@given(persists(), st.data())
def test_any_cut_is_a_torn_tail_and_loses_only_the_record_it_cuts(
    done: Persists, data: st.DataObject
) -> None:
    parts = records(done)
    whole = wal.MAGIC + b"".join(parts)
    cut = data.draw(st.integers(0, len(whole)))
    found = wal.scan(whole[:cut], name="wal")
    kept = 0
    while kept < len(parts) and len(wal.MAGIC + b"".join(parts[: kept + 1])) <= cut:
        kept += 1
    assert found.restored == expected(done[:kept])
    clean = cut in (0, *(len(wal.MAGIC + b"".join(parts[:n])) for n in range(len(parts) + 1)))
    assert (found.note is None) == clean


@unhurried
@given(persists(), st.data())
def test_any_flipped_byte_is_refused_with_its_record(done: Persists, data: st.DataObject) -> None:
    whole = bytearray(wal.MAGIC + b"".join(records(done)))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(wal.Damaged) as refusal:
        wal.scan(bytes(whole), name="n1/wal")
    assert refusal.value.offset <= at
    assert f"n1/wal: damaged at offset {refusal.value.offset}" in str(refusal.value)


@unhurried
@given(persists(), st.integers(1, 5000))
def test_a_tail_of_nul_bytes_is_cut(done: Persists, size: int) -> None:
    whole = wal.MAGIC + b"".join(records(done))
    found = wal.scan(whole + bytes(size), name="wal")
    assert found.end == len(whole)
    assert found.restored == expected(done)
    assert found.note is not None
    assert "NUL bytes" in found.note


def test_a_record_whose_last_sectors_were_never_written_is_torn() -> None:
    first, second = records([Persist(1, None, (Entry(1, 1, Op.WRITE, "x", "v" * 3000),))] * 2)
    upto = 1024
    found = wal.scan(wal.MAGIC + first + second[:upto] + bytes(len(second) - upto), name="wal")
    assert found.restored.entries == (Entry(1, 1, Op.WRITE, "x", "v" * 3000),)
    assert found.note is not None
    assert "never written" in found.note


@pytest.mark.parametrize("size", [10, 3000])
def test_nul_bytes_in_front_of_a_whole_record_are_damage(size: int) -> None:
    lost = (Entry(1, 1, Op.WRITE, "x", "v" * size),)
    first, second = records([Persist(1, None, lost), Persist(2, HardState(2, "n1"), ())])
    with pytest.raises(wal.Damaged):
        wal.scan(wal.MAGIC + bytes(len(first)) + second, name="wal")


def test_a_gap_between_entries_is_damage() -> None:
    (lonely,) = records([Persist(1, None, (Entry(2, 1, Op.WRITE, "x", 1),))])
    with pytest.raises(wal.Damaged, match="entry 2 after entry 0"):
        wal.scan(wal.MAGIC + lonely, name="wal")


def test_a_file_of_another_kind_is_refused() -> None:
    with pytest.raises(wal.Damaged, match="not the head"):
        wal.scan(b"#!/bin/sh\necho this is no log of ours\n", name="wal")


@unhurried
@given(persists())
def test_a_batch_in_one_record_says_what_its_steps_said(done: Persists) -> None:
    merged = wal.encode(wal.merge(done))
    assert wal.scan(wal.MAGIC + merged, name="wal").restored == expected(done)


def test_what_was_synced_is_there_after_a_reopen_and_boots_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "wal"
    first = wal.WalFile(path)
    assert first.restored == Restored(boot=1)
    entries = (Entry(1, 1, Op.WRITE, "x", 1), Entry(2, 1, Op.WRITE, "x", 2))
    first.sync([Persist(1, HardState(1, "n1"), entries), Persist(2, None, (Entry(2, 2, Op.NOOP),))])
    first.close()
    second = wal.WalFile(path)
    assert second.restored == Restored(2, HardState(1, "n1"), (entries[0], Entry(2, 2, Op.NOOP)))
    assert second.note is None
    second.close()


def test_a_torn_tail_is_gone_from_the_file_after_one_boot(tmp_path: Path) -> None:
    path = tmp_path / "wal"
    wal.WalFile(path).close()
    with path.open("ab") as file:
        file.write(wal.encode(wal.Record(None, HardState(5, None), ()))[:-1])
    torn = wal.WalFile(path)
    assert torn.note is not None
    torn.close()
    clean = wal.WalFile(path)
    assert clean.note is None
    assert clean.restored.boot == 3
    clean.close()


def test_two_nodes_do_not_share_a_log(tmp_path: Path) -> None:
    held = wal.WalFile(tmp_path / "wal")
    with pytest.raises(wal.WalError, match="another process"):
        wal.WalFile(tmp_path / "wal")
    held.close()


def test_a_refused_log_is_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "wal"
    data = bytearray(wal.MAGIC + b"".join(records([Persist(1, HardState(1, "n1"), ())] * 2)))
    data[len(wal.MAGIC) + 20] ^= 1
    path.write_bytes(data)
    open_files = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(wal.Damaged):
        wal.WalFile(path)
    assert path.read_bytes() == data
    assert len(list(Path("/proc/self/fd").iterdir())) == open_files


@unhurried
@given(persists(), st.integers(0, 200))
def test_a_full_disk_keeps_what_was_synced_and_the_next_start_finds_room(
    tmp_path_factory: pytest.TempPathFactory, done: Persists, room_bytes: int
) -> None:
    path = tmp_path_factory.mktemp("full") / "wal"
    log = wal.WalFile(path)
    log.set_room(room_bytes)
    kept = 0
    with suppress(OSError):
        for persist in done:
            log.sync([persist])
            kept += 1
    assert kept == fitting(done, room_bytes)
    log.close()
    again = wal.WalFile(path)
    found = expected(done[:kept])
    assert again.restored == msgspec.structs.replace(found, boot=2)
    assert [file.name for file in path.parent.iterdir()] == ["wal"]
    again.sync([Persist(99, HardState(7, None), ())])
    again.close()
