"""A run directory judged again: its evidence convicts or acquits, and its files are never trusted."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from checker.evidence import Booted, Checked, EvidenceLine, Fact, OwnClock, RoleChanged, TermChanged
from checker.evidence_lines import encode, header
from harness.plan import plan_from
from harness.plan.dump import dump

if TYPE_CHECKING:
    from pathlib import Path

    from cli_lantern import Lantern

MS = 1_000_000
HISTORY = [
    '{"schema":1,"kind":"lantern-history","origin_ns":0}',
    '{"process":0,"type":"invoke","f":"write","key":"x","value":1}',
    '{"process":0,"type":"ok","f":"write","key":"x","value":1}',
]


def leading(node: str, term: int, *, since_ms: int, until_ms: int) -> bytes:
    """Return the evidence of a node that would serve all the time between two instants."""

    def line(at_ms: int, fact: Fact) -> EvidenceLine:
        at_ns = at_ms * MS
        return EvidenceLine(node, at_ns, at_ns, (at_ns, at_ns + 1000), fact)

    def check(at_ms: int) -> EvidenceLine:
        sure = Checked(
            term=term,
            granted=True,
            clock=OwnClock.MONOTONIC,
            read_ns=at_ms * MS,
            until_ns=until_ms * MS + MS,
        )
        return line(at_ms, sure)

    before = since_ms - 10
    lines = [line(before, Booted(boot=1, term=term - 1)), line(before + 1, TermChanged(term=term))]
    lines += [line(before + 2, RoleChanged(term=term, role="leader")), check(since_ms), check(until_ms)]
    return header(node) + encode(lines)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run in which n1 led alone, and then n2."""
    place = tmp_path / "run"
    (place / "evidence").mkdir(parents=True)
    (place / "plan.yaml").write_bytes(dump(plan_from(None, {"seed": 1, "faults": "none"})))
    (place / "history.jsonl").write_text("\n".join(HISTORY) + "\n")
    (place / "evidence/n1.jsonl").write_bytes(leading("n1", 1, since_ms=100, until_ms=900))
    (place / "evidence/n2.jsonl").write_bytes(leading("n2", 2, since_ms=1000, until_ms=1900))
    (place / "evidence/n3.jsonl").write_bytes(header("n3"))
    return place


def judged(lantern: Lantern, run: Path) -> tuple[int, dict[str, Any]]:
    done = lantern("check", str(run), "--json")
    return done.returncode, json.loads(done.stdout)


def test_leases_one_after_the_other_are_fine(lantern: Lantern, run: Path) -> None:
    code, said = judged(lantern, run)
    assert (code, said["outcome"]) == (0, "pass")
    assert said["oracles"]["lease-overlap"]["outcome"] == "ok"


def test_two_leases_at_once_are_a_violation_of_their_own_kind(lantern: Lantern, run: Path) -> None:
    (run / "evidence/n2.jsonl").write_bytes(leading("n2", 2, since_ms=500, until_ms=1900))
    code, said = judged(lantern, run)
    assert (code, said["outcome"]) == (1, "violation")
    assert said["violation"]["kind"] == "lease-overlap"
    assert "n1" in said["violation"]["sentence"]
    assert said["keys"]["x"]["outcome"] == "pass"
    assert b"oracle lease-overlap: violation" in lantern("check", str(run)).stdout


def test_a_policy_without_leases_is_not_convicted_of_their_overlap(lantern: Lantern, run: Path) -> None:
    (run / "evidence/n2.jsonl").write_bytes(leading("n2", 2, since_ms=500, until_ms=1900))
    asked = {"seed": 1, "faults": "none", "policy": "log-read"}
    (run / "plan.yaml").write_bytes(dump(plan_from(None, asked)))
    assert judged(lantern, run)[0] == 0


def test_broken_evidence_is_malformed_and_hides_no_violation(lantern: Lantern, run: Path) -> None:
    (run / "evidence/n3.jsonl").write_bytes(b"{}\n" + header("n3"))
    code, said = judged(lantern, run)
    assert (code, said["outcome"]) == (5, "malformed")
    assert "n3.jsonl:1" in said["notes"][-1]
    stale = ['{"process":1,"type":"invoke","f":"read","key":"x"}']
    stale += ['{"process":1,"type":"ok","f":"read","key":"x","value":9}']
    (run / "history.jsonl").write_text("\n".join([*HISTORY, *stale]) + "\n")
    assert judged(lantern, run)[0] == 1


@pytest.mark.parametrize("lost", ["plan.yaml", "evidence"])
def test_without_plan_or_evidence_the_history_alone_is_judged_and_that_is_said(
    lantern: Lantern, run: Path, lost: str
) -> None:
    (run / lost).rename(run / "elsewhere")
    code, said = judged(lantern, run)
    assert (code, said["outcome"]) == (0, "pass")
    assert said["oracles"] == {}
    assert "only the history was judged" in said["notes"][-1]


def test_links_and_pipes_in_a_run_directory_are_not_followed(lantern: Lantern, run: Path) -> None:
    (run / "history.jsonl").rename(run / "real.jsonl")
    (run / "history.jsonl").symlink_to(run / "real.jsonl")
    assert judged(lantern, run)[0] == 2
    (run / "history.jsonl").unlink()
    os.mkfifo(run / "history.jsonl")
    assert judged(lantern, run)[0] == 2


def test_a_directory_that_is_no_run_is_a_usage_error(lantern: Lantern, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    code, said = judged(lantern, tmp_path / "empty")
    assert (code, said["outcome"]) == (2, "usage")
