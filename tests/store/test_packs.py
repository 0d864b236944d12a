"""A run in one file: whole or refused, never out of its place, never half there."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import shutil
import stat
import struct
import warnings
import zipfile
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.store import environment, packing, unpack
from harness.store import pack as packs
from harness.store.errors import NotAPack, NotARun, Refused, StoreFull
from harness.store.packing import Manifest, Packed
from harness.store.rundir import RunDir

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HERE = b'{"schema":1}'
FILES = {
    "plan.yaml": b"schema: 1\n",
    "schedule.yaml": b"schema: 2\n",
    "history.jsonl": b'{"schema":1,"kind":"lantern-history"}\n' * 40,
    "verdict.json": b'{"schema":1}\n',
    "evidence/n1.jsonl": b'{"schema":1}\n',
    "logs/n1.log": b"node=n1 event=boot\n",
    "metrics/n1.prom": b"leasekv_term 1\n",
}


def a_run(place: Path, files: dict[str, bytes] = FILES) -> RunDir:
    for name, data in files.items():
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return RunDir(place)


def packed(place: Path, files: dict[str, bytes] = FILES) -> Path:
    file = place / "run.lantern.zip"
    packs.pack(a_run(place / "run", files), file, environment=HERE)
    return file


def taken(file: Path, store: Path) -> dict[str, bytes]:
    path, _ = unpack.unpack(file, store=store)
    assert path == store / "run"
    return {
        each.relative_to(path).as_posix(): each.read_bytes()
        for each in sorted(path.rglob("*"))
        if each.is_file()
    }


def refused(file: Path, store: Path, match: str) -> None:
    """Hold that it is refused by name, and that nothing is left of the try."""
    with pytest.raises(NotAPack, match=match) as raised:
        unpack.unpack(file, store=store)
    assert str(file) in str(raised.value)
    assert not store.exists() or list(store.iterdir()) == []


def test_what_was_packed_comes_out_again(tmp_path: Path) -> None:
    file = packed(tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert taken(file, tmp_path / "store") == {**FILES, "environment.json": HERE}


def test_equal_runs_give_equal_packs(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    assert packed(one).read_bytes() == packed(other, dict(reversed(FILES.items()))).read_bytes()


def test_what_a_run_wrote_of_itself_is_kept_as_it_is(tmp_path: Path) -> None:
    own = environment.encoded("run", images={"n1": "sha256:aa"})
    file = packed(tmp_path, {**FILES, "environment.json": own})
    assert taken(file, tmp_path / "store")["environment.json"] == own
    told = json.loads(own)
    assert (told["recorded"], told["images"]) == ("run", {"n1": "sha256:aa"})
    assert told["libraries"]["click"]
    assert told["kernel"] == f"Linux {os.uname().release}"
    assert os.uname().nodename not in own.decode()


def test_reports_disks_and_strange_files_are_left_out_by_name(tmp_path: Path) -> None:
    more = {"report.html": b"<script>", "data/n1/wal": b"x", "logs/x y.log": b"x", "evidence/a.py": b"x"}
    a_run(tmp_path / "run", {**FILES, **more})
    manifest = packs.pack(RunDir(tmp_path / "run"), tmp_path / "p.zip", environment=HERE)
    assert sorted(manifest.files) == sorted([*FILES, "environment.json"])
    said = " ".join(manifest.left_out)
    assert all(word in said for word in ("report.html", "data", "logs/x y.log", "evidence/a.py"))


def test_a_long_log_is_packed_by_its_end(tmp_path: Path) -> None:
    log = b"first\n" + b"." * packing.LOG_MAX_BYTES
    file = packed(tmp_path, {**FILES, "logs/n1.log": log})
    assert taken(file, tmp_path / "store")["logs/n1.log"] == log[6:]
    with zipfile.ZipFile(file) as inside:
        assert json.loads(inside.read("pack.json"))["left_out"] == ["logs/n1.log: its first 6 bytes"]


@pytest.mark.parametrize("name", ["history.jsonl", "evidence/n1.jsonl", "evidence"])
def test_a_link_in_a_run_directory_is_not_followed(tmp_path: Path, name: str) -> None:
    run = a_run(tmp_path / "run")
    aside = tmp_path / "aside"
    (run.path / name).rename(aside)
    (run.path / name).symlink_to(aside)
    with pytest.raises(NotARun):
        packs.pack(run, tmp_path / "p.zip", environment=HERE)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["aside", "run"]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    file = packed(tmp_path)
    with pytest.raises(Refused):
        packs.pack(RunDir(tmp_path / "run"), file, environment=HERE)
    store = tmp_path / "store"
    taken(file, store)
    (store / "run" / "mine").touch()
    with pytest.raises(Refused):
        unpack.unpack(file, store=store)
    assert (store / "run" / "mine").exists()
    (store / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused):
        unpack.unpack(file, store=store, out=store / "link")


@pytest.mark.parametrize("name", ["dangling/x", "dangling", "file/x", "file", "a" * 300, "loop/x"])
def test_where_no_directory_can_be_is_refused(tmp_path: Path, name: str) -> None:
    file = packed(tmp_path)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "file").touch()
    with pytest.raises(Refused):
        unpack.unpack(file, store=tmp_path / "store", out=tmp_path / name)


def test_the_room_that_is_wanted_is_told_with_what_is_to_stay_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = packed(tmp_path)
    free = shutil.disk_usage(tmp_path)._replace(free=2 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: free)
    with pytest.raises(
        StoreFull, match=r"2 MB free; unpacked it takes 1 MB, and 16 MB are to stay free"
    ):
        unpack.unpack(file, store=tmp_path / "store")


def test_too_much_for_a_pack_is_said_before_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packs, "FILE_MAX_BYTES", 100)
    with pytest.raises(NotARun, match=r"history.jsonl: 1520 bytes are more"):
        packed(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["run"]


# What strangers send.


def forged(
    file: Path,
    files: dict[str, bytes] = FILES,
    *,
    manifest: dict[str, Any] | None = None,
    change: Callable[[zipfile.ZipInfo], object] = lambda _info: None,
) -> Path:
    """Write a zip file that says of itself what it likes; ``change`` sees every entry first."""
    listed = Manifest(run="run", files={name: told(data) for name, data in files.items()})
    said = {**msgspec.to_builtins(listed), **(manifest or {})}
    everything = {**files, "pack.json": json.dumps(said).encode()}
    with zipfile.ZipFile(file, "w") as out, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, data in everything.items():
            info = packing.entry(name, size_bytes=len(data))
            change(info)
            out.writestr(info, data)
    return file


def told(data: bytes) -> Packed:
    return Packed(len(data), hashlib.sha256(data).hexdigest())


@pytest.mark.parametrize(
    "name",
    [
        "../plan.yaml",
        "/tmp/plan.yaml",
        "evidence/../../n1.jsonl",
        "evidence/..jsonl",
        "evidence/a/b.jsonl",
        "evidence\\n1.jsonl",
        "logs/.hidden.log",
        "logs/n1.log/",
        "logs/n1.log\n",
        "plan.yaml\0.txt",
        "report.html",
        "client.py",
        ".bashrc",
        "logs/\u0131.log",
        "",
    ],
)
def test_a_name_that_no_run_has_is_refused(tmp_path: Path, name: str) -> None:
    def rename(info: zipfile.ZipInfo) -> None:
        if info.filename == "verdict.json":
            info.filename = name

    refused(forged(tmp_path / "p.zip", change=rename), tmp_path / "store", "is no file of a run")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFDIR, stat.S_IFCHR, stat.S_IFIFO, stat.S_IFSOCK])
def test_links_and_devices_are_refused(tmp_path: Path, kind: int) -> None:
    def become(info: zipfile.ZipInfo) -> None:
        info.external_attr = (kind | 0o777) << 16

    refused(forged(tmp_path / "p.zip", change=become), tmp_path / "store", "plain file")


def test_a_name_twice_is_refused(tmp_path: Path) -> None:
    def same(info: zipfile.ZipInfo) -> None:
        if info.filename == "schedule.yaml":
            info.filename = "plan.yaml"

    refused(forged(tmp_path / "p.zip", change=same), tmp_path / "store", "plan.yaml' is in it twice")


def test_a_strange_method_is_refused(tmp_path: Path) -> None:
    def bzip2(info: zipfile.ZipInfo) -> None:
        info.compress_type = zipfile.ZIP_BZIP2

    refused(forged(tmp_path / "p.zip", change=bzip2), tmp_path / "store", "deflate is known")


def test_what_grows_too_much_is_refused_before_it_grows(tmp_path: Path) -> None:
    bomb = {**FILES, "history.jsonl": bytes(8 << 20)}
    refused(forged(tmp_path / "p.zip", bomb), tmp_path / "store", "200-fold")


def test_what_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = packed(tmp_path)
    monkeypatch.setattr(packing, "WHOLE_MAX_BYTES", 1000)
    refused(file, tmp_path / "store", "too large")


def test_too_many_files_are_refused_before_they_are_listed(tmp_path: Path) -> None:
    many = {**FILES, **{f"logs/n{number}.log": b"" for number in range(200)}}
    refused(forged(tmp_path / "p.zip", many), tmp_path / "store", "100 at most")


@pytest.mark.parametrize(
    ("manifest", "match"),
    [
        ({"schema": 2}, "schema 2 is unknown; 1 is known: a newer Lantern wrote it"),
        ({"schema": 0}, "schema 0 is unknown; 1 is known$"),
        ({"kind": "else"}, "pack.json: "),
        ({"run": ".."}, "'..' is no name of a run"),
        ({"run": "a/b"}, "is no name of a run"),
        ({"run": "x" * 300}, "is no name of a run"),
        ({"files": {}}, "is there and not listed"),
        ({"files": {"a": {"bytes": 1, "sha256": ""}}}, "listed in pack.json and not there"),
        ({"files": 3}, "pack.json: "),
    ],
)
def test_what_is_listed_has_to_be_there_and_known(
    tmp_path: Path, manifest: dict[str, Any], match: str
) -> None:
    refused(forged(tmp_path / "p.zip", manifest=manifest), tmp_path / "store", match)


def test_content_that_is_not_what_was_listed_leaves_nothing(tmp_path: Path) -> None:
    wrong = {name: msgspec.to_builtins(told(data)) for name, data in FILES.items()}
    wrong["verdict.json"]["sha256"] = "0" * 64
    file = forged(tmp_path / "p.zip", manifest={"files": wrong})
    refused(file, tmp_path / "store", "verdict.json is not what pack.json says")


def test_no_zip_file_and_a_zip_file_that_is_no_pack(tmp_path: Path) -> None:
    text, empty, other = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    text.write_text("hello, hello, hello, hello, hello")
    empty.touch()
    with zipfile.ZipFile(other, "w") as out:
        out.writestr("plan.yaml", "")
    for file, match in ((text, "not a pack"), (empty, "not a pack"), (other, "has no pack.json")):
        refused(file, tmp_path / "store", match)
    with pytest.raises(NotARun):
        unpack.unpack(tmp_path, store=tmp_path / "store")
    with pytest.raises(NotARun):
        unpack.unpack(tmp_path / "none", store=tmp_path / "store")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotARun, match="not a regular file"):
        unpack.unpack(tmp_path / "pipe", store=tmp_path / "store")


def test_bytes_before_or_behind_and_comments_are_refused(tmp_path: Path) -> None:
    whole = packed(tmp_path).read_bytes()
    file = tmp_path / "p.zip"
    for data in (b"#!/bin/sh\n" + whole, whole + b"x", whole[:-2] + b"\2\0hi", whole[:4] + whole):
        file.write_bytes(data)
        refused(file, tmp_path / "store", "pack|cut short")


def test_a_second_directory_that_would_count_instead_is_refused(tmp_path: Path) -> None:
    whole = packed(tmp_path).read_bytes()
    end = whole[-22:]
    big = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 10**6, 10**6, 2**31, 0)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, len(whole) - 22, 1)
    fields = list(struct.unpack("<4s4H2LH", end))
    fields[5] += len(big) + len(locator)
    file = tmp_path / "p.zip"
    file.write_bytes(whole[:-22] + big + locator + struct.pack("<4s4H2LH", *fields))
    refused(file, tmp_path / "store", "counted in a way that packs are not")


def test_a_pack_cut_short_anywhere_is_refused(tmp_path: Path) -> None:
    whole = packed(tmp_path).read_bytes()
    file = tmp_path / "p.zip"
    for size in (*range(0, len(whole) - 30, 37), *range(len(whole) - 30, len(whole))):
        file.write_bytes(whole[:size])
        refused(file, tmp_path / "store", "cut short|not a pack")


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(where=st.integers(min_value=0), value=st.integers(min_value=1, max_value=255))
def test_a_byte_changed_anywhere_is_refused_or_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, where: int, value: int
) -> None:
    place = tmp_path_factory.mktemp("changed")
    whole = bytearray(packed(place).read_bytes())
    whole[where % len(whole)] ^= value
    file = place / "p.zip"
    file.write_bytes(whole)
    store = place / "store"
    try:
        path, _ = unpack.unpack(file, store=store)
    except NotAPack:
        assert not store.exists() or list(store.iterdir()) == []
    else:
        assert all((path / name).read_bytes() == data for name, data in FILES.items())


def test_a_disk_that_fails_half_way_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = packed(tmp_path)

    def full(*_: object) -> None:
        raise StoreFull(f"{file}: {os.strerror(errno.ENOSPC)}")

    monkeypatch.setattr(unpack, "write_all", full)
    with pytest.raises(StoreFull):
        unpack.unpack(file, store=tmp_path / "store")
    assert list((tmp_path / "store").iterdir()) == []


def test_an_interruption_half_way_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = a_run(tmp_path / "run")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        packs.pack(run, tmp_path / "p.zip", environment=HERE)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["run"]
    monkeypatch.undo()
    file = packed(tmp_path)
    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        unpack.unpack(file, store=tmp_path / "store")
    assert list((tmp_path / "store").iterdir()) == []


def test_a_directory_that_lies_about_a_size_writes_no_more_than_it_says(tmp_path: Path) -> None:
    file = packed(tmp_path)
    data = file.read_bytes()
    at = data.rindex(b"history.jsonl") - 46  # its entry in the directory
    assert data[at : at + 4] == b"PK\1\2"
    lied = bytearray(data)
    lied[at + 24 : at + 28] = (10).to_bytes(4, "little")
    file.write_bytes(lied)
    refused(file, tmp_path / "store", "history.jsonl")


def test_any_tool_reads_it(tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(packed(tmp_path).read_bytes())) as inside:
        assert inside.testzip() is None
        assert inside.namelist()[-1] == "pack.json"
