from __future__ import annotations

import json
import random

import pytest

from checker import Budget, MalformedHistory, Outcome, check, formats
from checker.conventions import NilRead
from checker.events import Event, EventType, Header
from checker.formats.edn import EdnError, forms

W = '{"process":0,"type":"invoke","f":"write","value":1}'
OK = '{"process":0,"type":"ok","f":"write","value":1}'
HEAD = '{"schema":1,"kind":"lantern-history"}'


def refused(data: bytes, *, lenient: bool = False) -> MalformedHistory:
    with pytest.raises(MalformedHistory) as told:
        formats.read(data, name="h.jsonl", format="jsonl", lenient=lenient)
    return told.value


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (f"{W}\n{{oops\n{OK}\n".encode(), 2, "not JSON"),
        (f"{W}\n[1,2]\n{OK}\n".encode(), 2, "not an event"),
        (b'{"process":0,"type":"invoke","f":"write","value":NaN}\n', 1, "not JSON"),
        (b'{"process":1.5,"type":"invoke","f":"write"}\n', 1, "process"),
        (b'{"process":0,"type":"invoke"}\n', 1, "f"),
        (b'{"process":0,"type":"invoke","f":"write","index":"x"}\n', 1, "index"),
        (b"\xef\xbb\xbf" + W.encode() + b"\n", 1, "byte order mark"),
        (f"{W}\r\n{OK}\r\n".encode(), 1, "carriage return"),
        (W.encode() + b"\n" + b'{"process":0,"type":"ok","f":"write","value":"\xff"}\n', 2, "UTF-8"),
        (b'{"schema":7,"kind":"lantern-history"}\n', 1, "schema 7"),
        (b'{"schema":1,"kind":"lantern-evidence"}\n', 1, "not a history"),
        (
            b'{"process":0,"type":"invoke","f":"read","time_ns":99999999999999999999}\n',
            1,
            "99999999999999999999",
        ),
        (
            f'{W}\n{{"value":2,"process":0,"type":"ok","f":"write", "value" : 1}}\n'.encode(),
            2,
            "'value'",
        ),
        (f'{W}\n{{"process":0,"type":"ok","f":"write","time_ns":4}}\n'.encode(), 2, "some do not"),
    ],
)
def test_a_broken_line_is_refused_by_number(data: bytes, line: int | None, words: str) -> None:
    told = refused(data)
    assert told.line == line
    assert words in told.sentence


def test_a_field_that_comes_again_within_a_value_is_not_there_twice() -> None:
    told = ',"value":{"value":1,"key":[{"f":2}],"f":"\\"key\\":"},"key":"\\"key\\":"}\n'
    data = f"{W[:-11]}{told}{OK[:-11]}{told}".encode()
    (op,) = formats.read(data, name="h.jsonl", format="jsonl")
    assert op.value == {"value": 1, "key": [{"f": 2}], "f": '"key":'}


@pytest.mark.parametrize("space", ["", " ", "\t"])
@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ('"process":1,"type":"invoke","f":"read"%s', "process"),
        ('"type":"invoke","f":"read"%s,"value":null,"value":2', "value"),
        ('"type":"invoke","f":"read","evidence":{"node":"n1"}%s,"f":"write"', "f"),
        ('"type":"invoke","f":"\\u0022:"%s,"time":1,"time":1', "time"),
    ],
)
def test_a_field_that_is_there_twice_is_refused_among_many_lines(
    fields: str, name: str, space: str
) -> None:
    line = '{"process":0,' + fields.replace("%s", f',"key"{space}:null') + "}"
    told = refused(f"{W}\n{OK}\n{line}\n".encode())
    assert told.line == 3
    assert told.sentence == f"'{name}' is there twice"


def test_lenient_skips_what_cannot_be_read_and_says_so() -> None:
    history = formats.read(f"{W}\n{{oops\n{OK}\n".encode(), name="h", format="jsonl", lenient=True)
    assert len(history) == 1
    assert history.notes == ("1 unreadable lines skipped (lenient): 2",)
    assert history[0].return_line == 3


GZIP = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize(
    ("data", "words"),
    [
        (GZIP + b"abc", "compressed"),
        (b"hello", "not JSON"),
        (b"hello world\nthis is text", "not JSON"),
        (b"\x00\x01\x02\x7fELF", "not"),
    ],
)
def test_what_never_was_a_history_is_refused_and_not_called_torn(
    data: bytes, words: str, *, lenient: bool
) -> None:
    assert words in refused(data, lenient=lenient).sentence


def test_half_a_surrogate_pair_is_called_that() -> None:
    row = b'{"process":0,"type":"invoke","f":"write","value":"\\ud800"}\n'
    assert "half of a surrogate pair" in refused(row).sentence


