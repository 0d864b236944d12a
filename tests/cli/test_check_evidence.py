"""A run directory judged again: its evidence convicts or acquits, and its files are never trusted."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from checker.evidence import Booted, Checked, EvidenceLine, Fact, OwnClock, RoleChanged, TermChanged
from checker.evidence_lines import encode, header
from harness.plan import plan_from
from harness.plan.dump import dump, to_yaml
from harness.report.injected import schedule_of
from harness.store.rundir import RunDir
from nemesis.faults import Pause, Standing
from nemesis.machine import InjectionRecord
from nemesis.machine.record import Injected

if TYPE_CHECKING:
    from pathlib import Path

    from cli_lantern import Lantern

MS = 1_000_000
ASKED = {"seed": 1, "faults": "none", "allow": "not-exercised"}
HISTORY = [
    '{"schema":1,"kind":"lantern-history","origin_ns":0}',
    '{"process":0,"type":"invoke","f":"write","key":"x","value":1}',
    '{"process":0,"type":"ok","f":"write","key":"x","value":1}',
]
CUT_SHORT = "it was cut short, and is judged as far as it went"
NEVER_WRITTEN = [
    '{"process":1,"type":"invoke","f":"read","key":"x"}',
    '{"process":1,"type":"ok","f":"read","key":"x","value":9}',
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


def vouch(run: Path, **told: Any) -> None:
    """Write the verdict of a run as its files are now."""
    RunDir(run).write_verdict({"outcome": "pass", "reason": None, "witnessed": {}, **told})


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run in which n1 led alone, and then n2."""
    place = tmp_path / "run"
    (place / "evidence").mkdir(parents=True)
    (place / "plan.yaml").write_bytes(dump(plan_from(None, ASKED)))
    (place / "history.jsonl").write_text("\n".join(HISTORY) + "\n")
    (place / "evidence/n1.jsonl").write_bytes(leading("n1", 1, since_ms=100, until_ms=900))
    (place / "evidence/n2.jsonl").write_bytes(leading("n2", 2, since_ms=1000, until_ms=1900))
    booted = EvidenceLine("n3", 0, 0, (0, 1), Booted(boot=1, term=0))
    (place / "evidence/n3.jsonl").write_bytes(header("n3") + encode([booted]))
    vouch(place)
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
    (run / "plan.yaml").write_bytes(dump(plan_from(None, {**ASKED, "policy": "log-read"})))
    vouch(run)
    assert judged(lantern, run)[0] == 0


def test_broken_evidence_is_malformed_and_hides_no_violation(lantern: Lantern, run: Path) -> None:
    (run / "evidence/n3.jsonl").write_bytes(b"{}\n" + header("n3"))
    code, said = judged(lantern, run)
    assert (code, said["outcome"]) == (5, "malformed")
    assert "n3.jsonl:1" in said["notes"][-1]
    (run / "history.jsonl").write_text("\n".join([*HISTORY, *NEVER_WRITTEN]) + "\n")
    assert judged(lantern, run)[0] == 1


def test_an_oracle_that_breaks_is_a_harness_failure_and_hides_no_violation(
    lantern: Lantern, run: Path
) -> None:
    broken = "import checker.oracles.judge as oracles\noracles.raft = lambda _timelines: 1 / 0"
    done = lantern("check", str(run), "--json", patch=broken)
    said = json.loads(done.stdout)
    assert (done.returncode, said["outcome"]) == (6, "harness-failure")
    assert "ZeroDivisionError" in said["notes"][-1]
    assert said["keys"]["x"]["outcome"] == "pass"
    (run / "history.jsonl").write_text("\n".join([*HISTORY, *NEVER_WRITTEN]) + "\n")
    done = lantern("check", str(run), "--json", patch=broken)
    assert (done.returncode, json.loads(done.stdout)["violation"]["kind"]) == (1, "history")


def test_without_its_plan_the_history_alone_is_judged_and_that_is_no_pass(
    lantern: Lantern, run: Path
) -> None:
    (run / "plan.yaml").unlink()
    vouch(run)
    code, said = judged(lantern, run)
    assert (code, said["outcome"]) == (3, "unknown")
    assert said["oracles"] == {}
    assert "only the history was judged" in said["notes"][-1]
    assert lantern("check", str(run / "history.jsonl")).returncode == 0


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


