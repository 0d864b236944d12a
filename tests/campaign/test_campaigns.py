"""Campaigns: what is expected, what is missed, and how it all ends."""

from __future__ import annotations

import json
import multiprocessing
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness.campaign.campaign import Campaign, Progress, Wanted
from harness.campaign.catalog import catalog
from harness.campaign.drift import Cell, cell
from harness.campaign.entries import Drawn, Entry, chosen, planted_in
from harness.campaign.file import from_file, of_matrix
from harness.campaign.journal import Journal
from harness.campaign.lease_length import length
from harness.campaign.row import Job, Row, row_of
from harness.campaign.row import _real as real_row
from harness.campaign.table import table
from harness.campaign.workers import Lost
from harness.outcome import Outcome
from harness.plan import PlanError
from harness.store.errors import StoreFull

SHORT = {"on": "sim", "rate": 50, "time": 2.0, "faults": "none", "allow": "not-exercised"}
FOUND = {"on": "sim", "rate": 50, "mistake": ["no-applied-wait"]}


def entry(name: str, expected: Outcome, options: dict[str, Any]) -> Entry:
    return Entry(name=name, expected=expected, options=options)


def campaign(tmp_path: Path, *entries: Entry, **wanted: Any) -> Campaign:
    journal = Journal(tmp_path / "campaign")
    running = Campaign(entries, Wanted(**{"seeds": 2, **wanted}), journal=journal)
    running.resume()
    running.run()
    journal.close()
    return running


def test_what_is_expected_passes_and_the_first_seed_is_kept_whole(tmp_path: Path) -> None:
    running = campaign(
        tmp_path,
        entry("wrong", Outcome.VIOLATION, FOUND),
        entry("right", Outcome.PASS, SHORT),
        until_violation=True,
    )
    assert running.reckoning.outcome is Outcome.PASS
    assert [(row.name, row.seed, row.first_seed) for row in running.rows] == [
        ("wrong", 0, 0),
        ("right", 0, None),
        ("right", 1, None),
    ]
    kept = running.rows[0].run
    assert kept is not None
    assert (tmp_path / "campaign").joinpath(kept.rsplit("/", 1)[-1], "history.jsonl").is_file()
    text = "\n".join(table(running.rows, running.summary()))
    assert "simulated seconds in" in text
    fast, slow = ({**running.summary(), "cpu_seconds": cpu_s} for cpu_s in (0.24, 12.4))
    assert " in 0.2 CPU seconds" in "\n".join(table(running.rows, fast))
    assert " in 12 CPU seconds" in "\n".join(table(running.rows, slow))


def test_a_planted_mistake_is_told_with_its_rule_its_price_and_where_it_shows(tmp_path: Path) -> None:
    entries = (entry("wrong", Outcome.VIOLATION, FOUND), entry("right", Outcome.PASS, SHORT))
    running = campaign(tmp_path, *entries, seeds=1)
    (mistake,) = planted_in(entries).values()
    lines = list(table(running.rows, running.summary(), {"wrong": mistake}))
    told = re.split(r"  +", lines[1])
    cost_s = f"{running.rows[0].cpu_s:.1f}"
    simulated_s = f"{running.rows[0].virtual_s:.0f}"
    assert told == ["wrong", "R6", "0", "1", simulated_s, cost_s, "R6", "sim local docker", "-"]
    assert re.split(r"  +", lines[4]) == ["right", "pass", "1", "0", "-", "1 pass"]


def test_an_expected_violation_in_no_seed_is_missed(tmp_path: Path) -> None:
    running = campaign(tmp_path, entry("quiet", Outcome.VIOLATION, SHORT), seeds=1)
    assert running.reckoning.outcome is Outcome.EXPECTATION_MISSED
    assert running.reckoning.missed == ("quiet",)


def test_a_violation_nobody_expected_keeps_its_word_and_is_kept(tmp_path: Path) -> None:
    running = campaign(
        tmp_path,
        entry("quiet", Outcome.VIOLATION, SHORT),
        entry("accused", Outcome.PASS, FOUND),
        seeds=1,
    )
    assert running.reckoning.outcome is Outcome.VIOLATION
    assert running.rows[1].run is not None


def test_a_run_that_breaks_is_a_row_and_ends_nothing(tmp_path: Path) -> None:
    broken = entry("broken", Outcome.PASS, {**SHORT, "nodes": 99})
    running = campaign(tmp_path, broken, entry("right", Outcome.PASS, SHORT), seeds=1)
    assert [row.outcome for row in running.rows] == [Outcome.HARNESS_FAILURE, Outcome.PASS]
    assert running.reckoning.outcome is Outcome.HARNESS_FAILURE


