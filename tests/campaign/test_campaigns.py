"""Campaigns: what is expected, what is missed, and how it all ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from harness.campaign.campaign import Campaign, Wanted
from harness.campaign.drift import cell
from harness.campaign.entries import Drawn, Entry, catalog, chosen, from_file
from harness.campaign.lease_length import length
from harness.campaign.table import table
from harness.outcome import Outcome
from harness.plan import PlanError

if TYPE_CHECKING:
    from pathlib import Path

SHORT = {"on": "sim", "rate": 50, "time": 2.0, "faults": "none", "allow": "not-exercised"}
FOUND = {"on": "sim", "rate": 50, "mistake": "no-applied-wait"}


def entry(name: str, expected: Outcome, options: dict[str, Any]) -> Entry:
    return Entry(name=name, expected=expected, options=options)


def campaign(tmp_path: Path, *entries: Entry, **wanted: Any) -> Campaign:
    running = Campaign(entries, Wanted(**{"seeds": 2, **wanted}), store=tmp_path / "campaign")
    running.resume()
    running.run()
    return running


def test_what_is_expected_passes_and_the_first_seed_is_kept_whole(tmp_path: Path) -> None:
    running = campaign(
        tmp_path,
        entry("wrong", Outcome.VIOLATION, FOUND),
        entry("right", Outcome.PASS, SHORT),
        until_violation=True,
    )
    assert running.outcome is Outcome.PASS
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


def test_an_expected_violation_in_no_seed_is_missed(tmp_path: Path) -> None:
    running = campaign(tmp_path, entry("quiet", Outcome.VIOLATION, SHORT), seeds=1)
    assert (running.outcome, running.outcome.code) == (Outcome.EXPECTATION_MISSED, 7)
    assert running.missed == ("quiet",)


def test_a_violation_nobody_expected_keeps_its_word_and_is_kept(tmp_path: Path) -> None:
    running = campaign(
        tmp_path,
        entry("quiet", Outcome.VIOLATION, SHORT),
        entry("accused", Outcome.PASS, FOUND),
        seeds=1,
    )
    assert running.outcome is Outcome.VIOLATION
    assert running.rows[1].run is not None


def test_a_run_that_breaks_is_a_row_and_ends_nothing(tmp_path: Path) -> None:
    broken = entry("broken", Outcome.PASS, {**SHORT, "nodes": 99})
    running = campaign(tmp_path, broken, entry("right", Outcome.PASS, SHORT), seeds=1)
    assert [row.outcome for row in running.rows] == [Outcome.HARNESS_FAILURE, Outcome.PASS]
    assert running.outcome is Outcome.HARNESS_FAILURE


def test_a_campaign_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    right = entry("right", Outcome.PASS, SHORT)
    first = campaign(tmp_path, right, seeds=2)
    rows = tmp_path / "campaign" / "rows.jsonl"
    rows.write_bytes(rows.read_bytes()[:-20])  # torn
    again = campaign(tmp_path, right, seeds=3)
    assert [row.seed for row in again.rows] == [0, 1, 2]
    assert again.rows[0] == first.rows[0]


def test_many_processes_find_what_one_finds(tmp_path: Path) -> None:
    wrong = entry("wrong", Outcome.VIOLATION, FOUND)
    one = campaign(tmp_path / "one", wrong, seeds=2)
    two = campaign(tmp_path / "two", wrong, seeds=2, jobs=2)
    told = [[(row.seed, row.outcome, row.reason) for row in each.rows] for each in (one, two)]
    assert told[0] == told[1]


def test_the_catalog_has_every_mistake_and_a_control_for_each_policy() -> None:
    entries = catalog(on="sim", drawn=Drawn.SWARM)
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
    entries, seeds = from_file(file)
    assert (seeds, [each.drawn for each in entries]) == (3, [Drawn.AIMED, Drawn.SWARM])
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
        assert 0 <= (each.margin_ns or 0) - each.predicted_ns < 10_000_000


def test_a_longer_lease_costs_a_longer_silence() -> None:
    short, long = length("lease-renew", 0, 300), length("lease-renew", 0, 1000)
    assert short.outcome is long.outcome is Outcome.PASS
    assert short.silent_p50_ns is not None
    assert long.silent_p50_ns is not None
    assert short.silent_p50_ns < long.silent_p50_ns
    assert short.lease_share < long.lease_share