def test_a_field_that_is_none_is_named_once() -> None:
    rows = "".join(f"{row}\n" for row in (W, OK) * 3).replace('"process"', '"nodee":"n1","process"')
    history = formats.read(f"{HEAD}\n{rows}".encode(), name="h")
    assert history.notes == ("fields that mean nothing here and were passed over: nodee",)
    assert [op.outcome for op in history] == [EventType.OK] * 3


def test_what_completed_counts_and_a_difference_is_noted() -> None:
    rows = f"{W}\n{OK.replace('1}', '2}')}\n"
    history = formats.read(rows.encode(), name="h")
    assert history[0].value == 2
    assert history.notes == (
        "the completion on line 2 says another value than the invocation: what completed counts",
    )
    again = formats.read((rows * 3).encode(), name="h")
    assert again.notes[0].startswith("the completion on line 2 and 2 others say")


def test_lenient_never_mends_a_schema() -> None:
    assert "schema 7" in refused(b'{"schema":7}\n', lenient=True).sentence


@pytest.mark.parametrize("cut", range(1, len(OK)))
def test_whatever_a_power_cut_leaves_of_the_last_line_the_rest_is_read(cut: int) -> None:
    history = formats.read(f"{HEAD}\n{W}\n{OK[:cut]}".encode(), name="h")
    assert len(history) == 1
    assert history[0].outcome is EventType.INFO
    assert any("torn" in note for note in check(history).notes)


def test_a_tail_of_nuls_is_lost_and_noted() -> None:
    history = formats.read(f"{HEAD}\n{W}\n{OK}\n".encode() + b"\0" * 100, name="h")
    assert history[0].outcome is EventType.OK
    assert any("NUL bytes at the end" in note for note in history.notes)


def test_a_last_line_without_its_newline_is_whole_if_it_reads() -> None:
    history = formats.read(f"{W}\n{OK}".encode(), name="h")
    assert history[0].outcome is EventType.OK
    assert history.notes == ()


def test_lines_are_counted_across_blocks_and_gaps() -> None:
    row = '{"process":%d,"type":"%s","f":"read","value":null}'
    text = "".join(f"{row % (n, 'invoke')}\n{row % (n, 'ok')}\n\n" for n in range(20_000))
    history = formats.read(text.encode(), name="h")
    assert history[19_999].call_line == 3 * 19_999 + 1
    assert "never invoked" in refused(text.encode() + (row % (5, "ok")).encode() + b"\n").sentence


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("nil true false", [None, True, False]),
        ("12 -3 +4 5N 1.5 2e3 1M", [12, -3, 4, 5, 1.5, 2000.0, 1.0]),
        (r'"a\n\"b\\" :key sym/bol \a \newline \u0041', ['a\n"b\\', "key", "sym/bol", "a", "\n", "A"]),
        ("[1 [2 (3)]]", [[1, [2, [3]]]]),
        ("#{3 1 2} {:a 1, [1] 2}", [[1, 2, 3], {"a": 1, "[1]": 2}]),
        ('#inst "2020" #foo.Bar{:x 1} #_ 5 6 #_[1 2] 7', ["2020", {"x": 1}, 6, 7]),
        ("; nothing\n1 ; one", [1]),
    ],
)
def test_edn_is_read(text: str, value: list[object]) -> None:
    assert [form for _, form in forms(text)] == value


@pytest.mark.parametrize("text", ["[1 2", "]", "{:a}", '"open', "(]", "1x"])
def test_what_is_no_edn_is_refused(text: str) -> None:
    with pytest.raises(EdnError):
        list(forms(text))


EDN = """[{:process 0, :type :invoke, :f :write, :value 1, :time 5}
 #jepsen.history.Op{:process :nemesis :type :info :f :start}
 {:process "a" :type :invoke, :f :read, :value nil, :time 4}
 {:process "a" :type :ok, :f :read, :value nil :time 9}
 {:process 0, :type :ok, :f :write, :value 1 :time 8}]"""


def test_a_jepsen_history_is_ordered_by_its_lines_and_its_nil_reads_say_nothing() -> None:
    history = formats.read(EDN.encode(), name="h")
    assert history.format == "edn"
    assert history.conventions.nil_read is NilRead.WILDCARD
    assert [(op.process, op.call_line) for op in history] == [(0, 1), ("a", 3)]
    assert check(history).outcome is Outcome.PASS
    assert check(history, nil_read=NilRead.VALUE, initial=3).outcome is Outcome.VIOLATION


