"""What is convicted stands in verdict.json, in the summary, and in what `lantern check` says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from harness.outcome import Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from cli_lantern import Lantern

RUN = ("run", "--on", "sim", "--mistake", "role-only-read", "--seed", "1", "--rate", "50")
STALE_READ = (
    '{"schema":1,"kind":"lantern-history"}',
    '{"process":0,"type":"invoke","f":"write","key":"x","value":1}',
    '{"process":0,"type":"ok","f":"write","key":"x","value":1}',
    '{"process":1,"type":"invoke","f":"read","key":"x","value":null}',
    '{"process":1,"type":"ok","f":"read","key":"x","value":null}',
)


def test_a_run_and_a_later_check_of_it_name_the_same_rule(lantern: Lantern, tmp_path: Path) -> None:
    ended = lantern(*RUN, "--out", "kept")
    assert ended.returncode == Outcome.VIOLATION.code
    shown = " ".join(ended.stdout.decode().split())
    assert "breaks L4: n" in shown
    assert "looks like role-only-read" in shown
    verdict = json.loads((tmp_path / "kept/verdict.json").read_text())
    assert verdict["rules"] == ["L4"]
    convicted = verdict["convictions"]
    assert [each["certainty"] for each in convicted] == ["certain"]
    assert "role-only-read" in convicted[0]["looks_like"]

    checked = lantern("check", "kept", "--json")
    assert checked.returncode == Outcome.VIOLATION.code
    told = json.loads(checked.stdout)
    assert (told["rules"], told["convictions"]) == (["L4"], convicted)
    assert "rule: breaks L4: n" in " ".join(lantern("check", "kept").stdout.decode().split())


def test_a_history_alone_convicts_nobody(lantern: Lantern, tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_text("".join(f"{line}\n" for line in STALE_READ))
    checked = lantern("check", "history.jsonl", "--json")
    assert checked.returncode == Outcome.VIOLATION.code
    assert not json.loads(checked.stdout).get("rules")
    assert b"breaks" not in lantern("check", "history.jsonl").stdout