def test_a_campaign_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    right = entry("right", Outcome.PASS, SHORT)
    first = campaign(tmp_path, right, seeds=2)
    rows = tmp_path / "campaign" / "rows.jsonl"
    rows.write_bytes(rows.read_bytes()[:-20])  # torn
    again = campaign(tmp_path, right, seeds=3)
    assert [row.seed for row in again.rows] == [0, 1, 2]
    assert again.rows[0] == first.rows[0]


@pytest.mark.parametrize("outcome", ["violation", "unknown"])
def test_what_a_journal_gives_as_a_reason_is_one_line(tmp_path: Path, outcome: str) -> None:
    row = {"name": "right", "seed": 0, "outcome": outcome, "expected": "pass"}
    row["reason"] = "x\n::error::owned\x1b[2J"
    (tmp_path / "campaign").mkdir()
    (tmp_path / "campaign" / "rows.jsonl").write_text(f"{json.dumps(row)}\n")
    journal = Journal(tmp_path / "campaign")
    said: list[str] = []
    entries = [entry("right", Outcome.PASS, SHORT)]
    Campaign(entries, Wanted(seeds=1), journal=journal, say=said.append).resume()
    journal.close()
    assert said == [f"right: {outcome} at seed 0: x\\n::error::owned\\x1b[2J"]


def test_many_processes_find_what_one_finds(tmp_path: Path) -> None:
    wrong = entry("wrong", Outcome.VIOLATION, FOUND)
    one = campaign(tmp_path / "one", wrong, seeds=2)
    two = campaign(tmp_path / "two", wrong, seeds=2, jobs=2)
    told = [[(row.seed, row.outcome, row.reason) for row in each.rows] for each in (one, two)]
    assert told[0] == told[1]


def test_a_worker_that_dies_costs_no_run_and_doubles_none(tmp_path: Path) -> None:
    killed: list[int] = []

    def kill_one(progress: Progress) -> None:
        if progress.runs == 1 and not killed:
            worker = multiprocessing.active_children()[0]
            assert worker.pid is not None
            killed.append(worker.pid)
            worker.kill()

    journal = Journal(tmp_path / "campaign")
    right = entry("right", Outcome.PASS, SHORT)
    running = Campaign([right], Wanted(seeds=8, jobs=2), journal=journal, show=kill_one)
    running.run()
    rows = journal.rows()
    journal.close()
    assert killed
    assert running.reckoning.outcome is Outcome.PASS
    assert sorted(row.seed for row in rows) == list(range(8))


class Cursed:
    """Workers that one seed kills, whoever is with it."""

    hands = room = 3

    def __init__(self) -> None:
        self.flying: list[Job] = []

    def start(self, job: Job) -> None:
        self.flying.append(job)

    def ended(self) -> list[tuple[Job, Row | Lost]]:
        flying, self.flying = self.flying, []
        if any(job.seed == 1 for job in flying):
            return [(job, Lost("killed")) for job in flying]
        return [(job, row_of(job, "unused")) for job in flying]

    def stop(self) -> list[tuple[Job, Row | Lost]]:
        return []

    def close(self) -> None:
        pass


def test_a_run_that_kills_its_worker_is_told_from_those_that_were_with_it(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    running = Campaign([entry("right", Outcome.PASS, SHORT)], Wanted(seeds=4), journal=journal)
    running.run(Cursed())
    journal.close()
    told = [(row.seed, row.outcome) for row in running.rows]
    bad = Outcome.HARNESS_FAILURE
    assert told == [(0, Outcome.PASS), (1, bad), (2, Outcome.PASS), (3, Outcome.PASS)]
    assert "its worker died" in str(running.rows[1].reason)


def test_a_disk_that_fills_ends_a_campaign_with_the_rows_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Journal.write

    def full(self: Journal, row: Row) -> None:
        if row.seed == 2:
            raise StoreFull("rows.jsonl: No space left on device")
        real(self, row)

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "write", full)
        ended = campaign(tmp_path, entry("right", Outcome.PASS, SHORT), seeds=4)
    assert (ended.reckoning.outcome, [row.seed for row in ended.rows]) == (
        Outcome.HARNESS_FAILURE,
        [0, 1],
    )
    assert "ended early: rows.jsonl: No space left" in "\n".join(table(ended.rows, ended.summary()))
    again = campaign(tmp_path, entry("right", Outcome.PASS, SHORT), seeds=4)
    assert (again.reckoning.outcome, [row.seed for row in again.rows]) == (Outcome.PASS, [0, 1, 2, 3])


