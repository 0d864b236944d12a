"""`lantern report`, and the report that `run` and `check` leave behind."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cli_lantern import Lantern

RUN = "run --on sim --seed 7 --time 1 --rate 100 --clients 6 --faults none"
BROKEN = "import harness.report.html as it\ndef write(*_, **__):\n    raise {}\nit.write = write\n"


@pytest.fixture
def run_dir(lantern: Lantern) -> str:
    done = lantern(*RUN.split(), "--allow", "not-exercised", "--out", "made")
    assert done.returncode == 0, done.stderr
    assert ["report", "made/report.html"] in [line.split() for line in done.stdout.decode().splitlines()]
    return "made"


def test_a_run_leaves_its_report_and_it_can_be_made_again(lantern: Lantern, run_dir: str) -> None:
    report = lantern.place / run_dir / "report.html"
    made = report.read_bytes()
    report.unlink()
    done = lantern("report", run_dir)
    assert (done.returncode, done.stdout) == (0, b"made/report.html\n")
    again = report.read_bytes()
    assert b"judged again" not in made  # by whom it was judged just now
    assert b"nothing was judged again here" in again
    told = json.loads(lantern("report", run_dir, "--json").stdout)
    ended = {"outcome": "pass", "run_outcome": "pass"}
    assert told == {**ended, "file": "made/report.html", "bytes": len(again)}


def test_a_trace_is_a_new_file(lantern: Lantern, run_dir: str) -> None:
    done = lantern("report", run_dir, "--trace", "trace.json")
    assert (done.returncode, done.stdout) == (0, b"trace.json\n")
    trace = json.loads((lantern.place / "trace.json").read_bytes())
    slices = [each for each in trace["traceEvents"] if each["ph"] == "X"]
    assert len(slices) > 50
    again = lantern("report", run_dir, "--trace", "trace.json")
    assert again.returncode == 2
    assert b"trace.json is there already; nothing was written" in again.stderr


@pytest.mark.parametrize("verb", ["report --trace", "pack"])
@pytest.mark.parametrize("name", ["none/new", "made/plan.yaml/new", "n" * 260])
def test_a_name_that_no_file_can_have_is_bad_input(
    lantern: Lantern, run_dir: str, verb: str, name: str
) -> None:
    verb, *option = verb.split()
    before = sorted(lantern.place.rglob("*"))
    done = lantern(verb, run_dir, *option, name)
    assert done.returncode == 2
    assert done.stderr.endswith(b": no file can be made there\n")
    assert len(done.stderr.splitlines()) == 1
    assert sorted(lantern.place.rglob("*")) == before


@pytest.mark.parametrize("arguments", [("nowhere",), (".",), ("nowhere", "--trace", "x.json")])
def test_what_is_no_run_is_refused(lantern: Lantern, arguments: tuple[str, ...]) -> None:
    done = lantern("report", *arguments)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert not (lantern.place / "x.json").exists()


def test_a_later_check_is_what_the_report_tells(lantern: Lantern, run_dir: str) -> None:
    run = lantern.place / run_dir
    history = run / "history.jsonl"
    history.write_bytes(history.read_bytes() + b'{"index": 1}\n{"index": 2}\n')
    assert lantern("check", run_dir).returncode == 5
    page = (run / "report.html").read_text()
    assert "<strong>malformed</strong>" in page
    assert "history.jsonl:" in page


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        ("RuntimeError('no')", b"there is no report: "),
        ("KeyboardInterrupt", b"interrupted: there is no"),
    ],
)
def test_a_report_that_fails_changes_no_verdict(lantern: Lantern, raised: str, said: bytes) -> None:
    done = lantern(*RUN.split(), "--out", "made", "--json", patch=BROKEN.format(raised))
    assert (done.returncode, json.loads(done.stdout)["outcome"]) == (4, "not-exercised")
    assert said in done.stderr
    assert not (lantern.place / "made" / "report.html").exists()
