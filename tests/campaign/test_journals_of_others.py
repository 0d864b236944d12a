"""A journal is a file that anybody may have written: it decides what was run, and nothing else."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from harness.campaign.campaign import Campaign, Wanted
from harness.campaign.entries import Entry
from harness.campaign.journal import ROWS, Journal
from harness.campaign.row import Row
from harness.campaign.table import table
from harness.outcome import Outcome
from harness.store.rundir import RunDir

if TYPE_CHECKING:
    from pathlib import Path

SHORT = {"on": "sim", "rate": 50, "time": 2.0, "faults": "none", "allow": "not-exercised"}
RIGHT = Entry(name="right", expected=Outcome.PASS, options=SHORT)
WRONG = Entry(name="wrong", expected=Outcome.VIOLATION, options=SHORT)


def row(entry: Entry, seed: int, outcome: Outcome, **more: Any) -> Row:
    told = {"expected": entry.expected, "virtual_s": 2.0, **more}
    return Row(name=entry.name, seed=seed, outcome=outcome, **told)


def going_on(place: Path, entry: Entry, *rows: Row, seeds: int) -> tuple[Campaign, list[str]]:
    place.mkdir(exist_ok=True)
    (place / ROWS).write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in rows))
    journal, said = Journal(place), list[str]()
    running = Campaign([entry], Wanted(seeds=seeds), journal=journal, say=said.append)
    running.resume()
    running.run()
    journal.close()
    return running, said


@pytest.mark.parametrize(
    "claims", [{"expected": Outcome.VIOLATION}, {"known": True}, {"known": True, "rules": ("L4",)}]
)
def test_a_row_does_not_say_what_is_expected_of_it(tmp_path: Path, claims: dict[str, Any]) -> None:
    told = row(RIGHT, 0, Outcome.VIOLATION, reason="stale", **claims)
    running, _ = going_on(tmp_path / "c", RIGHT, told, seeds=1)
    assert running.reckoning.outcome is Outcome.VIOLATION
    assert (running.rows[0].expected, running.rows[0].known) == (Outcome.PASS, False)


def test_a_violation_of_what_the_entry_knows_stays_known(tmp_path: Path) -> None:
    knowing = msgspec.structs.replace(RIGHT, known=("L4",))
    known = row(RIGHT, 0, Outcome.VIOLATION, known=True, rules=("L4",), convicted=(("L4",),))
    assert going_on(tmp_path / "c", knowing, known, seeds=1)[0].reckoning.outcome is Outcome.PASS
    other = row(RIGHT, 0, Outcome.VIOLATION, known=True, rules=("L5",), convicted=(("L5",),))
    assert going_on(tmp_path / "d", knowing, other, seeds=1)[0].reckoning.outcome is Outcome.VIOLATION


@pytest.mark.parametrize("seed", [-5, 7777, 10**18])
def test_a_seed_that_is_none_of_the_campaigns_does_not_count_and_is_told(
    tmp_path: Path, seed: int
) -> None:
    good, strange = row(RIGHT, 0, Outcome.PASS), row(RIGHT, seed, Outcome.VIOLATION)
    running, said = going_on(tmp_path / "c", RIGHT, good, strange, seeds=1)
    assert [each.seed for each in running.rows] == [0]
    assert any(f"right seed {seed} (violation)" in line for line in said)


@pytest.mark.parametrize("name", ["mine", "0123456789ab", "20250101T000000-mine"])
@pytest.mark.parametrize("virtual_s", [0.0, 2.0])
def test_only_what_is_a_run_by_its_name_and_all_it_holds_is_removed(
    tmp_path: Path, name: str, virtual_s: float
) -> None:
    mine = tmp_path / "c" / name
    (mine / "evidence").mkdir(parents=True)
    for file in ("plan.yaml", "history.jsonl", "evidence/n1.jsonl", "thesis.tex"):
        (mine / file).write_text("years of work")
    if name == "mine":
        (mine / "thesis.tex").unlink()
    rows = [row(WRONG, seed, Outcome.VIOLATION) for seed in (0, 1)]
    rows[1] = msgspec.structs.replace(rows[1], run=name, virtual_s=virtual_s)
    running, _ = going_on(tmp_path / "c", WRONG, *rows, seeds=2)
    assert running.reckoning.outcome is Outcome.PASS
    assert (mine / "history.jsonl").exists()
    assert (mine / "evidence/n1.jsonl").exists()


def test_a_run_of_a_later_seed_is_let_go(tmp_path: Path) -> None:
    run_dir = tmp_path / "c" / "0123456789ab"
    (run_dir / "evidence").mkdir(parents=True)
    (run_dir / "plan.yaml").write_text("seed: 1")
    (run_dir / "report.html").write_text("")
    rows = [row(WRONG, seed, Outcome.VIOLATION) for seed in (0, 1)]
    rows[1] = msgspec.structs.replace(rows[1], run=run_dir.name)
    going_on(tmp_path / "c", WRONG, *rows, seeds=2)
    assert not run_dir.exists()


def test_a_link_is_no_run_of_ours(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (there / "plan.yaml").write_text("")
    (tmp_path / "0123456789ab").symlink_to(there)
    assert not RunDir(tmp_path / "0123456789ab").ours
    shutil.copytree(there, tmp_path / "0123456789ac")
    assert RunDir(tmp_path / "0123456789ac").ours


def test_a_run_that_is_not_there_any_more_is_not_kept(tmp_path: Path) -> None:
    told = row(RIGHT, 0, Outcome.VIOLATION, run="0123456789ab", reason="stale")
    running, said = going_on(tmp_path / "c", RIGHT, told, seeds=1)
    assert running.rows[0].run is None
    assert any("the run of seed 0 is not at" in line for line in said)
    assert not any(line.startswith("kept") for line in table(running.rows, running.summary()))


def test_what_an_interruption_left_out_is_not_blamed_on_a_budget(tmp_path: Path) -> None:
    running, _ = going_on(tmp_path / "c", RIGHT, seeds=1)
    summary = {**running.summary(), "not_run": ["m"], "outcome": "interrupted"}
    assert "interrupted, and nothing was run of m" in [*table(running.rows, summary)]
    over = {**summary, "cut_short": True, "outcome": "unknown"}
    assert "the budget was over, and nothing was run of m" in [*table(running.rows, over)]
    broken = {**summary, "reason": "no room", "outcome": "harness-failure"}
    assert "nothing was run of m" in [*table(running.rows, broken)]