def test_a_run_that_failed_before_it_had_a_history_is_told_as_that(lantern: Lantern, run: Path) -> None:
    (run / "history.jsonl").unlink()
    shutil.rmtree(run / "evidence")
    why = "nothing was started from docker-compose.yml"
    vouch(run, outcome="harness-failure", reason=why, witnessed={"harness-failure": [why]})
    code, said = judged(lantern, run)
    assert (code, said["outcome"]) == (6, "harness-failure")
    assert why in said["reason"]
    page = (run / "report.html").read_text()
    assert why in page
    assert '<section id="figure" hidden>' in page, "there is nothing to be seen on it"
    (run / "verdict.json").unlink()  # killed as it started
    assert judged(lantern, run)[0] == 3


def test_the_report_of_what_is_unknown_says_why(lantern: Lantern, run: Path) -> None:
    (run / "verdict.json").unlink()
    code, said = judged(lantern, run)
    assert (code, said["reason"]) == (3, f"this run has no verdict.json: {CUT_SHORT}")
    page = (run / "report.html").read_text()
    assert f"<h1>This run has no verdict.json: {CUT_SHORT}</h1>" in page
    assert '<section id="figure">' in page


def test_a_pass_whose_history_is_gone_is_none(lantern: Lantern, run: Path) -> None:
    (run / "history.jsonl").unlink()
    code, said = judged(lantern, run)
    assert (code, said["outcome"]) == (3, "unknown")
    assert any("history.jsonl: No such file" in note for note in said["notes"])


CODE = "from pathlib import Path\nPath('touched').touch()\n"


def test_a_run_of_somebodys_own_cluster_is_judged_and_shown_without_their_code(
    lantern: Lantern, run: Path
) -> None:
    shutil.rmtree(run / "evidence")
    (lantern.place / "their_client.py").write_text(CODE)
    theirs = {"target": "their_client.py", "policy": "strong", "on": "docker", "containers": list("abc")}
    (run / "plan.yaml").write_text(json.dumps({**theirs, **ASKED}))
    vouch(run)
    code, said = judged(lantern, run)
    assert (code, said["outcome"], said["exercised"]) == (0, "pass", {})
    assert not any("only the history" in note for note in said["notes"])
    assert "their_client.py, policy strong, 3 nodes on docker" in (run / "report.html").read_text()
    assert not (lantern.place / "touched").exists()


def test_what_the_policy_claims_and_nobody_saw_is_no_pass(lantern: Lantern, run: Path) -> None:
    (run / "plan.yaml").write_bytes(dump(plan_from(None, {"seed": 1, "faults": "none"})))
    vouch(run)
    code, said = judged(lantern, run)
    assert (code, said["outcome"]) == (4, "not-exercised")
    assert said["exercised"] == {
        "lease-reads": 0,
        "leader-changes": 1,
        "deposed-reads": 0,
        "clock-bend": 0,
    }
    shown = lantern("check", str(run)).stdout.decode()
    assert shown.startswith("NOT EXERCISED")
    assert "deposed-reads 0 (not exercised)" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("told", "code", "wanted"),
    [
        (None, 3, ["this run has no verdict.json: it was cut short"]),
        (
            {"outcome": "interrupted", "witnessed": {"interrupted": ["INT"]}},
            3,
            [
                "the run itself ended as interrupted: why",
                "seen by the run itself, interrupted: INT: it was",
            ],
        ),
        (
            {"outcome": "harness-failure", "witnessed": {"harness-failure": ["why"]}},
            6,
            [
                "the run itself ended as harness-failure: why",
                "seen by the run itself, harness-failure: why",
            ],
        ),
        ({"outcome": "unknown"}, 0, ["the run itself ended as unknown: why"]),
        ({"outcome": "pass"}, 0, []),
        (
            {"outcome": "violation"},
            3,
            ["the run itself ended as violation, which was not found again: why"],
        ),
    ],
)
def test_a_run_that_its_own_verdict_does_not_vouch_for_is_told_of(
    lantern: Lantern, run: Path, told: dict[str, Any] | None, code: int, wanted: list[str]
) -> None:
    (run / "verdict.json").unlink()
    if told is not None:
        vouch(run, **{"reason": "why", **told})
    ended, said = judged(lantern, run)
    assert ended == code
    about = [note for note in said["notes"] if "this run" in note or "the run itself" in note]
    assert len(about) == len(wanted)
    for note, start in zip(about, wanted, strict=True):
        assert note.startswith(start)


