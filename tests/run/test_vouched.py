"""A run directory judged again is held against the verdict that was written of it: less is no pass."""

from __future__ import annotations

import json
import os
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from checker import check, formats
from harness.outcome import Outcome, worst
from harness.plan import ScheduleFrom, plan_from
from harness.run.judge import Hearing, Seen
from harness.run.rejudge import rejudge
from harness.run.run import run
from harness.run.simulate import judge_recording, keep, simulate
from harness.store.rundir import RunDir
from harness.store.sums import sums_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GIVEN = {"on": "sim", "time": 3.0, "faults": "none", "allow": "not-exercised"}
N1 = "evidence/n1.jsonl"
EVIDENCE = tuple(f"evidence/n{number}.jsonl" for number in (1, 2, 3))


@pytest.fixture(scope="module")
def simulated() -> Iterator[Callable[..., Path]]:
    store = Path(mkdtemp(prefix="lantern-vouched-tests-"))

    @cache
    def made(*, seed: int, mistake: str = "") -> Path:
        given = {**GIVEN, "seed": seed} | ({"mistake": (mistake,)} if mistake else {})
        if mistake:
            del given["faults"]
        return run(plan_from(None, given), store_dir=store).directory

    yield made
    shutil.rmtree(store)


@pytest.fixture
def passing(simulated: Callable[..., Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(simulated(seed=9), tmp_path / "passing"))


@pytest.fixture
def violating(simulated: Callable[..., Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(simulated(seed=5, mistake="role-only-read"), tmp_path / "violating"))


def judged(run_dir: Path) -> tuple[Outcome, str]:
    """Return what comes of a directory as `lantern check` judges it, and the notes."""
    history = formats.read((run_dir / "history.jsonl").read_bytes(), name="h", format="jsonl")
    report = check(history)
    found = rejudge(run_dir, history, report.violation)
    return worst((Outcome(report.outcome.value), found.outcome)), "\n".join(found.notes)


def cut(path: Path, lines: int) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:lines]))


