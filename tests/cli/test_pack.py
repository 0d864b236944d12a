"""A run handed on: packed here, unpacked there, run again; and what strangers send."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cli_lantern import Lantern

SIM = ("--on", "sim", "--mistake", "role-only-read", "--seed", "3", "--time", "4", "--rate", "50")


def test_a_violation_packed_and_unpacked_elsewhere_is_the_same_run(lantern: Lantern) -> None:
    assert lantern("run", *SIM, "--out", "found").returncode == 1
    done = lantern("pack", "found")
    assert done.returncode == 0, done.stderr
    assert b"found.lantern.zip: 9 files" in done.stdout
    again = lantern("pack", "found/", "other.zip", "--json")
    assert again.returncode == 0, again.stderr
    file = lantern.place / "found.lantern.zip"
    assert file.read_bytes() == (lantern.place / "other.zip").read_bytes()
    told = json.loads(again.stdout)
    assert told["bytes"] == file.stat().st_size
    done = lantern("unpack", "other.zip", "there", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["environment"]["recorded"] == "run"
    assert said["files"] == told["files"]
    replayed = lantern("replay", "there")
    assert replayed.returncode == 1
    assert b"identical history" in replayed.stdout
    judged = lantern("check", "there", "--json")
    assert judged.returncode == 1
    shown = lantern("unpack", "found.lantern.zip")
    assert b"runs/found: 9 files\n" in shown.stdout
    assert b"\nran on lantern " in shown.stdout
    assert b"\nverdict, the sender's word and not judged here: violation\n" in shown.stdout
    assert b"\ncheck:  lantern check runs/found\n" in shown.stdout
    assert (said["verdict"], said["check"]) == ("violation", "lantern check there")
    assert Path(lantern.place, "runs/found/history.jsonl").exists()


def test_what_is_no_pack_is_a_usage_error_in_one_sentence(lantern: Lantern) -> None:
    file = lantern.place / "theirs.zip"
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("../../escape\x1b[2J", "x")
    done = lantern("unpack", "theirs.zip", "--json")
    assert done.returncode == 2
    assert "no file of a run" in json.loads(done.stdout)["error"]
    assert b"\x1b" not in done.stderr
    assert sorted(each.name for each in lantern.place.iterdir()) == ["theirs.zip"]
    for arguments in (("pack", "."), ("pack", "none"), ("unpack", "none.zip"), ("unpack", ".")):
        assert lantern(*arguments).returncode == 2


def test_code_that_an_unpacked_plan_names_is_not_run(lantern: Lantern) -> None:
    run = lantern.place / "run"
    run.mkdir()
    (run / "plan.yaml").write_text("target: their_client.py\non: docker\n")
    (run / "history.jsonl").touch()
    (lantern.place / "their_client.py").write_text("from pathlib import Path\nPath('x').touch()\n")
    assert lantern("pack", "run", "p.zip").returncode == 0
    assert lantern("unpack", "p.zip", "theirs").returncode == 0
    for verb in ("replay", "shrink"):
        refused = lantern(verb, "theirs")
        assert refused.returncode == 2
        assert b"--trust" in refused.stderr
    assert not (lantern.place / "x").exists()


def test_a_full_disk_is_a_harness_failure_that_leaves_nothing(lantern: Lantern) -> None:
    run = lantern.place / "run"
    run.mkdir()
    (run / "plan.yaml").write_text("on: sim\n")
    full = (
        "import zipfile, errno, os\n"
        "def full(*_): raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))\n"
        "zipfile.ZipFile.writestr = full\n"
    )
    done = lantern("pack", "run", "p.zip", patch=full)
    assert done.returncode == 6
    assert b"p.zip: No space left on device" in done.stderr
    assert sorted(each.name for each in lantern.place.iterdir()) == ["run"]
