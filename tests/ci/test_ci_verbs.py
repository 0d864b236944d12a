"""`lantern run` and `campaign` under a CI server, as a user runs them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ci_cases import SCHEMA
from cli_lantern import Lantern

if TYPE_CHECKING:
    from pathlib import Path

QUIET = ("--on", "sim", "--time", "1", "--rate", "50", "--faults", "none", "--seed", "1")
FILE = """
schema: 1
seeds: 2
plan: {on: sim, rate: 50}
runs:
  - {name: accused, expect: pass, plan: {mistake: no-applied-wait}, known: [R6], seeds: [0]}
  - {name: quiet, plan: {faults: none, time: 1}, seeds: [1]}
"""


def test_a_run_tells_the_server_what_it_tells_a_person(tmp_path: Path) -> None:
    lantern = Lantern(tmp_path)
    env = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": "summary.md"}
    done = lantern("run", *QUIET, "--out", "run", "--json", env=env)
    assert done.returncode == 4
    told = json.loads(done.stdout)  # nothing but the object
    (line,) = (line for line in done.stderr.decode().splitlines() if line.startswith("::"))
    assert line.startswith("::error title=Lantern%3A not-exercised%3A lease-renew::not-exercised: ")
    assert told["reason"] in line
    assert "### Lantern: not-exercised" in (tmp_path / "summary.md").read_text()
    SCHEMA.validate(str(tmp_path / "run" / "junit.xml"))
    assert '<error message="policy lease-renew claims' in (tmp_path / "run" / "junit.xml").read_text()


def test_a_campaign_is_a_file_of_its_runs(tmp_path: Path) -> None:
    lantern = Lantern(tmp_path)
    (tmp_path / "campaign.yaml").write_text(FILE)
    done = lantern("campaign", "campaign.yaml", "--jobs", "1", "--resume", "here", "--json")
    assert done.returncode == 4, done.stderr
    path = tmp_path / "here" / "junit.xml"
    SCHEMA.validate(str(path))
    text = path.read_text()
    assert '<skipped message="known: R6: not linearizable' in text
    assert 'type="not-exercised"' in text
    summary = json.loads((tmp_path / "here" / "summary.json").read_text())
    assert (summary["known"], summary["unexpected"]) == (1, 1)
    assert b"::" not in done.stderr
