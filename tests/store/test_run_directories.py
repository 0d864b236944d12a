"""Run directories: unique, untricked by links, proof against an umask, read back with suspicion."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest

from harness.store import rundir
from harness.store.errors import NotARun, Refused, StoreError, StoreFull
from harness.store.files import read_bounded, shorten, write_atomic


def test_runs_of_one_second_get_different_names(tmp_path: Path) -> None:
    runs = [rundir.create("x", store=tmp_path / "runs") for _ in range(5)]
    assert len({run.path for run in runs}) == 5
    assert all(run.path.parent == tmp_path / "runs" for run in runs)


def test_a_name_that_is_a_dangling_link_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "strftime", lambda *_: "20260101T000000")
    trap = tmp_path / "20260101T000000-x"
    trap.symlink_to(tmp_path / "elsewhere")
    run = rundir.create("x", store=tmp_path)
    assert run.path == tmp_path / "20260101T000000-x-2"
    assert not (tmp_path / "elsewhere").exists()


def test_an_umask_that_forbids_everything_costs_no_run(tmp_path: Path) -> None:
    before = os.umask(0o777)
    try:
        run = rundir.create("x", store=tmp_path)
        write_atomic(run.plan, b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE(run.path.stat().st_mode) == 0o755
    assert stat.S_IMODE(run.plan.stat().st_mode) == 0o644
    assert run.logs.is_dir()


def test_a_named_directory_is_taken_only_if_new_or_empty(tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"
    assert rundir.create("x", store=tmp_path, out=out).path == out
    with pytest.raises(StoreError, match="not an empty directory"):
        rundir.create("x", store=tmp_path, out=out)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert rundir.create("x", store=tmp_path, out=empty).path == empty
    linked = tmp_path / "linked"
    linked.symlink_to(tmp_path / "target", target_is_directory=True)
    with pytest.raises(StoreError):
        rundir.create("x", store=tmp_path, out=linked)


def test_a_store_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        rundir.create("x", store=tmp_path / "file")


def test_too_little_room_is_said_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rundir, "FREE_MIN_BYTES", 1 << 60)
    with pytest.raises(StoreFull, match="MB free"):
        rundir.create("x", store=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_room_is_set_aside_and_given_back(tmp_path: Path) -> None:
    run = rundir.create("x", store=tmp_path)
    (reserve,) = _open_files_in(run.path)
    assert reserve.stat().st_blocks * 512 >= rundir.RESERVE_BYTES
    run.release_reserve()
    run.release_reserve()
    assert _open_files_in(run.path) == []


def test_what_is_set_aside_has_no_name_that_a_kill_could_leave(tmp_path: Path) -> None:
    run = rundir.create("x", store=tmp_path)
    assert {path.name for path in run.path.iterdir()} == {"evidence", "logs"}
    run.release_reserve()


def _open_files_in(place: Path) -> list[Path]:
    """Return what this process holds open in a directory, named or not."""
    opened = Path("/proc/self/fd")
    links = {path: _target(path) for path in opened.iterdir()}
    return [path for path, target in links.items() if target.startswith(f"{place}/")]


def _target(path: Path) -> str:
    try:
        return str(path.readlink())
    except FileNotFoundError:  # the descriptor of the listing itself
        return ""


def test_an_interrupted_write_leaves_nothing_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(tmp_path / "a", b"half")
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []
    write_atomic(tmp_path / "a", b"whole")
    assert (tmp_path / "a").read_bytes() == b"whole"


def test_a_file_whose_directory_is_gone_is_called_by_its_own_name(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as error:
        write_atomic(tmp_path / "gone" / "verdict.json", b"x")
    assert str(error.value) == f"{tmp_path}/gone/verdict.json: No such file or directory"


def test_evidence_behind_a_link_is_not_read(tmp_path: Path) -> None:
    run = rundir.create("x", store=tmp_path)
    run.evidence.rename(tmp_path / "elsewhere")
    run.evidence.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere/n1.jsonl").write_bytes(b"forged")
    with pytest.raises(NotARun, match="evidence"):
        run.read_evidence()


@pytest.mark.parametrize(
    "name", ["n" * 300, "file/below", "loop/below", "caf\udce9"], ids=["long", "file", "loop", "bytes"]
)
def test_a_name_that_no_run_can_have_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(Refused):
        rundir.create("x", store=tmp_path, out=tmp_path / name)
    with pytest.raises(Refused):
        rundir.create("x", store=tmp_path / name)
    assert sorted(tmp_path.iterdir()) == before


def test_a_run_directory_that_was_not_filled_is_discarded_and_a_filled_one_is_not(
    tmp_path: Path,
) -> None:
    run = rundir.create("x", store=tmp_path)
    run.discard()
    assert list(tmp_path.iterdir()) == []
    kept = rundir.create("x", store=tmp_path)
    kept.plan.write_text("a plan")
    kept.discard()
    assert kept.plan.exists()


def test_a_verdict_comes_back_and_an_unknown_schema_is_refused_by_name(tmp_path: Path) -> None:
    run = rundir.create("x", store=tmp_path)
    run.write_verdict({"outcome": "pass", "path": Path("a")})
    assert run.read_verdict()["outcome"] == "pass"
    run.verdict.write_text('{"schema": 99}')
    with pytest.raises(NotARun, match="schema 99 is unknown"):
        run.read_verdict()
    run.verdict.write_text("[" * 100_000)
    with pytest.raises(NotARun):
        run.read_verdict()


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotARun, match="not a directory"):
        rundir.existing(tmp_path / "none")
    with pytest.raises(NotARun, match="holds neither"):
        rundir.existing(tmp_path)
    made = rundir.create("x", store=tmp_path)
    write_atomic(made.plan, b"seed: 1\n")
    assert rundir.existing(made.path).read_plan() == b"seed: 1\n"


def test_reading_follows_no_link_waits_for_no_pipe_and_takes_no_more_than_allowed(
    tmp_path: Path,
) -> None:
    (tmp_path / "real").write_bytes(b"secret")
    (tmp_path / "link").symlink_to("real")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", "none"):
        with pytest.raises(NotARun):
            read_bounded(tmp_path / name, bytes_max=100)
    with pytest.raises(NotARun, match="larger than 5 bytes"):
        read_bounded(tmp_path / "real", bytes_max=5)
    assert read_bounded(tmp_path / "real", bytes_max=6) == b"secret"


def test_evidence_is_read_by_node_in_order(tmp_path: Path) -> None:
    run = rundir.create("x", store=tmp_path)
    for name in ("n2.jsonl", "n1.jsonl", "notes.txt"):
        (run.evidence / name).write_bytes(name.encode())
    assert list(run.read_evidence().items()) == [("n1", b"n1.jsonl"), ("n2", b"n2.jsonl")]
    assert rundir.RunDir(tmp_path / "none").read_evidence() == {}


def test_a_file_is_whole_or_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "f"
    write_atomic(target, b"old")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StoreFull, match="No space left"):
        write_atomic(target, b"new")
    monkeypatch.undo()
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_a_log_that_is_too_long_keeps_its_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"x" * 100 + b"end")
    assert not shorten(log, bytes_max=103)
    assert shorten(log, bytes_max=20)
    assert log.read_bytes() == b"[what came before was left out]\nxxxxxxxend"


def test_a_log_is_cut_under_the_hands_of_whoever_writes_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("ab", buffering=0) as writer:
        writer.write(b"x" * 100)
        assert shorten(log, bytes_max=10)
        writer.write(b"end")
    assert log.read_bytes() == b"[what came before was left out]\nxxxxxend"


def test_what_a_link_leads_to_is_not_cut(tmp_path: Path) -> None:
    elsewhere, log = tmp_path / "elsewhere", tmp_path / "log"
    elsewhere.write_bytes(b"x" * 100)
    log.symlink_to(elsewhere)
    with pytest.raises(OSError, match="symbolic links"):
        shorten(log, bytes_max=1)
    assert elsewhere.stat().st_size == 100


def test_logs_that_are_too_long_are_cut_to_their_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rundir, "LOG_MAX_BYTES", 10)
    run = rundir.create("x", store=tmp_path)
    (run.logs / "n1.log").write_bytes(b"short")
    (run.logs / "n2.log").write_bytes(b"0123456789end")
    run.cap_logs()
    assert (run.logs / "n1.log").read_bytes() == b"short"
    assert (run.logs / "n2.log").read_bytes().endswith(b"\n89end")


@pytest.mark.parametrize(
    ("log", "last"),
    [
        (None, None),
        (b"", None),
        (b"one\ntwo\n\n", "two"),
        (b"x" * 5000 + b"\nwhy='the disk failed'", "why='the disk failed'"),
    ],
)
def test_the_last_line_of_a_log_is_found(tmp_path: Path, log: bytes | None, last: str | None) -> None:
    run = rundir.create("x", store=tmp_path)
    if log is not None:
        (run.logs / "n1.log").write_bytes(log)
    assert run.last_line("n1") == last
    run.release_reserve()


def test_a_run_that_is_a_link_is_neither_thinned_nor_removed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "evidence").mkdir(parents=True)
    (elsewhere / "history.jsonl").write_text("precious")
    (tmp_path / "run").symlink_to(elsewhere)
    run = rundir.RunDir(tmp_path / "run")
    run.thin()
    run.remove()
    assert (elsewhere / "history.jsonl").read_text() == "precious"
    assert (elsewhere / "evidence").is_dir()
