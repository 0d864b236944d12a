"""A campaign in containers, and a run that it kept once more, in containers again."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from harness.outcome import Outcome

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.processes,
    pytest.mark.usefixtures("engine"),
    pytest.mark.timeout(400),
]

CAMPAIGN = """\
schema: 1
plan: {on: docker, rate: 80, time: 8}
runs:
  - {name: planted, plan: {mistake: role-only-read}, seeds: 3}
"""
WHOLE = ("history.jsonl", "schedule.yaml", "evidence/n3.jsonl", "logs/n1.log", "metrics/n2.prom")


def lantern(place: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "harness.cli.main", *arguments, "--json"],
        capture_output=True,
        timeout=180,
        check=False,
        cwd=place,
    )
    assert done.stdout, done.stderr.decode()
    return done.returncode, json.loads(done.stdout)


def test_a_campaign_in_containers_keeps_a_run_that_containers_show_again(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(CAMPAIGN)
    code, said = lantern(tmp_path, "campaign", "small.yaml", "--until", "violation")
    assert (code, said["summary"]["outcome"]) == (0, "pass"), said
    found = said["runs"][-1]
    assert (found["outcome"], found["rules"]) == ("violation", ["L4"])
    kept = tmp_path / found["run"]
    assert [name for name in WHOLE if not (kept / name).stat().st_size] == []
    code, said = lantern(tmp_path, "replay", str(kept), "--on", "docker", "--times", "2")
    assert code == Outcome.VIOLATION.code
    assert (said["reproduced"]["wanted"], said["reproduced"]["of"]) == ("violation/history", 2)
    assert said["reproduced"]["times"] >= 1
    assert [each["outcome"] for each in said["tries"] if not (tmp_path / each["run"]).is_dir()] == []
