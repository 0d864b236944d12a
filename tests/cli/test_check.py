"""Histories judged on the command line: what comes out, and what broken files, limits and signals do."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.cli.check import check
from harness.cli.output import Output

if TYPE_CHECKING:
    from cli_lantern import Lantern

HISTORIES = Path(
    os.environ.get("LANTERN_HISTORIES", Path(__file__).resolve().parents[3] / "shared" / "histories")
)

HEADER = '{"schema":1,"kind":"lantern-history"}'


def line(process: int | str, type_: str, f: str, value: Any = None, **more: Any) -> str:
    return json.dumps({"process": process, "type": type_, "f": f, "key": "x", "value": value} | more)


GOOD = [
    HEADER,
    line(0, "invoke", "write", 1),
    line(0, "ok", "write", 1),
    line(1, "invoke", "read"),
    line(1, "ok", "read", 1),
]
STALE = [
    *GOOD,
    line(0, "invoke", "write", 2),
    line(0, "ok", "write", 2),
    line(1, "invoke", "read"),
    line(1, "ok", "read", 1),
]


def save(place: Path, name: str, lines: list[str] | bytes) -> str:
    path = place / name
    path.write_bytes(
        lines if isinstance(lines, bytes) else "".join(f"{text}\n" for text in lines).encode()
    )
    return str(path)


def objects(stdout: bytes) -> list[dict[str, Any]]:
    return [json.loads(text) for text in stdout.decode("ascii").splitlines()]


def test_a_good_history_passes(lantern: Lantern, tmp_path: Path) -> None:
    done = lantern("check", save(tmp_path, "good.jsonl", GOOD))
    assert done.returncode == 0
    assert done.stdout.startswith(b"PASS")
    assert done.stderr == b""


def test_a_stale_read_is_proved_by_its_operations(lantern: Lantern, tmp_path: Path) -> None:
    done = lantern("check", save(tmp_path, "stale.jsonl", STALE), "--json")
    assert done.returncode == 1
    (found,) = objects(done.stdout)
    assert found["outcome"] == "violation"
    assert found["model"] == "register"
    assert found["operations"] == 4
    assert found["keys"]["x"]["outcome"] == "violation"
    assert set(found["seconds"]) == {"load", "check"}
    assert found["violation"]["key"] == "x"
    assert found["violation"]["kind"] == "history"
    assert {"write", "read"} == {operation["f"] for operation in found["violation"]["operations"]}
    assert found["violation"]["sentence"]


def test_standard_input_is_a_path(lantern: Lantern) -> None:
    done = lantern("check", "-", "--json", data="\n".join(STALE).encode())
    assert done.returncode == 1
    assert "path" not in objects(done.stdout)[0]
    assert lantern("check", "-", "-").returncode == 2


def test_a_run_directory_means_its_history(lantern: Lantern, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    save(tmp_path / "run", "history.jsonl", STALE)
    assert lantern("check", str(tmp_path / "run")).returncode == 1


def test_of_several_paths_the_worst_is_the_exit_code(lantern: Lantern, tmp_path: Path) -> None:
    good, stale = save(tmp_path, "good.jsonl", GOOD), save(tmp_path, "stale.jsonl", STALE)
    broken = save(tmp_path, "broken.jsonl", [*GOOD, "{"])
    done = lantern("check", good, stale, broken, "--json")
    assert done.returncode == 1
    assert [(found["path"], found["outcome"]) for found in objects(done.stdout)] == [
        (good, "pass"),
        (stale, "violation"),
        (broken, "malformed"),
    ]
    assert lantern("check", good, broken).returncode == 5


def test_a_torn_last_line_is_a_note(lantern: Lantern, tmp_path: Path) -> None:
    done = lantern("check", save(tmp_path, "torn.jsonl", "\n".join([*GOOD, GOOD[1][:-9]]).encode()))
    assert done.returncode == 0
    assert b"note: the last line is torn" in done.stdout


BROKEN = {
    "half an object in the middle": [*GOOD[:3], '{"process":', *GOOD[3:]],
    "no number": [*GOOD, line(2, "invoke", "write", float("nan")), HEADER],
    "a completion of nothing": [*GOOD, line(7, "ok", "read", 1)],
    "two calls open": [*GOOD, line(1, "invoke", "read"), line(1, "invoke", "read")],
    "a process heard of again": [
        *GOOD,
        line(1, "invoke", "write", 3),
        line(1, "info", "write", 3),
        line(1, "invoke", "read"),
    ],
    "an unknown type": [*GOOD, line(1, "maybe", "read")],
    "an unknown schema": ['{"schema":99,"kind":"lantern-history"}', *GOOD[1:]],
    "a duplicate index": [*GOOD, line(1, "invoke", "read", index=4), line(1, "ok", "read", 1, index=4)],
    "not UTF-8": "\n".join(GOOD).encode() + b'\n"\xff\xfe"\n' + GOOD[1].encode(),
    "carriage returns": "\r\n".join(GOOD).encode() + b"\r\n",
    "random bytes": bytes(range(256)) * 8,
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_history_is_malformed_with_file_and_line(
    lantern: Lantern, tmp_path: Path, what: str
) -> None:
    path = save(tmp_path, "broken.jsonl", BROKEN[what])  # type: ignore[arg-type]
    done = lantern("check", path, "--json")
    assert done.returncode == 5
    (found,) = objects(done.stdout)
    assert found["outcome"] == "malformed"
    assert path in found["error"]


def test_an_empty_history_was_not_exercised(lantern: Lantern, tmp_path: Path) -> None:
    for content in (b"", HEADER.encode() + b"\n"):
        assert lantern("check", save(tmp_path, "empty.jsonl", content)).returncode == 4


def test_a_tail_of_nuls_is_a_note(lantern: Lantern, tmp_path: Path) -> None:
    data = "".join(f"{text}\n" for text in GOOD).encode() + b"\0" * 4096
    done = lantern("check", save(tmp_path, "cut.jsonl", data))
    assert done.returncode == 0
    assert b"note: NUL bytes at the end" in done.stdout


def test_a_tail_that_was_never_written_is_not_read(lantern: Lantern, tmp_path: Path) -> None:
    path = save(tmp_path, "cut.jsonl", "".join(f"{text}\n" for text in GOOD).encode())
    os.truncate(path, 64 << 30)
    done = lantern("check", path, "--memory-limit", "256", "--json")
    assert done.returncode == 0
    assert any("NUL bytes" in note for note in objects(done.stdout)[0]["notes"])


def test_lenient_skips_what_cannot_be_read(lantern: Lantern, tmp_path: Path) -> None:
    path = save(tmp_path, "broken.jsonl", BROKEN["half an object in the middle"])  # type: ignore[arg-type]
    done = lantern("check", "--lenient", path)
    assert done.returncode == 0
    assert b"note:" in done.stdout


def test_a_file_beyond_the_memory_limit_is_unknown(lantern: Lantern, tmp_path: Path) -> None:
    path = save(tmp_path, "large.jsonl", b"\n" * (129 << 20))
    done = lantern("check", "--memory-limit", "256", path, "--json")
    assert done.returncode == 3
    assert "memory limit" in objects(done.stdout)[0]["error"]


def many(tmp_path: Path, operations: int) -> str:
    """Save a history that takes a while to read."""
    pair = '{"process":0,"type":"invoke","f":"write","key":"x","value":%d}\n'
    pair += '{"process":0,"type":"ok","f":"write","key":"x","value":%d}\n'
    return save(tmp_path, "many.jsonl", "".join(pair % (n, n) for n in range(operations)).encode())


def test_the_time_limit_holds_while_a_history_is_read(lantern: Lantern, tmp_path: Path) -> None:
    done = lantern("check", "--time-limit", "0.2", many(tmp_path, 200_000), "--json")
    assert done.returncode == 3
    assert "0.2 s ran out while it was read" in objects(done.stdout)[0]["error"]


def test_the_memory_limit_holds_while_a_history_is_read(lantern: Lantern, tmp_path: Path) -> None:
    done = lantern("check", "--memory-limit", "80", many(tmp_path, 200_000), "--json")
    assert done.returncode == 3
    assert "80 MB ran out while it was read" in objects(done.stdout)[0]["error"]


def test_memory_that_runs_out_is_unknown(lantern: Lantern, tmp_path: Path) -> None:
    path = many(tmp_path, 200_000)
    done = lantern.shell(f"ulimit -v 100000; $LANTERN check {path} --json")
    assert done.returncode == 3
    assert "memory" in objects(done.stdout)[0]["error"]


def test_a_closed_standard_input_is_a_usage_error(lantern: Lantern) -> None:
    done = lantern.shell("$LANTERN check - --json <&-")
    assert done.returncode == 2
    assert "closed" in objects(done.stdout)[0]["error"]


def test_a_long_initial_state_is_not_told_back_in_full(lantern: Lantern, tmp_path: Path) -> None:
    done = lantern("check", save(tmp_path, "good.jsonl", GOOD), "--initial", "[" * 100_000)
    assert done.returncode == 2
    assert len(done.stderr) < 1000


def test_a_spent_time_limit_is_unknown(lantern: Lantern, tmp_path: Path) -> None:
    done = lantern("check", "--time-limit", "1e-9", save(tmp_path, "good.jsonl", GOOD))
    assert done.returncode == 3
    assert b"time limit" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("--initial", "NaN"),
        ("--initial", "[-1e999]"),
        ("--initial", "nothing"),
        ("--time-limit", "0"),
        ("--time-limit", "nan"),
        ("--time-limit", "inf"),
        ("--memory-limit", "9000000000000"),
        ("--memory-limit", "-1"),
        ("--model", "teapot"),
        ("--format", "teapot"),
        ("--ties", "loose"),
        ("/nowhere/at/all",),
    ],
)
def test_a_bad_option_is_a_usage_error(
    lantern: Lantern, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    done = lantern("check", save(tmp_path, "good.jsonl", GOOD), *arguments)
    assert done.returncode == 2
    assert done.stdout == b""


def test_the_initial_state_can_be_given(lantern: Lantern, tmp_path: Path) -> None:
    path = save(tmp_path, "read.jsonl", [line(1, "invoke", "read"), line(1, "ok", "read", 7)])
    assert lantern("check", path).returncode == 1
    assert lantern("check", path, "--initial", "7").returncode == 0


def test_hostile_text_reaches_no_terminal(lantern: Lantern, tmp_path: Path) -> None:
    hostile = "\x1b]0;owned\x07\u202e</script>\u2028"
    lines = [
        line(0, "invoke", "write", hostile, node=hostile),
        line(0, "ok", "write", hostile),
        line(1, "invoke", "read"),
        line(1, "ok", "read", hostile + "!"),
    ]
    (tmp_path / hostile.replace("/", "")).mkdir()
    path = save(tmp_path / hostile.replace("/", ""), "history.jsonl", lines)
    done = lantern("check", path)
    assert done.returncode == 1
    shown = done.stdout.decode()
    assert all(char.isprintable() for text in shown.split("\n") for char in text)
    assert "owned" in shown


def test_a_failure_on_one_path_hides_no_violation_of_another(lantern: Lantern, tmp_path: Path) -> None:
    stale = save(tmp_path, "stale.jsonl", STALE)
    patch = (
        "import harness.cli.check as module\n"
        "judge, seen = module.check_history, []\n"
        "def once(*args, **kwargs):\n"
        "    seen.append(1)\n"
        "    if len(seen) == 2: raise RuntimeError('boom')\n"
        "    return judge(*args, **kwargs)\n"
        "module.check_history = once\n"
    )
    done = lantern("check", stale, stale, "--json", patch=patch)
    assert [found["outcome"] for found in objects(done.stdout)] == ["violation", "harness-failure"]
    assert done.returncode == 1


def test_an_interruption_keeps_what_was_proved(lantern: Lantern, tmp_path: Path) -> None:
    good, stale = save(tmp_path, "good.jsonl", GOOD), save(tmp_path, "stale.jsonl", STALE)
    patch = (
        "import harness.cli.check as module\n"
        "judge, seen = module.check_history, []\n"
        "def once(*args, **kwargs):\n"
        "    seen.append(1)\n"
        "    if len(seen) == 2: raise KeyboardInterrupt\n"
        "    return judge(*args, **kwargs)\n"
        "module.check_history = once\n"
    )
    assert lantern("check", stale, good, good, patch=patch).returncode == 1
    done = lantern("check", good, good, stale, "--json", patch=patch)
    assert done.returncode == 130
    assert [found["outcome"] for found in objects(done.stdout)] == ["pass", "interrupted"]


def _queues(*, easy: int) -> list[str]:
    """Return a key that is hard to judge and an easy one, which took ``easy`` after 7 was put."""
    hard = [(n, "enq", n % 3) for n in range(14)] + [(14 + n, "deq", n % 2) for n in range(14)]
    lines = [line(p, "invoke", f, v) for p, f, v in hard] + [line(p, "ok", f, v) for p, f, v in hard]
    for f, value in (("enq", 7), ("deq", easy)):
        lines += [line(90, kind, f, value, key="easy") for kind in ("invoke", "ok")]
    return lines


def _signals_in_a_search(*numbers: str) -> str:
    """Return a patch that sends signals to the process once a search has begun."""
    return (
        "import os, signal\nfrom checker.searching import Searches\n"
        f"advance, left = Searches._advance, [{', '.join(f'signal.{number}' for number in numbers)}]\n"
        "def signalled(*args):\n"
        "    while left: os.kill(os.getpid(), left.pop())\n"
        "    return advance(*args)\n"
        "Searches._advance = signalled\n"
    )


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize(("easy", "code", "word"), [(8, 1, "violation"), (7, 130, "interrupted")])
def test_an_interrupted_search_tells_what_was_decided(
    lantern: Lantern, tmp_path: Path, number: str, easy: int, code: int, word: str
) -> None:
    path, good = save(tmp_path, "q.jsonl", _queues(easy=easy)), save(tmp_path, "good.jsonl", GOOD)
    patch = _signals_in_a_search(number)
    done = lantern("check", "--all", "--json", path, good, patch=patch)
    assert done.returncode == code, done
    (found,) = objects(done.stdout)
    assert found["outcome"] == word
    assert found["keys"]["easy"]["outcome"] == ("violation" if easy == 8 else "pass")
    assert found["keys"]["x"]["outcome"] == "unknown"
    assert found["keys"]["x"]["reason"].startswith("interrupted")
    assert (found["violation"] is None) == (easy == 7)
    shown = lantern("check", "--all", path, good, patch=patch).stdout.decode()
    assert ("keys: 1 unknown, 1 violation" if easy == 8 else "keys: 1 pass, 1 unknown") in shown
    assert "interrupted" in shown


def test_a_second_signal_ends_a_search_at_once(lantern: Lantern, tmp_path: Path) -> None:
    path = save(tmp_path, "q.jsonl", _queues(easy=7))
    patch = _signals_in_a_search("SIGINT", "SIGTERM")
    done = lantern("check", "--all", "--json", path, patch=patch)
    assert done.returncode == 130
    assert objects(done.stdout) == [{"outcome": "interrupted", "error": "interrupted"}]


def published() -> list[tuple[str, str]]:
    manifest = HISTORIES / "manifest.jsonl"
    if not manifest.exists():
        return []
    rows = [json.loads(text) for text in manifest.read_text().splitlines()]
    return [(row["path"], row["verdict"]) for row in rows if row["format"].startswith("jepsen-log")]


@pytest.mark.skipif(not published(), reason="the public histories are not there (LANTERN_HISTORIES)")
def test_every_jepsen_etcd_log_gets_its_published_verdict(lantern: Lantern) -> None:
    known = published()
    assert len(known) > 50
    done = lantern("check", "--json", *(str(HISTORIES / path) for path, _ in known))
    found = {Path(said["path"]).name: said["outcome"] for said in objects(done.stdout)}
    words = {"linearizable": "pass", "not-linearizable": "violation"}
    assert found == {Path(path).name: words[verdict] for path, verdict in known}
    assert done.returncode == 1


def test_the_verb_can_be_called_in_process(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = check.main([save(tmp_path, "good.jsonl", GOOD)], standalone_mode=False, obj=Output())
    assert outcome.code == 0
    assert capsys.readouterr().out.startswith("PASS")


def test_a_paranoid_check_says_the_same(lantern: Lantern, tmp_path: Path) -> None:
    assert lantern("check", "--paranoid", save(tmp_path, "good.jsonl", GOOD)).returncode == 0
    assert lantern("check", "--paranoid", save(tmp_path, "stale.jsonl", STALE)).returncode == 1


def test_a_model_of_other_operations_is_the_users_error_and_one_odd_operation_is_the_files(
    lantern: Lantern, tmp_path: Path
) -> None:
    good = save(tmp_path, "good.jsonl", GOOD)
    done = lantern("check", good, "--model", "mutex", "--json")
    (said,) = objects(done.stdout)
    assert (done.returncode, said["outcome"]) == (2, "usage")
    assert "acquire, release" in said["error"]
    assert "read, write" in said["error"]
    odd = [*GOOD, line(3, "invoke", "acquire"), line(3, "ok", "acquire")]
    assert lantern("check", save(tmp_path, "odd.jsonl", odd), "--model", "cas-register").returncode == 5
    assert lantern("check", good, "--model", "cas-register").returncode == 0


def test_every_line_of_a_proof_fits_into_eighty_columns(lantern: Lantern, tmp_path: Path) -> None:
    shown = lantern("check", save(tmp_path, "stale.jsonl", STALE)).stdout.decode()
    assert "VIOLATION" in shown
    path = str(tmp_path)
    assert all(len(text) <= 80 or path in text for text in shown.splitlines())


def test_a_state_that_no_such_object_has_at_the_start_is_the_users_error(
    lantern: Lantern, tmp_path: Path
) -> None:
    lines = [line(0, kind, "append", "a") for kind in ("invoke", "ok")]
    path = save(tmp_path, "kv.jsonl", [*lines, line(1, "invoke", "get"), line(1, "ok", "get", "ba")])
    for model in ("kv", "auto"):
        done = lantern("check", path, "--model", model, "--initial", "5", "--json")
        assert done.returncode == 2
        assert json.loads(done.stdout)["error"].startswith("--initial: ")
    assert lantern("check", path, "--model", "kv", "--initial", '"b"').returncode == 0