def halved(path: Path) -> None:
    cut(path, path.read_bytes().count(b"\n") // 2)


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_link(path: Path) -> None:
    path.rename(path.with_suffix(".elsewhere"))
    path.symlink_to(path.with_suffix(".elsewhere"))


def test_what_lies_there_as_it_was_is_judged_as_it_was(passing: Path, violating: Path) -> None:
    assert judged(passing)[0] is Outcome.PASS
    assert judged(violating)[0] is Outcome.VIOLATION


@pytest.mark.parametrize("becomes", [a_pipe, a_directory, a_link])
def test_evidence_that_cannot_be_read_is_as_missing_and_the_rest_is_judged(
    passing: Path, violating: Path, becomes: Callable[[Path], None]
) -> None:
    for run_dir in (passing, violating):
        becomes(run_dir / N1)
    outcome, notes = judged(passing)
    assert outcome is Outcome.UNKNOWN
    assert N1 in notes
    cut(violating / "history.jsonl", 31)
    outcome, notes = judged(violating)
    assert outcome is Outcome.VIOLATION  # by what the other two left
    assert "only the history" not in notes


def test_all_evidence_unreadable_is_no_pass_without_a_verdict_either(passing: Path) -> None:
    (passing / "verdict.json").unlink()
    for name in EVIDENCE:
        a_pipe(passing / name)
    assert judged(passing)[0] is Outcome.UNKNOWN


def test_a_violation_without_its_evidence_and_most_of_its_history_is_not_passed_over(
    violating: Path,
) -> None:
    for name in EVIDENCE:
        (violating / name).unlink()
    cut(violating / "history.jsonl", 30)
    outcome, notes = judged(violating)
    assert outcome is Outcome.UNKNOWN
    assert "ended as violation, which was not found again: not linearizable" in notes


@pytest.mark.parametrize(
    "name", ["history.jsonl", "plan.yaml", *EVIDENCE], ids=lambda name: Path(name).stem
)
@pytest.mark.parametrize("how", ["cut", "swapped"])
def test_a_file_that_the_verdict_was_not_written_of_is_named_and_no_pass(
    simulated: Callable[..., Path], passing: Path, name: str, how: str
) -> None:
    if how == "swapped":
        shutil.copy(simulated(seed=10) / name, passing / name)
    elif name == "plan.yaml":
        cut(passing / name, 5)
    else:
        halved(passing / name)
    outcome, notes = judged(passing)
    # Nodes of two runs may well contradict each other: told beside what it was found in.
    assert outcome in {Outcome.UNKNOWN, Outcome.VIOLATION}
    assert f"{passing / name}: not the file that the verdict was written of" in notes


def test_the_schedule_of_another_run_is_told_of(simulated: Callable[..., Path], passing: Path) -> None:
    shutil.copy(simulated(seed=10) / "schedule.yaml", passing)
    outcome, notes = judged(passing)
    assert outcome is Outcome.UNKNOWN
    assert "is of run" in notes


def test_a_run_without_a_verdict_is_judged_as_far_as_it_went_and_is_no_pass(passing: Path) -> None:
    (passing / "verdict.json").unlink()
    halved(passing / "history.jsonl")
    halved(passing / N1)
    outcome, notes = judged(passing)
    assert outcome is Outcome.UNKNOWN
    assert "has no verdict.json: it was cut short, and is judged as far as it went" in notes


def test_a_history_that_lies_alone_is_judged_for_itself(passing: Path) -> None:
    for path in passing.iterdir():
        if path.name not in {"history.jsonl", "logs"}:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    outcome, notes = judged(passing)
    assert outcome is Outcome.PASS
    assert "only the history was judged" in notes


def test_what_lost_its_plan_is_no_pass_and_what_lost_its_evidence_is_counted(passing: Path) -> None:
    for name in EVIDENCE:
        (passing / name).unlink()
    history = formats.read((passing / "history.jsonl").read_bytes(), name="h", format="jsonl")
    found = rejudge(passing, history, None)
    assert found.outcome is Outcome.UNKNOWN
    assert found.claims is not None
    assert set(found.claims) == {"lease-reads", "leader-changes", "deposed-reads", "clock-bend"}
    (passing / "plan.yaml").unlink()
    outcome, notes = judged(passing)
    assert outcome is Outcome.UNKNOWN
    assert "only the history was judged" in notes


@pytest.mark.parametrize(
    ("seen", "ended", "again"),
    [
        ({"unreliable": "the loop lagged by 900 ms"}, "unknown", "unknown"),
        ({"silent": ["n2"]}, "unknown", "unknown"),
        ({"unseen": ["k0"]}, "unknown", "unknown"),
        ({"failures": ["the disk is full"]}, "harness-failure", "harness-failure"),
        ({"missed": ["step 2 missed"]}, "not-exercised", "not-exercised"),
        ({"unharmed": "the only fault took no hold: no root"}, "not-exercised", "not-exercised"),
        ({"interrupted": "SIGINT"}, "interrupted", "unknown"),
        ({"interrupted": "SIGINT", "failures": ["full"]}, "harness-failure", "harness-failure"),
        ({"unreliable": "it lagged", "missed": ["step 2 missed"]}, "unknown", "unknown"),
        ({"given_up": "SIGINT while checking"}, "interrupted", "pass"),
        ({"given_up": "SIGINT while checking", "unreliable": "lag"}, "interrupted", "unknown"),
    ],
    ids=lambda given: "+".join(given) if isinstance(given, dict) else "",
)
def test_what_only_the_run_could_see_counts_whenever_its_files_are_judged(
    tmp_path: Path, seen: dict[str, Any], ended: str, again: str
) -> None:
    plan = plan_from(None, {**GIVEN, "seed": 9})
    allow = () if {"missed", "unharmed"} & seen.keys() else plan.allow
    plan = msgspec.structs.replace(plan, schedule_from=ScheduleFrom.FILE, allow=allow)
    recording = simulate(plan)
    for name, value in seen.items():
        setattr(recording.seen, name, value)
    kept = keep(recording, judge_recording(recording), store_dir=tmp_path)
    assert kept.outcome is Outcome(ended)
    outcome, notes = judged(kept.directory)
    assert outcome is Outcome(again)
    for cause in seen.values():
        assert (cause if isinstance(cause, str) else cause[0]) in notes


def test_a_missed_step_is_not_forgotten_where_nobody_came_to_look_at_claims() -> None:
    plan = msgspec.structs.replace(
        plan_from(None, {**GIVEN, "seed": 9}), schedule_from=ScheduleFrom.FILE, allow=()
    )
    seen = Seen(given_up="SIGINT while checking", missed=["step 2 missed"])
    judgement = Hearing(plan, seen).conclude()
    assert (judgement.outcome, list(judgement.causes)) == (Outcome.INTERRUPTED, [Outcome.INTERRUPTED])
    assert judgement.witnessed == {Outcome.NOT_EXERCISED: ["step 2 missed"]}


def test_evidence_that_went_on_is_what_it_was_and_a_history_is_not(passing: Path) -> None:
    with (passing / N1).open("ab") as file:
        file.write((passing / N1).read_bytes().splitlines(keepends=True)[-1])
    assert judged(passing)[0] is Outcome.PASS
    with (passing / "history.jsonl").open("ab") as file:
        file.write(b"\n")
    assert judged(passing)[0] is Outcome.UNKNOWN


@pytest.mark.parametrize(
    "rubbish",
    [
        {"files": {"history.jsonl": 7}},
        {"files": None},
        {"outcome": ["pass"]},
        {"outcome": "fine"},
        {"witnessed": ["unknown"]},
        {"witnessed": {"sad": ["why"]}},
        {"witnessed": None},
        {"schema": 7},
    ],
    ids=str,
)
def test_a_verdict_of_rubbish_vouches_for_nothing(passing: Path, rubbish: dict[str, Any]) -> None:
    told = json.loads((passing / "verdict.json").read_text())
    (passing / "verdict.json").write_text(json.dumps({**told, **rubbish}))
    outcome, notes = judged(passing)
    assert outcome is Outcome.UNKNOWN
    assert "what the run itself ended with is not known" in notes


@pytest.mark.parametrize("lost", ["files", "witnessed", "outcome"])
def test_a_verdict_that_lacks_what_is_asked_of_it_vouches_for_nothing(passing: Path, lost: str) -> None:
    told = json.loads((passing / "verdict.json").read_text())
    del told[lost]
    (passing / "verdict.json").write_text(json.dumps(told))
    outcome, notes = judged(passing)
    assert outcome is Outcome.UNKNOWN
    assert f"missing required field `{lost}`" in notes


@pytest.mark.parametrize("word", ["violation", "malformed", "pass"])
def test_a_verdict_accuses_nobody(passing: Path, word: str) -> None:
    told = json.loads((passing / "verdict.json").read_text())
    (passing / "verdict.json").write_text(json.dumps({**told, "witnessed": {word: ["why"]}}))
    assert judged(passing)[0] is Outcome.UNKNOWN


def test_a_verdict_names_no_file_that_is_not_the_runs(passing: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    told = json.loads((passing / "verdict.json").read_text())
    told["files"]["../secret"] = {"bytes": 1, "sha256": "0"}
    told["files"]["evidence/\0.jsonl"] = {"bytes": 1, "sha256": "0"}
    (passing / "verdict.json").write_text(json.dumps(told))
    outcome, notes = judged(passing)
    assert outcome is Outcome.PASS
    assert "secret" not in notes


def test_a_violation_that_is_not_found_again_is_no_pass(passing: Path) -> None:
    told = json.loads((passing / "verdict.json").read_text())
    told |= {"outcome": "violation", "reason": "availability: no write"}
    (passing / "verdict.json").write_text(json.dumps(told))
    outcome, notes = judged(passing)
    assert (outcome, "not found again: availability: no write" in notes) == (Outcome.UNKNOWN, True)


def test_the_sums_of_equal_runs_are_equal(passing: Path, simulated: Callable[..., Path]) -> None:
    assert sums_of(RunDir(passing)) == sums_of(RunDir(simulated(seed=9)))
    assert set(sums_of(RunDir(passing))) == {"plan.yaml", "history.jsonl", *EVIDENCE}