@pytest.mark.parametrize(
    "trouble", [StoreFull("4 MB free"), OSError(28, "No space left on device"), OSError(122, "quota")]
)
def test_what_failed_for_want_of_room_is_run_again_by_whoever_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: Exception
) -> None:
    def full(*_: object, **__: object) -> None:
        raise trouble

    right = entry("right", Outcome.PASS, SHORT)
    told = []
    for fails in (True, False, True):
        with monkeypatch.context() as patched:
            if fails:
                patched.setattr("harness.campaign.row.simulate", full)
            (row,) = campaign(tmp_path, right, seeds=1, jobs=1).rows
        told.append((row.outcome, row.no_room))
    passed = (Outcome.PASS, False)
    assert told == [(Outcome.HARNESS_FAILURE, True), passed, passed]


def test_what_failed_otherwise_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    right = entry("right", Outcome.PASS, SHORT)
    with monkeypatch.context() as patched:
        patched.setattr("harness.campaign.row.simulate", broken)
        campaign(tmp_path, right, seeds=1, jobs=1)
    (row,) = campaign(tmp_path, right, seeds=1, jobs=1).rows
    assert (row.outcome, row.no_room) == (Outcome.HARNESS_FAILURE, False)


def test_a_run_that_broke_says_where_its_traceback_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr("harness.campaign.row.simulate", broken)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    row = row_of(Job(entry("right", Outcome.PASS, SHORT), 0), str(tmp_path / "store"))
    assert row.outcome is Outcome.HARNESS_FAILURE
    assert row.reason is not None
    found = re.fullmatch(r"the run broke: KeyError: 'x' \(traceback saved in (.+)\)", row.reason)
    assert found is not None
    assert "in broken\n" in Path(found[1]).read_text()


def test_what_the_budget_left_unseen_is_no_pass(tmp_path: Path) -> None:
    running = campaign(
        tmp_path,
        entry("first", Outcome.PASS, SHORT),
        entry("second", Outcome.PASS, SHORT),
        budget_s=1e-9,
        seeds=None,
    )
    assert running.reckoning.outcome is Outcome.UNKNOWN
    assert running.reckoning.not_run == ("first", "second")
    assert "nothing was run of first, second" in "\n".join(table(running.rows, running.summary()))


class Waiting:
    """Two workers, with whom four more runs may wait; ``flying`` is how many they had at each end."""

    hands, room = 2, 6

    def __init__(self) -> None:
        self.flying: list[int] = []
        self._jobs: list[Job] = []

    def start(self, job: Job) -> None:
        self._jobs.append(job)

    def ended(self) -> list[tuple[Job, Row | Lost]]:
        self.flying.append(len(self._jobs))
        job = self._jobs.pop(0)
        return [(job, Row(name="right", seed=job.seed, outcome=Outcome.PASS, expected=Outcome.PASS))]

    def stop(self) -> list[tuple[Job, Row | Lost]]:
        return []

    def close(self) -> None:
        pass


@pytest.mark.parametrize(("budget_s", "most"), [(None, 6), (60.0, 2)])
def test_under_a_budget_no_run_waits_to_be_started_after_it(
    tmp_path: Path, budget_s: float | None, most: int
) -> None:
    journal, workers = Journal(tmp_path), Waiting()
    wanted = Wanted(seeds=8, budget_s=budget_s)
    running = Campaign([entry("right", Outcome.PASS, SHORT)], wanted, journal=journal)
    running.run(workers)
    journal.close()
    assert (len(running.rows), max(workers.flying)) == (8, most)


def test_a_known_violation_is_expected_and_told(tmp_path: Path) -> None:
    accused = msgspec.structs.replace(entry("accused", Outcome.PASS, FOUND), known=("R6", "L99"))
    running = campaign(tmp_path, accused, seeds=1)
    (row,) = running.rows
    assert (row.outcome, row.known, row.rules) == (Outcome.VIOLATION, True, ("R6",))
    assert row.on == "sim"
    assert running.reckoning.outcome is Outcome.PASS
    assert row.run is not None
    text = "\n".join(table(running.rows, running.summary()))
    assert "known: 1 violation" in text
    assert "known and not seen: L99" in text


