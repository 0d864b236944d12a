"""`lantern serve`: who is answered, what is listed, and that a stranger's run stays text."""

from __future__ import annotations

import errno
import json
import os
import re
import tracemalloc
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from serve_store import SCRIPT, a_run, get

from harness.campaign.journal import Journal
from harness.plan import plan_from
from harness.run.run import run
from harness.serve import app
from harness.serve.campaigns import SHOWN_MAX_BYTES
from harness.serve.compare import compared
from harness.serve.shelf import Shelf

if TYPE_CHECKING:
    from pathlib import Path

    from harness.serve.campaigns import Campaign

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    place = tmp_path / "store"
    a_run(place / "runs" / "one", seed=11)
    a_run(
        place / "runs" / "two", outcome="pass", rules=(), policy="readindex", mistake="none", reason=""
    )
    a_run(place / "runs" / "three", kind="lease-overlap", rules=("L12", "F1"), target="etcd")
    return place


def listed(text: str) -> list[str]:
    return re.findall(r'name="one" value="([^"]*)"', text)


def test_every_run_is_listed_with_what_came_of_it(store: Path) -> None:
    answer = get(store, "/")
    assert answer.status == 200
    assert sorted(listed(answer.text)) == ["runs/one", "runs/three", "runs/two"]
    assert "violation/lease-overlap" in answer.text
    assert "L12, F1" in answer.text
    assert ">11<" in answer.text


@pytest.mark.parametrize(
    ("query", "runs"),
    [
        ("outcome=pass", ["runs/two"]),
        ("rule=L4", ["runs/one"]),
        ("rule=F1", ["runs/three"]),
        ("target=etcd", ["runs/three"]),
        ("target=leasekv&outcome=violation", ["runs/one"]),
        ("policy=readindex&rule=L4", []),
        ("mistake=role-only-read", ["runs/one", "runs/three"]),
        ("text=READINDEX", ["runs/two"]),
        ("outcome=", ["runs/one", "runs/three", "runs/two"]),
        ("outcome=nonsense", []),
        ("from=99999999999", ["runs/one", "runs/three", "runs/two"]),
        ("from=-1&unknown=1", ["runs/one", "runs/three", "runs/two"]),
    ],
)
def test_runs_are_filtered(store: Path, query: str, runs: list[str]) -> None:
    answer = get(store, "/", query)
    assert answer.status == 200
    assert sorted(listed(answer.text)) == runs


@pytest.mark.parametrize("place", [".", "runs"])
def test_a_store_is_a_directory_of_runs_or_what_is_around_it(store: Path, place: str) -> None:
    assert len(listed(get(store / place, "/").text)) == 3


def test_many_runs_come_in_pages(tmp_path: Path) -> None:
    for number in range(205):
        a_run(tmp_path / f"r{number:03d}")
    first, second = get(tmp_path, "/"), get(tmp_path, "/", "from=200")
    assert (len(listed(first.text)), len(listed(second.text))) == (200, 5)
    assert "205 of 205 runs, 201 to 205" in second.text


# Who is answered.


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8787", "127.0.0.1.evil.example", "", "0.0.0.0"]
)
def test_another_name_for_this_machine_is_refused(store: Path, host: str) -> None:
    answer = get(store, "/", host=host)
    assert answer.status == 400
    assert "one" not in answer.text


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:8787"])
def test_the_names_of_loopback_are_answered(store: Path, host: str) -> None:
    assert get(store, "/", host=host).status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"])
def test_only_get_is_answered(store: Path, method: str) -> None:
    answer = get(store, "/", method=method)
    assert (answer.status, answer.headers["allow"]) == (405, "GET")