def test_a_run_that_was_cut_short_ends_no_check_of_the_next(lantern: Lantern, run: Path) -> None:
    vouch(run, outcome="interrupted", reason="SIGINT", witnessed={"interrupted": ["SIGINT"]})
    done = lantern("check", str(run), str(run / "history.jsonl"), "--json")
    outcomes = [json.loads(line)["outcome"] for line in done.stdout.splitlines()]
    assert (done.returncode, outcomes) == (3, ["unknown", "pass"])


def test_who_served_a_stale_read_and_the_faults_then_are_told_as_the_run_tells_them(
    lantern: Lantern, run: Path
) -> None:
    lines = HISTORY[:1]
    for at, (process, kind, f, value) in enumerate(
        [
            (0, "invoke", "write", 1),
            (0, "ok", "write", 1),
            (0, "invoke", "write", 2),
            (0, "ok", "write", 2),
            (1, "invoke", "read", None),
            (1, "ok", "read", 1),
        ]
    ):
        event = {"process": process, "type": kind, "f": f, "key": "x", "value": value, "node": "n1"}
        event |= {"time_ns": (200 + 10 * at) * MS}
        if kind == "ok" and f == "read":
            event["evidence"] = {"path": "lease", "term": 1}
        lines = [*lines, json.dumps(event)]
    (run / "history.jsonl").write_text("\n".join(lines) + "\n")
    paused = Injected(
        id=1,
        episode="storm",
        repetition=1,
        step="0",
        fault=Pause(("n2",)),
        roles={},
        asked_ns=20 * MS,
        standing=Standing.INSTALLED,
        installed_ns=21 * MS,
        healed_ns=500 * MS,
    )
    load_ns = (200 * MS, 900 * MS)
    schedule = schedule_of("a-run", load_ns, InjectionRecord(faults=(paused,)))
    (run / "schedule.yaml").write_bytes(to_yaml(schedule))
    code, said = judged(lantern, run)
    assert (code, said["violation"]["kind"]) == (1, "history")
    assert "n1 answered read -> 1" in said["violation"]["served"]
    assert "from its lease in term 1" in said["violation"]["served"]
    assert said["violation"]["faults"] == ["pause (n2), step 0"]
    shown = lantern("check", str(run)).stdout.decode()
    assert "who served: n1 answered" in shown
    assert "fault in force: pause (n2), step 0" in shown
    (run / "schedule.yaml").write_text("schema: 7\n")
    assert any("which faults" in note and "7" in note for note in judged(lantern, run)[1]["notes"])


def test_a_node_whose_evidence_is_missing_is_named_and_no_pass(lantern: Lantern, run: Path) -> None:
    (run / "evidence/n2.jsonl").unlink()
    code, said = judged(lantern, run)
    assert (code, said["outcome"]) == (3, "unknown")
    assert any("n2 left no evidence" in note for note in said["notes"])
    assert lantern("check", str(run)).stdout.startswith(b"UNKNOWN")


@pytest.mark.parametrize("left", [header("n3"), None])
def test_a_run_whose_evidence_holds_no_fact_of_a_node_is_no_pass(
    lantern: Lantern, run: Path, left: bytes | None
) -> None:
    if left is None:
        shutil.rmtree(run / "evidence")
    else:
        (run / "evidence/n3.jsonl").write_bytes(left)
    vouch(run)
    code, said = judged(lantern, run)
    assert (code, said["outcome"]) == (3, "unknown")
    assert any("n3 left no evidence" in note for note in said["notes"])


def test_evidence_under_another_nodes_name_is_malformed(lantern: Lantern, run: Path) -> None:
    (run / "evidence/n1.jsonl").rename(run / "evidence/n2.jsonl")
    (run / "evidence/n1.jsonl").write_bytes(header("n1"))
    code, said = judged(lantern, run)
    assert (code, said["outcome"]) == (5, "malformed")
    assert any("n2.jsonl:1" in note and "'n1'" in note for note in said["notes"])


def test_evidence_behind_a_link_is_not_judged(lantern: Lantern, run: Path, tmp_path: Path) -> None:
    (run / "evidence").rename(tmp_path / "elsewhere")
    (run / "evidence").symlink_to(tmp_path / "elsewhere")
    said = judged(lantern, run)[1]
    assert said["oracles"] == {}
    assert any("only the history was judged" in note for note in said["notes"])