def test_an_edn_line_that_is_no_event_is_refused_by_number() -> None:
    with pytest.raises(MalformedHistory, match=r"h:2: :process"):
        formats.read(
            b"{:process 0 :type :invoke :f :read}\n{:type :ok :f :read}\n", name="h", format="edn"
        )


def test_an_elle_array_is_read_with_its_lines() -> None:
    text = f'[\n{W},\n{{"process":0,"type":"ok",\n"f":"write","value":1}}]'
    history = formats.read(text.encode(), name="h")
    assert history.format == "elle-json"
    assert (history[0].call_line, history[0].return_line) == (2, 3)


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("INFO  jepsen.util - 1\t:invoke\t:read\tnil", "jepsen-log"),
        ("# @object atomic-queue\n[1] call enq(1)", "limo"),
        ('{:process 0, :type :invoke, :f :append, :key "0", :value "x"}', "porcupine-kv"),
        ("; comment\n({:type :invoke, :f :write, :value 0, :process 0}", "edn"),
        ('[{"process":0}]', "elle-json"),
        (HEAD, "jsonl"),
        (W, "jsonl"),
        ("", "jsonl"),
    ],
)
def test_a_format_is_told_by_its_first_lines(head: str, name: str) -> None:
    assert formats.detect(head.encode()) == name


def test_a_format_that_is_none_is_a_wrong_argument() -> None:
    with pytest.raises(ValueError, match="none of auto, jepsen-log"):
        formats.read(b"", name="h", format="xml")
    with pytest.raises(ValueError, match="cannot be written"):
        formats.write(formats.read(b"", name="h"), format="limo")


def test_a_limo_thread_that_calls_again_leaves_its_first_call_open() -> None:
    text = (
        "# @object atomic-stack\n[1] call push 1\n[1] return\n[1] call pop\n[1] call pop\n[1] return 1\n"
    )
    history = formats.read(text.encode(), name="h")
    assert check(history).outcome is Outcome.PASS
    assert any("calls again on line 5" in note for note in history.notes)


def test_a_limo_return_without_a_call_is_refused() -> None:
    with pytest.raises(MalformedHistory, match="never invoked"):
        formats.read(b"[1] return 3\n", name="h", format="limo")


LOG = b"""INFO  jepsen.util - 0	:invoke	:write	1
INFO  jepsen.util - 0	:ok	:write	1
INFO  jepsen.util - 1	:invoke	:cas	[1 2]
INFO  jepsen.util - 1	:fail	:cas	[1 2]
"""


@pytest.mark.parametrize("target", ["jsonl", "edn"])
def test_converting_keeps_the_verdict(target: str) -> None:
    history = formats.read(LOG, name="h")
    assert check(history).outcome is Outcome.VIOLATION
    again = formats.read(formats.write(history, format=target), name="again")
    assert again.format == target
    assert check(again).outcome is Outcome.VIOLATION


def test_wildcard_reads_survive_the_way_to_json_lines() -> None:
    history = formats.read(EDN.encode(), name="h")
    again = formats.read(formats.write(history), name="again")
    assert again.conventions == history.conventions
    assert check(again, initial=3).outcome is Outcome.PASS


def test_our_own_lines_come_back_as_they_went() -> None:
    events = [
        Event(
            index=4,
            time_ns=10,
            process=0,
            type=EventType.INVOKE,
            f="cas",
            key="x",
            value=[1, 2],
            node="n1",
        ),
        Event(
            index=6,
            time_ns=12,
            process=0,
            type=EventType.FAIL,
            f="cas",
            key="x",
            error="MISMATCH",
            node="n1",
        ),
    ]
    header = Header(run="r", origin_ns=7, model="cas-register")
    history = formats.from_events(events, header=header)
    written = formats.write(history)
    again = formats.read(written, name="again")
    assert json.loads(written.splitlines()[0])["origin_ns"] == 7
    assert again.header == header
    assert [again[0].error, again[0].node, again[0].call_ns, again[0].return_ns] == [
        "MISMATCH",
        "n1",
        10,
        12,
    ]


