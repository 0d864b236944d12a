"""Histories turned into another format: what comes out, what is lost, and what is refused."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from checker import MalformedHistory, Outcome, check, formats
from checker.events import EventType
from checker.formats import telling
from checker.formats.edn import forms

if TYPE_CHECKING:
    from cli_lantern import Lantern

    from checker.operations import History

HISTORIES = Path(
    os.environ.get("LANTERN_HISTORIES", Path(__file__).resolve().parents[3] / "shared" / "histories")
)
READABLE = sorted(
    path for path in HISTORIES.rglob("*") if path.is_file() and path.name != "manifest.jsonl"
)

HEADER = '{"schema":1,"kind":"lantern-history","run":"r","origin_ns":7}'
LINES = [
    HEADER,
    '{"index":0,"time_ns":1,"process":0,"type":"invoke","f":"write","key":"x","value":1}',
    '{"index":1,"time_ns":2,"process":"nemesis","type":"info","f":"cut","value":["n1"]}',
    '{"index":2,"time_ns":3,"process":0,"type":"ok","f":"write","key":"x","value":1}',
    '{"index":3,"time_ns":4,"process":1,"type":"invoke","f":"cas","key":"x","value":[1,2]}',
    '{"index":4,"time_ns":4,"process":0,"type":"invoke","f":"read","key":"y"}',
    '{"index":5,"time_ns":6,"process":0,"type":"ok","f":"read","key":"y","evidence":{"term":2}}',
    '{"index":6,"time_ns":7,"process":1,"type":"info","f":"cas","key":"x","value":[1,2],"error":""}',
]
DATA = "".join(f"{line}\n" for line in LINES).encode()
WANTED = b"""\
[{:process 0, :type :invoke, :f :write, :value ["x" 1], :independent true, :time 1, :index 0}
 {:process :nemesis, :type :info, :f :cut, :value ["n1"], :time 2, :index 1}
 {:process 0, :type :ok, :f :write, :value ["x" 1], :independent true, :time 3, :index 2}
 {:process 1, :type :invoke, :f :cas, :value ["x" [1 2]], :independent true, :time 4, :index 3}
 {:process 0, :type :invoke, :f :read, :value ["y" nil], :independent true, :time 4, :index 4}
 {:process 0, :type :ok, :f :read, :value ["y" nil], :independent true, :time 6, :index 5}
 {:process 1, :type :info, :f :cas, :value ["x" [1 2]], :independent true, :time 7, :index 6, :error ""}]
