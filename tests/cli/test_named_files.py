"""What the command line names is a regular file: a pipe is not waited for, a device not read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from cli_lantern import Lantern

from harness.campaign.journal import ROWS

if TYPE_CHECKING:
    from pathlib import Path

CAMPAIGN = "schema: 1\nseeds: 1\nruns: [{name: a, plan: {on: sim, time: 1}}]\n"


def put(path: Path, kind: str) -> None:
    """Put something there that is no file."""
    path.unlink(missing_ok=True)
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "directory":
            path.mkdir()


@pytest.fixture
def lantern(tmp_path: Path) -> Lantern:
    run = tmp_path / "run"
    run.mkdir()
    (run / "plan.yaml").write_text("on: sim\nseed: 1\n")
    (run / "history.jsonl").write_text("")
    campaign = tmp_path / "campaign"
    campaign.mkdir()
    (campaign / "campaign.yaml").write_text(CAMPAIGN)
    (campaign / ROWS).write_text("")
    return Lantern(tmp_path)


NAMED = [
    ("it", ("run", "it")),
    ("it", ("run", "--on", "sim", "--schedule", "it")),
    ("it", ("campaign", "it")),
    ("it", ("check", "it")),
    ("it", ("convert", "it", "new.edn")),
    ("it", ("unpack", "it")),
    ("it.py", ("run", "--target", "it.py")),
    ("run/plan.yaml", ("run", "run/plan.yaml")),
    ("run/plan.yaml", ("replay", "run")),
    ("run/plan.yaml", ("shrink", "run")),
    ("run/history.jsonl", ("replay", "run")),
    ("run/history.jsonl", ("check", "run")),
    ("campaign/campaign.yaml", ("campaign", "--resume", "campaign")),
    ("campaign/campaign.yaml", ("campaign", "--catalog", "--resume", "campaign")),
    ("campaign/rows.jsonl", ("campaign", "--resume", "campaign")),
]


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        *((*named, "pipe") for named in NAMED),
        *(
            (*named, kind)
            for named in (NAMED[0], NAMED[3], NAMED[-1])
            for kind in ("device", "directory")
        ),
    ],
)
def test_what_is_no_regular_file_is_refused_in_a_sentence(
    lantern: Lantern, name: str, arguments: tuple[str, ...], kind: str
) -> None:
    put(lantern.place / name, kind)
    ended = lantern(*arguments)
    said = (ended.stdout + ended.stderr).decode()
    assert ended.returncode == 2, said
    assert "Traceback" not in said
    assert len(said.splitlines()) <= 4
    assert not (lantern.place / "runs").exists()


LONG = "x" * 300


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--target", f"{LONG}.py"),
        ("report", LONG),
        ("replay", LONG),
        ("shrink", LONG),
        ("pack", LONG),
        ("heal", "--run", LONG),
        ("campaign", "--resume", LONG),
        ("campaign", "campaign/campaign.yaml", "--resume", LONG),
    ],
)
def test_a_name_that_no_file_can_have_is_no_bug_of_ours(
    lantern: Lantern, arguments: tuple[str, ...]
) -> None:
    ended = lantern(*arguments)
    said = (ended.stdout + ended.stderr).decode()
    assert ended.returncode == 2, said
    assert "OSError" not in said


def test_a_pack_that_cannot_have_its_name_is_told_by_it(lantern: Lantern) -> None:
    ended = lantern("pack", "run", LONG)
    said = (ended.stdout + ended.stderr).decode()
    assert ended.returncode == 2
    assert said == f"Error: {LONG}: File name too long: no file can be made there\n"


def test_a_link_of_ones_own_is_followed_and_one_in_a_run_directory_is_not(lantern: Lantern) -> None:
    plan = lantern.place / "run" / "plan.yaml"
    quiet = ("--time", "1", "--faults", "none", "--allow", "not-exercised")
    (lantern.place / "mine.yaml").symlink_to("run/plan.yaml")
    assert lantern("run", "mine.yaml", *quiet, "--out", "one").returncode == 0
    plan.rename(lantern.place / "elsewhere.yaml")
    plan.symlink_to("../elsewhere.yaml")
    assert lantern("run", "run/plan.yaml", *quiet, "--out", "two").returncode == 2


def test_standard_input_may_be_a_pipe(lantern: Lantern) -> None:
    assert lantern("check", "-", data=b"").returncode == 4


def test_a_store_that_is_a_device_is_no_directory_and_is_not_served(lantern: Lantern) -> None:
    done = lantern("serve", "--store", "/dev/null", "--port", "0")
    assert done.returncode == 2
    assert b"/dev/null is no directory" in done.stderr
