"""The journal: no run is lost and none is told twice, whenever it all ends."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec
import pytest

from harness.campaign.journal import LINE_MAX_BYTES, ROWS, Journal, fresh
from harness.campaign.row import Row
from harness.outcome import Outcome
from harness.store.errors import NotARun, Refused, StoreFull

if TYPE_CHECKING:
    from pathlib import Path


def row(seed: int, *, interrupted: bool = False) -> Row:
    return Row(name="a", seed=seed, outcome=Outcome.PASS, expected=Outcome.PASS, interrupted=interrupted)


def seeds(place: Path) -> list[int]:
    journal = Journal(place)
    try:
        return [each.seed for each in journal.rows()]
    finally:
        journal.close()


def write(place: Path, *rows: Row) -> None:
    journal = Journal(place)
    journal.rows()
    for each in rows:
        journal.write(each)
    journal.close()


@pytest.mark.parametrize("torn", [1, 20, 60])
def test_no_row_is_ever_written_behind_a_torn_one(tmp_path: Path, torn: int) -> None:
    place = tmp_path / "campaign"
    write(place, row(0), row(1))
    path = place / ROWS
    path.write_bytes(path.read_bytes()[:-torn])
    write(place, row(2))
    assert seeds(place) == [0, 2]
    write(place, row(1))
    assert seeds(place) == [0, 2, 1]


def test_what_was_cut_short_is_run_again_and_counts_once(tmp_path: Path) -> None:
    write(tmp_path, row(0, interrupted=True), row(1), row(1))
    assert seeds(tmp_path) == [1]
    write(tmp_path, row(0))
    assert seeds(tmp_path) == [1, 0]


def test_a_broken_line_in_the_middle_is_named(tmp_path: Path) -> None:
    write(tmp_path, row(0))
    path = tmp_path / ROWS
    path.write_bytes(b'{"name": 3}\n' + path.read_bytes())
    with pytest.raises(NotARun, match=r"rows.jsonl:1: "):
        seeds(tmp_path)


def test_a_journal_is_read_a_line_at_a_time_and_no_line_is_endless(tmp_path: Path) -> None:
    write(tmp_path, row(0))
    path = tmp_path / ROWS
    endless = b" " * LINE_MAX_BYTES
    whole = path.read_bytes()
    path.write_bytes(whole + endless)  # torn: nobody ended it
    assert seeds(tmp_path) == [0]
    assert path.read_bytes() == whole
    path.write_bytes(whole + endless + whole)
    with pytest.raises(NotARun, match=r"rows.jsonl:2: longer than 1048576 bytes"):
        seeds(tmp_path)


@pytest.mark.parametrize("run", ["../precious", "/tmp", "..", ".", "a/b", "", "-x"])
def test_a_journal_from_a_stranger_names_no_directory_elsewhere(tmp_path: Path, run: str) -> None:
    write(tmp_path, msgspec.structs.replace(row(0), run=run))
    with pytest.raises(NotARun, match=r"rows.jsonl:1: .* is no run of this campaign"):
        seeds(tmp_path)


def test_each_new_campaign_has_a_directory_of_its_own(tmp_path: Path) -> None:
    made = [fresh(tmp_path / "campaigns") for _ in range(3)]
    assert len({path.name for path in made}) == 3
    assert all(path.is_dir() for path in made)


def test_two_campaigns_do_not_share_a_directory(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    with pytest.raises(Refused, match="another campaign is running in there"):
        Journal(tmp_path)
    journal.close()
    Journal(tmp_path).close()


def test_what_is_no_campaigns_directory_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(Refused, match="no campaign's directory"):
        Journal(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_full_disk_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, row(0))
    journal = Journal(tmp_path)
    real = os.write

    def full(descriptor: int, data: bytes) -> int:
        if len(data) > 10:
            return real(descriptor, bytes(data)[:10])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(StoreFull):
            journal.write(msgspec.structs.replace(row(1), reason="x" * 3))
    journal.close()
    assert (tmp_path / ROWS).read_bytes().endswith(b"}\n")
    assert seeds(tmp_path) == [0]