"""


@pytest.fixture
def ours(tmp_path: Path) -> str:
    (tmp_path / "h.jsonl").write_bytes(DATA)
    return "h.jsonl"


def test_json_lines_become_what_jepsen_writes_tuples_for_keys(lantern: Lantern, ours: str) -> None:
    done = lantern("convert", ours, "h.edn")
    assert (done.returncode, done.stderr) == (0, b"")
    assert (lantern.place / "h.edn").read_bytes() == WANTED
    shown = done.stdout.decode().splitlines()
    assert shown[0] == "h.edn: 3 operations, from jsonl to edn"
    assert shown[1:] == [
        "note: the header (run, model and origin of the stamps) has no place in EDN",
        "note: what the target said of 1 answers (evidence) has no place in EDN",
        "note: 1 reads saw nil; in EDN that means: nobody recorded what they saw",
    ]


def test_from_standard_input_to_standard_output(lantern: Lantern) -> None:
    done = lantern("convert", "-", "-", data=DATA)
    assert (done.returncode, done.stdout) == (0, WANTED)
    assert b"note: the header" in done.stderr
    back = lantern("convert", "-", "-", data=WANTED)
    assert back.returncode == 0
    assert len(back.stdout.splitlines()) == len(LINES)


def test_the_result_as_json(lantern: Lantern, ours: str) -> None:
    said = json.loads(lantern("convert", ours, "h.edn", "--json").stdout)
    assert said["notes"].pop().startswith("1 reads saw nil")
    assert {key: said[key] for key in ("outcome", "out", "from", "to", "operations")} == {
        "outcome": "pass",
        "out": "h.edn",
        "from": "jsonl",
        "to": "edn",
        "operations": 3,
    }


def test_nothing_is_overwritten_not_even_a_dangling_link(lantern: Lantern, ours: str) -> None:
    (lantern.place / "there.edn").write_text("mine")
    (lantern.place / "link.edn").symlink_to("nowhere")
    for name in ("there.edn", "link.edn"):
        done = lantern("convert", ours, name)
        assert done.returncode == 2
        assert b"is there already" in done.stderr
    assert (lantern.place / "there.edn").read_text() == "mine"
    assert not (lantern.place / "nowhere").exists()


@pytest.mark.parametrize("arguments", [("h.edn", "--to", "limo"), ("h.txt",)])
def test_a_format_that_is_not_written_is_answered_with_those_that_are(
    lantern: Lantern, ours: str, arguments: tuple[str, ...]
) -> None:
    done = lantern("convert", ours, *arguments)
    assert done.returncode == 2
    assert b"edn" in done.stderr
    assert b"jsonl" in done.stderr
    assert not (lantern.place / arguments[0]).exists()


def test_json_needs_standard_output_for_itself(lantern: Lantern, ours: str) -> None:
    done = lantern("convert", ours, "-", "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["outcome"] == "usage"


def test_what_is_malformed_is_refused_with_its_line_and_leaves_no_file(lantern: Lantern) -> None:
    (lantern.place / "bad.jsonl").write_bytes(DATA + LINES[-1].encode() + b"\n")
    done = lantern("convert", "bad.jsonl", "out.edn")
    assert done.returncode == 5
    assert b"bad.jsonl:9: " in done.stderr
    said = json.loads(lantern("convert", "bad.jsonl", "out.edn", "--json").stdout)
    assert said["outcome"] == "malformed"
    assert "bad.jsonl:9: " in said["error"]
    assert not (lantern.place / "out.edn").exists()


def test_a_full_disk_leaves_no_half_of_a_history(lantern: Lantern, ours: str) -> None:
    patch = (
        "from harness.store import files as module\n"
        "from harness.store.errors import StoreFull\n"
        "def full(descriptor, data, path):\n"
        "    import os\n    os.write(descriptor, data[:9])\n    raise StoreFull('no room')\n"
        "module.write_all = full\n"
    )
    done = lantern("convert", ours, "h.edn", patch=patch)
    assert done.returncode == 6
    assert b"no room" in done.stderr
    assert not (lantern.place / "h.edn").exists()


@pytest.mark.parametrize("name", ["none/h.edn", "ours.jsonl/h.edn", "h" * 260 + ".edn"])
def test_a_name_that_no_file_can_have_is_bad_input(lantern: Lantern, ours: str, name: str) -> None:
    shutil.copyfile(lantern.place / ours, lantern.place / "ours.jsonl")
    done = lantern("convert", ours, name)
    assert done.returncode == 2
    assert done.stderr.startswith(b"Error: ")
    assert done.stderr.endswith(b": no file can be made there\n")
    assert len(done.stderr.splitlines()) == 1


def as_json(value: Any) -> Any:
    """The value with text for every key of a map, as JSON has it."""
    return json.loads(json.dumps(value))


def told(history: History) -> list[tuple[Any, ...]]:
    """What a history says, apart from what EDN has no words for; a failed cas may get its code."""
    return [
        (
            line.process,
            line.type,
            line.f,
            as_json(line.key),
            as_json(line.value),
            line.time_ns,
            line.node,
        )
        for line in telling.lines(history)
    ]


@pytest.mark.skipif(
    not READABLE, reason=f"no histories at {HISTORIES} (LANTERN_HISTORIES names the folder)"
)
def test_every_readable_history_comes_back_from_either_format_as_it_was() -> None:
    converted = 0
    for path in READABLE:
        try:
            history = formats.read(path.read_bytes(), name=path.name)
        except MalformedHistory:
            continue
        wanted = told(history)
        for target in formats.WRITABLE:
            again = formats.read(formats.write(history, format=target), name=target)
            assert again.format == target, path
            assert told(again) == wanted, path
        converted += 1
    assert converted > len(READABLE) // 2


def test_what_was_concurrent_by_its_stamp_is_so_by_the_order_of_lines() -> None:
    rows = [
        '{"time_ns":1,"process":0,"type":"invoke","f":"write","value":1}',
        '{"time_ns":5,"process":0,"type":"ok","f":"write","value":1}',
        '{"time_ns":5,"process":1,"type":"invoke","f":"read"}',
        '{"time_ns":7,"process":1,"type":"ok","f":"read","value":0}',
    ]
    history = formats.read("\n".join(rows).encode(), name="h")
    assert check(history, initial=0).outcome is Outcome.PASS
    again = formats.read(formats.write(history, format="edn"), name="again")
    assert check(again, initial=0).outcome is Outcome.PASS
    assert formats.unsaid(history, format="edn") == ()


def test_a_call_at_the_stamp_of_its_own_return_comes_after_it_and_that_is_noted() -> None:
    rows = [
        f'{{"time_ns":5,"process":0,"type":"{kind}","f":"write","value":{value}}}'
        for value in (1, 2)
        for kind in ("invoke", "ok")
    ]
    history = formats.read("\n".join(rows).encode(), name="h")
    again = formats.read(formats.write(history, format="edn"), name="again")
    assert [op.outcome for op in again] == [EventType.OK, EventType.OK]
    assert formats.unsaid(history, format="edn") == (
        "1 calls have the stamp of their process's last return; EDN puts them after it",
    )


def test_lines_without_stamps_get_none() -> None:
    history = formats.read(b"{:process 0, :type :invoke, :f :write, :value 1}", name="h")
    assert b"time" not in formats.write(history).splitlines()[1]
    assert b":time" not in formats.write(history, format="edn")


def test_parts_of_transactions_are_keywords_as_elle_wants_them() -> None:
    text = b'{:process 0, :type :ok, :f :txn, :value [[:append 5 1] [:r 5 nil] ["odd one" 1]]}'
    history = formats.read(text.replace(b":ok", b":invoke") + b"\n" + text, name="h")
    (form,) = [form for _, form in forms(formats.write(history, format="edn").decode())]
    assert form[1]["value"] == [["append", 5, 1], ["r", 5, None], ["odd one", 1]]
    assert b'[[:append 5 1] [:r 5 nil] ["odd one" 1]]' in formats.write(history, format="edn")


def test_a_map_with_a_key_that_json_has_not_is_written_with_text() -> None:
    row = b"{:process 0, :type :invoke, :f :write, :value %s}"
    history = formats.read(row % b"[{nil 1, 2 3}]", name="h")
    assert formats.read(formats.write(history), name="again")[0].value == [{"nil": 1, "2": 3}]
    assert formats.unsaid(history) == ("JSON makes text of the keys of 1 maps, which were other values",)
    assert formats.unsaid(formats.read(row % b'[{"a" 1}]', name="h")) == ()


def test_a_pair_is_a_tuple_only_where_the_line_says_so() -> None:
    row = b'{:process 0, :type :invoke, :f :write, :value ["x" 1]%s}'
    plain, tuple_ = (formats.read(row % more, name="h")[0] for more in (b"", b", :independent true"))
    assert (plain.key, plain.value) == (None, ["x", 1])
    assert (tuple_.key, tuple_.value) == ("x", 1)
    with pytest.raises(MalformedHistory, match="no tuple"):
        formats.read(b"{:process 0, :type :invoke, :f :write, :value 1, :independent true}", name="h")


JEPSENS = """
{:process 0, :type :invoke, :f :write, :value [0 1]}
{:process 0, :type :ok, :f :write, :value [0 1]}
{:process 1, :type :invoke, :f :write, :value [1 2]}
{:process 1, :type :ok, :f :write, :value [1 2]}
{:process 2, :type :invoke, :f :read, :value %s}
{:process :nemesis, :type :info, :f :start, :value nil}
{:process 2, :type :ok, :f :read, :value [0 1]}
"""


def test_reads_that_begin_with_a_key_make_tuples_of_all_values() -> None:
    history = formats.read((JEPSENS % "[0 nil]").encode(), name="h")
    assert [(each.key, each.value) for each in history] == [(0, 1), (1, 2), (0, 1)]
    assert history.notes == ("the first read names a key: each value is taken for a tuple [key value]",)
    unsaid = (JEPSENS % "[0 nil]").replace(
        ":ok, :f :read, :value [0 1]", ":info, :f :read, :value :timed-out"
    )
    assert formats.read(unsaid.encode(), name="h")[2].key == 0
    pairs = formats.read((JEPSENS % "nil").encode(), name="h")
    assert pairs[0].value == [0, 1]
    mixed = JEPSENS % "[0 nil]" + "{:process 3, :type :invoke, :f :write, :value 4}"
    with pytest.raises(MalformedHistory, match="h:9: :value is no tuple"):
        formats.read(mixed.encode(), name="h")


def test_an_empty_history_stays_one(lantern: Lantern) -> None:
    (lantern.place / "h.jsonl").write_text(HEADER + "\n")
    assert lantern("convert", "h.jsonl", "h.edn").returncode == 0
    assert lantern("check", "h.edn").returncode == 4