@pytest.mark.parametrize("path", ["/", "/style.css", "/nowhere", "/report", "/compare"])
def test_every_answer_tells_a_browser_what_it_may_not_do(store: Path, path: str) -> None:
    headers = get(store, path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert path == "/style.css" or "default-src 'none'" in headers["content-security-policy"]


@pytest.mark.parametrize(
    "name",
    [
        "../secret",
        "/etc",
        "..",
        ".",
        "",
        "runs",
        "runs/../../secret",
        "runs/one/../one",
        "runs/one/",
        "runs/one%00",
    ],
)
def test_nothing_outside_the_store_is_shown(store: Path, name: str) -> None:
    a_run(store.parent / "secret", reason="confidential")
    for path, query in (
        ("/report", f"run={quote(name)}"),
        ("/campaign", f"name={quote(name)}"),
        ("/compare", f"one=runs/one&other={quote(name)}"),
    ):
        answer = get(store, path, query)
        assert answer.status in (400, 404)
        assert "confidential" not in answer.text


def test_links_are_not_followed(store: Path, tmp_path: Path) -> None:
    elsewhere = a_run(tmp_path / "elsewhere", reason="confidential")
    (store / "runs" / "linked").symlink_to(elsewhere)
    os.rename(store / "runs" / "one" / "verdict.json", tmp_path / "v")  # noqa: PTH104 - short
    (store / "runs" / "one" / "verdict.json").symlink_to(elsewhere / "verdict.json")
    text = get(store, "/").text
    assert "linked" not in text
    assert "confidential" not in text
    assert "no verdict" in text


def test_an_endless_query_is_refused(store: Path) -> None:
    assert get(store, "/", "text=" + "a" * 5000).status == 414


# What strangers write.


def test_what_a_run_says_stays_text(store: Path) -> None:
    name = f"runs/{HOSTILE}"
    a_run(
        store / "runs" / HOSTILE,
        outcome=SCRIPT,
        reason=f"\x1b[2J{SCRIPT}\u202e",
        rules=(SCRIPT,),
        target=HOSTILE,
        policy=f'"{HOSTILE}',
        mistake=SCRIPT,
    )
    asked = quote(HOSTILE)
    for path, query in (
        ("/", ""),
        ("/", f"text={quote(SCRIPT)}"),
        ("/report", f"run={asked}"),
        ("/report", f"run={quote(name)}"),
        ("/campaign", f"name={asked}"),
        ("/compare", f"one=runs/one&other={quote(name)}"),
    ):
        text = get(store, path, query).text
        assert "<img" not in text
        assert SCRIPT not in text
        assert not {"\x1b", "\u202e"} & set(text)


def test_a_run_that_was_killed_says_so_and_no_path_of_this_machine(store: Path) -> None:
    (store / "runs" / "one" / "verdict.json").unlink()
    text = get(store, "/", "outcome=no verdict").text
    assert '<div class="reason">it has not come to its end: it is under way, or was killed</div>' in text
    assert text.count(str(store)) == 1  # what is looked at, above all of it


def test_a_sentence_is_not_cut_by_less_than_it_takes_to_say_so(store: Path) -> None:
    a_run(store / "runs" / "long", reason="y" * 301)
    a_run(store / "runs" / "longer", reason="z" * 400)
    text = get(store, "/").text
    assert f">{'y' * 301}</div>" in text
    assert f">{'z' * 300}... (100 characters more)</div>" in text


@pytest.mark.parametrize(
    "verdict",
    [
        "",
        "[]",
        "{}",
        "{",
        '{"schema": 9}',
        '{"schema": 1, "outcome": 3}',
        '{"schema": 1, "rules": "L4"}',
        "[" * 99999,
    ],
)
def test_a_verdict_that_is_none_is_told_and_hides_no_other_run(store: Path, verdict: str) -> None:
    (store / "runs" / "one" / "verdict.json").write_text(verdict)
    answer = get(store, "/")
    assert answer.status == 200
    assert len(listed(answer.text)) == 3
    assert "no verdict" in answer.text
    assert get(store, "/compare", "one=runs/one&other=runs/two").status == 200


def test_a_word_of_any_length_leaves_the_other_runs_their_place(store: Path) -> None:
    long = "Z" * 5000
    a_run(
        store / "runs" / "long", outcome=long, rules=(long, long), target=long[:150], mistake=long[:90]
    )
    (store / "c").mkdir()
    row = {"name": "a", "seed": 1, "outcome": "violation", "expected": "pass", "kind": long}
    (store / "c" / "rows.jsonl").write_text(json.dumps({**row, "rules": [long]}) + "\n")
    for path, query in (("/", ""), ("/campaign", "name=c")):
        text = get(store, path, query).text
        cells = re.findall(r'<td class="(?:short|n|outcome)[^>]*>(.*?)</td>', text, re.DOTALL)
        shown = [re.sub(r"<[^>]*>", "", cell) for cell in cells]
        assert any("ZZZ" in cell for cell in shown)
        assert max(map(len, shown)) <= 60


def test_a_comparison_of_rubbish_is_a_page(store: Path) -> None:
    rubbish = {
        "reads": {"lease": 3},
        "oracles": [1],
        "exercised": "x",
        "planted": 7,
        "faults": {"a": None},
    }
    run = a_run(store / "runs" / "rubbish", largest_stall_ns="long")
    told = json.loads((run / "verdict.json").read_text())
    (run / "verdict.json").write_text(json.dumps({**told, **rubbish}))
    (store / "runs" / "rubbish" / "plan.yaml").write_text("- 1\n")
    assert get(store, "/compare", "one=runs/rubbish&other=runs/two").status == 200


# Reports, campaigns, comparisons.


def test_a_report_is_made_from_the_data_and_never_served_as_it_lies_there(tmp_path: Path) -> None:
    asked = {"on": "sim", "mistake": "role-only-read", "seed": 3, "time": 4.0, "rate": 50}
    made = run(plan_from(None, asked), store_dir=tmp_path / "runs").directory
    (made / "report.html").write_text(SCRIPT)
    answer = get(tmp_path, "/report", f"run=runs/{made.name}")
    assert answer.status == 200
    assert SCRIPT not in answer.text
    assert "acknowledged write" in answer.text
    assert answer.headers["content-security-policy"] == "frame-ancestors 'none'"


def test_a_report_that_breaks_is_a_page_and_no_end(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_directory: Path) -> bytes:
        raise RuntimeError(SCRIPT)

    monkeypatch.setattr(app, "render", broken)
    answer = get(store, "/report", "run=runs/one")
    assert answer.status == 500
    assert "could not be made" in answer.text
    assert SCRIPT not in answer.text


def test_a_campaign_shows_its_rows_and_links_what_was_kept(store: Path) -> None:
    place = store / "campaigns" / "20260101T000000"
    a_run(place / "kept")
    rows = [
        {
            "name": "mine",
            "seed": 1,
            "outcome": "violation",
            "expected": "pass",
            "run": "kept",
            "reason": SCRIPT,
        },
        {"name": "yours", "seed": 2, "outcome": "pass", "expected": "pass", "on": "sim"},
        {"name": "yours", "seed": 3, "outcome": "pass", "expected": "pass", "on": "docker"},
    ]
    (place / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows) + '{"torn')
    first = get(store, "/")
    assert "campaigns/20260101T000000/kept" in listed(first.text)
    assert "1 violation" in first.text
    answer = get(store, "/campaign", "name=campaigns/20260101T000000")
    assert 'href="/report?run=campaigns%2F20260101T000000%2Fkept"' in answer.text
    assert "3 runs" in answer.text
    assert re.findall(r'data-label="on">(\w*)<', answer.text) == ["", "sim", "docker"]
    assert 'data-label="on">docker, sim<' in first.text
    assert "1 not as expected" in answer.text
    assert SCRIPT not in answer.text
    (place / "rows.jsonl").write_text("rubbish\n")
    assert "rows.jsonl:1" in get(store, "/").text


