"""docs/history-format.md names everything that the files of a run hold."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from checker.conventions import Conventions
from checker.events import Header
from harness.plan import plan_from
from harness.plan.document import read
from harness.run.run import run
from harness.store.rundir import RunDir
from nemesis.machine.record import EpisodeRun, Injected

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "history-format.md").read_text()
OWN = [
    field.name
    for kind in (Header, Conventions, Injected, EpisodeRun)
    for field in msgspec.structs.fields(kind)
]


@pytest.mark.parametrize("field", sorted(set(OWN) - {"episode"}))
def test_every_field_of_a_header_and_of_what_was_injected_is_explained(field: str) -> None:
    assert any(word in TEXT for word in (f"`{field}`", f'"{field}"'))


def test_a_run_leaves_nothing_that_is_not_explained(tmp_path: Path) -> None:
    asked = {"mistake": "role-only-read", "seed": 3, "time": 4.0, "rate": 50, "on": "sim"}
    result = run(plan_from(None, asked), store_dir=tmp_path)
    directory = RunDir(result.directory)
    told = directory.read_verdict()
    assert [key for key in told if f"`{key}`" not in TEXT] == []
    assert [key for key in told["violation"] if f"`{key}`" not in TEXT] == []
    assert [each["mistake"] for each in told["planted"]] == ["role-only-read"]
    injected = read(directory.schedule.read_bytes(), name="schedule.yaml").value
    assert [key for key in injected if f"{key}:" not in TEXT] == []
    start_ns, end_ns = injected["load_ns"]
    assert start_ns > 0
    assert injected["faults"]
    assert all(start_ns <= fault["asked_ns"] <= end_ns for fault in injected["faults"])