def test_what_is_known_is_what_is_said_now(tmp_path: Path) -> None:
    accused = entry("accused", Outcome.PASS, FOUND)
    excused = msgspec.structs.replace(accused, known=("R6",))
    for each, outcome, known in (
        (accused, Outcome.VIOLATION, False),
        (excused, Outcome.PASS, True),
        (accused, Outcome.VIOLATION, False),
    ):
        running = campaign(tmp_path, each, seeds=1)
        assert [row.known for row in running.rows] == [known]
        assert running.reckoning.outcome is outcome
        assert running.reckoning.known_unseen == ()
    assert len((tmp_path / "campaign" / "rows.jsonl").read_text().splitlines()) == 1


def test_only_the_first_of_the_expected_violations_is_kept(tmp_path: Path) -> None:
    running = campaign(tmp_path, entry("wrong", Outcome.VIOLATION, FOUND), seeds=3, jobs=2)
    assert [row.outcome for row in running.rows] == [Outcome.VIOLATION] * 3
    assert [row.run is not None for row in running.rows] == [True, False, False]
    kept = [path.name for path in (tmp_path / "campaign").iterdir() if path.is_dir()]
    assert kept == [str(running.rows[0].run).rsplit("/", 1)[-1]]


@pytest.mark.parametrize(("first", "whole"), [(True, True), (False, False)])
def test_of_real_runs_what_failed_is_whole_and_the_rest_small(
    tmp_path: Path,
    first: bool,  # noqa: FBT001
    whole: bool,  # noqa: FBT001
) -> None:
    wrong = entry("wrong", Outcome.VIOLATION, FOUND)
    right = entry("right", Outcome.PASS, SHORT)
    for each, kept in ((wrong, whole), (right, False)):
        row = real_row(Job(each, 0, first), each.plan(0), tmp_path)
        directory = tmp_path / str(row.run)
        names = {path.name for path in directory.iterdir()}
        small = {"plan.yaml", "schedule.yaml", "verdict.json", "junit.xml", "environment.json"}
        assert (row.outcome, small <= names) == (each.expected, True)
        assert ({"history.jsonl", "evidence"} <= names) is kept


def test_the_catalog_has_every_mistake_and_a_control_for_each_policy() -> None:
    entries = of_matrix(catalog(on="sim", drawn=Drawn.SWARM))
    assert {each.expected for each in entries} == {Outcome.PASS, Outcome.VIOLATION}
    assert [each.name for each in chosen(entries, ["readindex"])] == ["readindex"]
    with pytest.raises(PlanError, match="no name of this campaign"):
        chosen(entries, ["nothing"])


def test_a_file_of_runs_is_checked_before_anything_starts(tmp_path: Path) -> None:
    file = tmp_path / "campaign.yaml"
    file.write_text(
        "schema: 1\nseeds: 3\nruns:\n"
        "  - name: a\n    expect: violation\n    plan: {on: sim, mistake: role-only-read}\n"
        "  - name: b\n    swarm: true\n"
    )
    read = from_file(file)
    told = [each.drawn for each in read.entries]
    assert (read.matrix.seeds, told) == (3, [Drawn.AIMED, Drawn.SWARM])
    file.write_text("schema: 1\nruns:\n  - name: a\n    plan: {on: nowhere}\n")
    with pytest.raises(PlanError, match=r"campaign.yaml:4: unknown word 'nowhere'"):
        from_file(file)
    file.write_text(
        "schema: 1\nruns:\n  - name: a\n    plan:\n      schedule:\n      - {do: pause, target: n9}\n"
    )
    with pytest.raises(PlanError, match=r"campaign.yaml:6: .*n9"):
        from_file(file)
    file.write_text("schema: 1\nruns:\n  - name: a\n    swarm: true\n    plan:\n      nodes: 5\n")
    with pytest.raises(PlanError, match=r"campaign.yaml:6: a swarm draws nodes itself"):
        from_file(file)
    file.write_text("schema: 1\nruns:\n  - name: a\n    swarm: true\n    plan: {mistake: none-such}\n")
    with pytest.raises(PlanError, match="unknown mistake 'none-such'"):
        from_file(file)
    file.write_text("schema: 1\nruns:\n  - name: a\n    extra: 1\n")
    with pytest.raises(PlanError, match=r"campaign.yaml:3: .*extra"):
        from_file(file)


