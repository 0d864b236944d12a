"""`lantern serve`: who is answered, what is listed, and that a stranger's run stays text."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from serve_store import SCRIPT, a_run, get

from harness.plan import plan_from
from harness.run.run import run
from harness.serve import app
from harness.serve.compare import compared
from harness.serve.shelf import Shelf

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
    made = Path(run(plan_from(None, asked), store_dir=tmp_path / "runs").directory)
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
        {"name": "yours", "seed": 2, "outcome": "pass", "expected": "pass"},
    ]
    (place / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows) + '{"torn')
    first = get(store, "/")
    assert "campaigns/20260101T000000/kept" in listed(first.text)
    assert "1 violation" in first.text
    answer = get(store, "/campaign", "name=campaigns/20260101T000000")
    assert 'href="/report?run=campaigns%2F20260101T000000%2Fkept"' in answer.text
    assert "2 runs" in answer.text
    assert "1 not as expected" in answer.text
    assert SCRIPT not in answer.text
    (place / "rows.jsonl").write_text("rubbish\n")
    assert "rows.jsonl:1" in get(store, "/").text


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
        ("schedule", "1 episodes of 2 steps: e", ""),
    ]
    assert ("outcome", "pass", "violation") in told["outcome"]
    assert told["exercised"] == [("lease-reads", "3", "")]
    assert told["reads"] == [("lease", "3 at 2.00 ms", "")]


def test_a_shelf_reads_a_run_again_when_it_has_changed(store: Path) -> None:
    shelf = Shelf(store)
    assert shelf.runs()["runs/one"].outcome == "violation"
    verdict = store / "runs" / "one" / "verdict.json"
    verdict.write_text('{"schema": 1, "outcome": "pass"}')
    os.utime(verdict, ns=(1, 1))
    assert shelf.runs()["runs/one"].outcome == "pass"