SAMPLES = {
    "jsonl": f"{HEAD}\n{W}\n{OK}\n".encode(),
    "edn": EDN.encode(),
    "jepsen-log": LOG,
    "limo": b"# @object atomic-queue\n[1] call enq(1)\n[1] return\n[2] call deq\n[2] return 1\n",
    "porcupine-kv": b'{:process 0, :type :invoke, :f :get, :key "0", :value nil}\n'
    b'{:process 0, :type :ok, :f :get, :key "0", :value ""}\n',
    "elle-json": f"[{W},{OK}]".encode(),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_whatever_happens_to_a_file_it_is_judged_or_refused(name: str) -> None:
    dice = random.Random(name)
    outcomes = set()
    for _ in range(1_500):
        data = bytearray(SAMPLES[name])
        for _ in range(dice.randint(1, 4)):
            at = dice.randrange(len(data))
            piece = bytes(
                dice.choice((b"", b"\x00", b"9", b"}", b'"', b"\xff", b"\n", b"nil", bytes(data[at:])))
            )
            data[at : at + dice.randint(0, 3)] = piece
        try:
            history = formats.read(bytes(data), name="h", format=name, lenient=dice.random() < 0.3)
            outcomes.add(check(history, budget=Budget(configurations_max=10_000)).outcome.value)
        except MalformedHistory:
            outcomes.add("malformed")
    assert "malformed" in outcomes
    assert len(outcomes) > 1


@pytest.mark.parametrize("name", ["jsonl", "edn", "elle-json"])
def test_nesting_without_end_is_refused(name: str) -> None:
    deep = "[" * 5_000 + "]" * 5_000
    text = f'{{"process":0,"type":"invoke","f":"write","value":{deep}}}\n'
    if name == "edn":
        text = f"{{:process 0 :type :invoke :f :write :value {deep}}}\n"
    if name == "elle-json":
        text = f"[{text}]"
    with pytest.raises(MalformedHistory, match="nested"):
        formats.read(text.encode(), name="h", format=name)


@pytest.mark.parametrize("depth", [50, 200])
def test_nesting_that_is_deep_is_judged(depth: int) -> None:
    text = f'{{"process":0,"type":"invoke","f":"write","value":{"[" * depth + "]" * depth}}}\n'
    assert check(formats.read(text.encode(), name="h")).outcome is Outcome.PASS


def _nested(depth: int, *, key: str = "null", f: str = "write") -> str:
    """Return an operation on a value (and perhaps a key) of so many levels."""
    deep = "[" * depth + "]" * depth
    key = deep if key == "deep" else key
    return "".join(
        f'{{"process":0,"type":"{kind}","f":"{f}","key":{key},"value":{deep}}}\n'
        for kind in ("invoke", "ok")
    )


@pytest.mark.parametrize("depth", [201, 600, 5_000])
@pytest.mark.parametrize("key", ["null", "deep"])
def test_what_is_nested_too_deeply_is_refused_with_its_line(depth: int, key: str) -> None:
    text = _nested(1) + _nested(depth, key=key)
    with pytest.raises(MalformedHistory, match="h:3: a value is nested too deeply"):
        formats.read(text.encode(), name="h")


@pytest.mark.parametrize("name", formats.WRITABLE)
def test_the_deepest_value_is_judged_shown_and_written(name: str) -> None:
    text = _nested(200, key="deep") + _nested(200, key="deep", f="read").replace("[[]]", "[[1]]")
    history = formats.read(text.encode(), name="h")
    report = check(history)
    assert report.outcome is Outcome.VIOLATION
    assert "saw a value that nothing wrote" in report.sentence
    written = formats.write(history, format=name)
    assert formats.read(written, name="h", format=name).value == history.value
    assert not formats.unsaid(history, format="jsonl")


def test_a_byte_order_mark_is_passed_over_and_no_line_is_called_skipped() -> None:
    data = b"\xef\xbb\xbf" + _nested(1).encode()
    with pytest.raises(MalformedHistory, match="h:1: a byte order mark"):
        formats.read(data, name="h")
    history = formats.read(data, name="h", lenient=True)
    assert len(history) == 1
    (note,) = history.notes
    assert "byte order mark" in note
    assert "skipped" not in note


def test_carriage_returns_alone_are_no_torn_line() -> None:
    data = (_nested(1) + _nested(1, f="read")).replace("\n", "\r").encode()
    for whole in (data, data.rstrip(b"\r")):
        with pytest.raises(MalformedHistory, match=r"h:1: "):
            formats.read(whole, name="h")


def test_an_index_below_nought_is_refused_as_that() -> None:
    text = '{"index":-7,"process":0,"type":"invoke","f":"read"}\n'
    with pytest.raises(MalformedHistory, match="h:1: index -7 is none: the first is 0"):
        formats.read(text.encode(), name="h")


def test_an_object_that_no_model_is_of_is_refused_by_name_unless_a_model_is_named() -> None:
    data = b"# @object atomic-frob\n[1] call push 1\n[1] return\n[2] call pop\n[2] return 1\n"
    history = formats.read(data, name="h.hist")
    with pytest.raises(MalformedHistory, match="names the model 'frob'"):
        check(history)
    assert check(history, model="stack").outcome is Outcome.PASS