def test_a_campaign_file_runs_nobodys_code(tmp_path: Path) -> None:
    code = tmp_path / "client.py"
    code.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    file = tmp_path / "campaign.yaml"
    for swarm in ("true", "false"):
        file.write_text(
            f"schema: 1\nruns:\n  - name: a\n    swarm: {swarm}\n    plan: {{target: {code}}}\n"
        )
        with pytest.raises(PlanError, match=r"campaign.yaml:5: a Python file is code"):
            from_file(file)
    assert not (tmp_path / "ran").exists()


def test_a_lease_is_clean_at_the_bound_and_caught_beyond_the_edge() -> None:
    at_the_bound = cell("lease-renew", 0, 1.0, (-1, 1), 50_000)
    beyond = cell("lease-renew", 0, 1.5, (-1, 1), 50_000)
    assert at_the_bound.counted is beyond.counted is Outcome.PASS
    assert at_the_bound.margin_ns is not None
    assert beyond.margin_ns is not None
    assert beyond.margin_ns < 0 < at_the_bound.margin_ns
    for each in (at_the_bound, beyond):
        assert each.predicted_ns is not None
        assert 0 <= (each.margin_ns or 0) - each.predicted_ns < 10_000_000


@pytest.mark.parametrize("predicted_ms", [None, 5, -5, -50])
@pytest.mark.parametrize("margin_ms", [None, 5])
@pytest.mark.parametrize("outcome", ["malformed", "harness-failure", "unknown", "not-exercised"])
def test_a_cell_without_a_verdict_keeps_its_own_word(
    outcome: str, margin_ms: int | None, predicted_ms: int | None
) -> None:
    told = Cell(
        leader_ppm=0,
        followers_ppm=0,
        bounds=1.0,
        predicted_ns=None if predicted_ms is None else predicted_ms * 1_000_000,
        margin_ns=None if margin_ms is None else margin_ms * 1_000_000,
        outcome=Outcome(outcome),
        kind=None,
    )
    assert told.counted is Outcome(outcome)


def test_a_grant_twice_as_long_has_twice_as_much_to_lose_and_a_time_service_nothing() -> None:
    renewed, granted = (cell(name, 0, 2.0, (-1, 1), 50_000) for name in ("lease-renew", "lease-oneshot"))
    assert renewed.predicted_ns is not None
    assert granted.predicted_ns is not None
    assert granted.predicted_ns < 2 * renewed.predicted_ns < 0
    assert granted.outcome is Outcome.VIOLATION
    told = cell("lease-interval", 0, 2.0, (-1, 1), 50_000)
    assert (told.predicted_ns, told.outcome) == (None, Outcome.PASS)
    assert told.margin_ns is not None
    assert told.margin_ns > 0


def test_a_longer_lease_costs_a_longer_silence() -> None:
    short, long = length("lease-renew", 0, 300), length("lease-renew", 0, 1000)
    assert short.outcome is long.outcome is Outcome.PASS
    assert short.silent_p50_ns is not None
    assert long.silent_p50_ns is not None
    assert short.silent_p50_ns < long.silent_p50_ns
    assert short.lease_share < long.lease_share


def test_a_violation_that_finds_no_room_is_one_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise StoreFull("4 MB are free")

    monkeypatch.setattr("harness.campaign.row.keep", full)
    done = campaign(tmp_path, entry("m", Outcome.PASS, FOUND), seeds=1, jobs=1)
    (row,) = done.rows
    assert (row.outcome, row.run) == (Outcome.VIOLATION, None)
    assert "not kept: 4 MB are free" in str(row.reason)
    stopped = campaign(tmp_path, entry("m", Outcome.PASS, FOUND), seeds=1, jobs=1, budget_s=1e-9)
    assert [(each.outcome, each.run) for each in stopped.rows] == [(Outcome.VIOLATION, None)]
    monkeypatch.undo()
    for _ in range(2):
        again = campaign(tmp_path, entry("m", Outcome.PASS, FOUND), seeds=1, jobs=1)
        (row,) = again.rows
        assert (row.outcome, row.unkept) == (Outcome.VIOLATION, False)
        assert "not kept" not in str(row.reason)
        assert row.run is not None
        assert (tmp_path / "campaign" / row.run.rsplit("/", 1)[-1] / "history.jsonl").is_file()
    assert len((tmp_path / "campaign" / "rows.jsonl").read_text().splitlines()) == 2