CAMPAIGN = """\
schema: 1
runs:
- name: planted
  expect: violation
  plan: {on: sim, mistake: [role-only-read]}
- name: control
  expect: pass
  plan: {on: sim}
"""


def a_campaign(store: Path, rows: list[dict[str, Any]], summary: dict[str, Any] | None) -> Campaign:
    place = store / "campaigns" / "one"
    place.mkdir(parents=True)
    (place / "campaign.yaml").write_text(CAMPAIGN)
    (place / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    if summary is not None:
        (place / "summary.json").write_text(json.dumps(summary))
    return Shelf(store).campaigns()["campaigns/one"]


PLANTED = {"name": "planted", "seed": 1, "expected": "violation"}
CONTROL = {"name": "control", "seed": 1, "expected": "pass", "outcome": "pass"}
FOUND = {**PLANTED, "outcome": "violation"}
MISSED = {**PLANTED, "outcome": "pass"}
SAID_KNOWN = {"outcome": "violation", "known": True}
DIED = {"outcome": "harness-failure", "reason": "the scheduler is gone"}


@pytest.mark.parametrize(
    ("rows", "summary", "outcome", "unexpected", "reason"),
    [
        ([FOUND, CONTROL], {"outcome": "pass"}, "pass", 0, None),
        ([FOUND, {**MISSED, "seed": 2}, CONTROL], {"outcome": "pass"}, "pass", 0, None),
        ([MISSED, CONTROL], {"outcome": "pass"}, "expectation-missed", 1, "in no seed: planted"),
        ([{**MISSED, "expected": "pass"}, CONTROL], {"outcome": "pass"}, "expectation-missed", 1, ""),
        ([FOUND, CONTROL], DIED, "harness-failure", 0, "it ended early: the scheduler is gone"),
        ([FOUND, CONTROL], {"outcome": "interrupted"}, "interrupted", 0, "interrupted, as it ended"),
        ([FOUND], {"outcome": "pass"}, "unknown", 0, "nothing was run of control"),
        ([FOUND, CONTROL], None, "unknown", 0, "not come to its end"),
        ([FOUND, CONTROL], {"outcome": "good"}, "unknown", 0, "summary.json cannot be read"),
        ([FOUND, {**CONTROL, "outcome": "violation"}], {"outcome": "pass"}, "violation", 1, None),
        ([FOUND, {**CONTROL, **SAID_KNOWN}], DIED, "violation", 1, "it ended early"),
    ],
)  # fmt: skip
def test_a_campaign_comes_to_what_its_verb_says_and_not_to_its_rows_alone(
    tmp_path: Path,
    rows: list[dict[str, Any]],
    summary: dict[str, Any] | None,
    outcome: str,
    unexpected: int,
    reason: str | None,
) -> None:
    told = a_campaign(tmp_path, rows, summary)
    assert (told.outcome, told.unexpected) == (outcome, unexpected)
    assert reason is None or reason in " ".join(told.reasons)
    first, page = (get(tmp_path, path, "name=campaigns/one").text for path in ("/", "/campaign"))
    for text in (first, page):
        assert f">{outcome}</" in text
        assert reason is None or reason in text
    green = re.findall(r'<tr class="good">\s*<td class="whole">(\w+)', page)
    assert ("planted" in green) == (FOUND in rows)
    assert ('<tr class="good">\n  <td class="whole"><a href="/campaign?' in first) == (outcome == "pass")


def test_a_swarm_that_exercised_nothing_is_never_green(tmp_path: Path) -> None:
    idle = [{**CONTROL, "seed": seed, "exercised": {"deposed-reads": 0}} for seed in range(20)]
    told = a_campaign(tmp_path, [FOUND, *idle], {"outcome": "pass"})
    assert told.outcome == "pass"
    file = tmp_path / "campaigns/one/campaign.yaml"
    file.write_text(CAMPAIGN.replace("expect: pass\n  plan: {on: sim}", "expect: pass\n  swarm: true"))
    told = Shelf(tmp_path).campaigns()["campaigns/one"]
    assert (told.outcome, told.reasons[0]) == (
        "not-exercised",
        "exercised in no seed: control: deposed-reads",
    )
    assert "exercised in no seed: control" in get(tmp_path, "/campaign", "name=campaigns/one").text


def test_a_campaign_that_goes_on_is_none_that_ended(tmp_path: Path) -> None:
    place = tmp_path / "one"
    place.mkdir()
    (place / "summary.json").write_text('{"outcome": "pass"}')
    (place / "rows.jsonl").touch()
    journal = Journal(place)
    journal.begin()
    journal.close()
    assert not (place / "summary.json").exists()


def test_a_line_that_is_no_row_is_told_and_nothing_is_counted(tmp_path: Path) -> None:
    a_campaign(tmp_path, [FOUND, CONTROL], {"outcome": "pass"})
    with (tmp_path / "campaigns" / "one" / "rows.jsonl").open("a") as file:
        file.write('{"name": 3}\n')
    for path in ("/", "/campaign"):
        text = get(tmp_path, path, "name=campaigns/one").text
        assert "rows.jsonl:3" in text
        assert "no verdict" in text
        assert "0 not as expected" not in text
        assert 'class="good"' not in text


def test_a_journal_too_large_to_be_shown_is_told_and_not_held(tmp_path: Path) -> None:
    a_campaign(tmp_path, [FOUND, CONTROL], {"outcome": "pass"})
    os.truncate(tmp_path / "campaigns" / "one" / "rows.jsonl", SHOWN_MAX_BYTES + 1)
    tracemalloc.start()
    text = get(tmp_path, "/campaign", "name=campaigns/one").text
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "larger than 67108864 bytes, the most that is read" in text
    assert "no verdict" in text
    assert peak_bytes < SHOWN_MAX_BYTES / 4


def test_a_run_that_was_cut_short_and_made_again_is_one_row(tmp_path: Path) -> None:
    place = tmp_path / "campaigns" / "20260101T000000"
    place.mkdir(parents=True)
    short = {"name": "mine", "seed": 1, "outcome": "unknown", "expected": "pass", "interrupted": True}
    again = {"name": "mine", "seed": 1, "outcome": "pass", "expected": "pass"}
    for rows, outcomes in (([short], {"unknown": 1}), ([short, again], {"pass": 1})):
        (place / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        (campaign,) = Shelf(tmp_path).campaigns().values()
        assert campaign.outcomes == outcomes


def test_two_runs_are_compared_by_where_they_differ(store: Path) -> None:
    answer = get(store, "/compare", "one=runs/one&other=runs/two")
    assert answer.status == 200
    assert "lease-renew" in answer.text
    assert "readindex" in answer.text
    assert get(store, "/compare", "one=runs/one").status == 400


def test_a_comparison_says_what_differs_and_what_does_not() -> None:
    plans = (
        {"seed": 1, "time": 4, "schedule": [{"episode": "e", "steps": [1, 2]}]},
        {"seed": 1, "time": 5},
    )
    one = {
        "outcome": "pass",
        "exercised": {"lease-reads": 3},
        "leader_changes": 5,
        "faults": {"cut": {"installed": 3, "skipped": 0, "did": "isolate-one 3x, 1.2 to 2.3 s each"}},
        "reads": {"lease": {"reads": 3, "p50_ns": 2e6}},
    }
    other = {
        "outcome": "violation",
        "violation": {"kind": "history", "sentence": "stale"},
        "exercised": None,
    }
    told = {
        section.heading: [(line.what, line.one, line.other) for line in section.lines if line.differs]
        for section in compared(plans, (one, other))
    }
    assert told["plan, where they differ"] == [
        ("time", "4", "5"),
        ("schedule", "1 episode of 2 steps: e", ""),
    ]
    assert ("outcome", "pass", "violation") in told["outcome"]
    assert told["faults"] == [("cut", "3 installed; isolate-one 3x, 1.2 to 2.3 s each", "")]
    assert told["exercised"] == [("lease-reads", "3", "")]
    assert told["reads"] == [("lease", "3 at 2.00 ms", "")]
    assert told["load"] == [("elections won after the first", "5", "")]


def test_a_shelf_reads_a_run_again_when_it_has_changed(store: Path) -> None:
    shelf = Shelf(store)
    assert shelf.runs()["runs/one"].outcome == "violation"
    verdict = store / "runs" / "one" / "verdict.json"
    verdict.write_text('{"schema": 1, "outcome": "pass"}')
    os.utime(verdict, ns=(1, 1))
    assert shelf.runs()["runs/one"].outcome == "pass"


def test_a_directory_that_may_not_be_looked_into_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_run(tmp_path / "runs" / "mine")
    theirs = a_run(tmp_path / "runs" / "theirs")
    real = os.stat

    def refusing(path: Any, *args: Any, **how: Any) -> os.stat_result:
        if str(path).startswith(f"{theirs}/"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return real(path, *args, **how)

    monkeypatch.setattr(os, "stat", refusing)
    shown = get(tmp_path, "/")
    assert shown.status == 200
    assert "runs/mine" in shown.text
    assert "runs/theirs" not in shown.text
    assert get(tmp_path, "/report", "run=runs/theirs").status == 404
