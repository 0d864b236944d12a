"""Whatever happens, the exit code tells the truth, and with --json so does standard output."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

import click
import pytest

import lantern_chaos
from harness.cli import main
from harness.cli.verbs import VERBS
from harness.outcome import Outcome, worst

if TYPE_CHECKING:
    from cli_lantern import Lantern

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "check": ("-",),
    "convert": ("-", "out.edn"),
    "list": ("policies",),
    "pack": (".",),
    "replay": (".",),
    "report": (".",),
    "shrink": (".",),
    "sweep": ("drift",),
    "unpack": ("x.zip",),
}


def broken(verb: str, raising: str) -> str:
    """Return Python that makes the body of a verb raise."""
    return (
        "from pkgutil import resolve_name\nfrom harness.cli.verbs import VERBS\n"
        f"def broken(*_, **__):\n    {raising}\n"
        f"resolve_name(VERBS[{verb!r}]).callback = broken\n"
    )


@pytest.mark.parametrize("verb", VERBS)
def test_an_exception_in_a_verb_is_a_harness_failure_and_never_a_violation(
    lantern: Lantern, verb: str, tmp_path: Path
) -> None:
    done = lantern(
        verb, *ARGUMENTS.get(verb, ()), patch=broken(verb, "raise RuntimeError('bo\\x1b[2Jom')")
    )
    assert done.returncode == 6
    assert done.stdout == b""
    story = done.stderr.decode()
    assert len(story.splitlines()) == 1
    assert "RuntimeError: bo\\x1b[2Jom" in story
    (saved,) = tmp_path.glob("lantern-failure-*.txt")
    assert str(saved) in story
    assert "Traceback" in saved.read_text()


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "raising", ["raise OSError(28, 'No space left')", "sys.exit(1)", "raise MemoryError"]
)
def test_no_way_out_of_a_verb_exits_with_one(lantern: Lantern, verb: str, raising: str) -> None:
    patch = "import sys\n" + broken(verb, raising)
    assert lantern(verb, *ARGUMENTS.get(verb, ()), patch=patch).returncode == 6


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "heal"])
def test_a_failure_with_json_is_one_object(lantern: Lantern, verb: str) -> None:
    patch = broken(verb, "raise RuntimeError('boom')")
    done = lantern(verb, *ARGUMENTS.get(verb, ()), "--json", patch=patch)
    assert done.returncode == 6
    (line,) = done.stdout.decode().splitlines()
    assert json.loads(line)["outcome"] == "harness-failure"


@pytest.mark.parametrize("module", ["harness.cli.verbs", "harness.outcome", "click", "msgspec", "yaml"])
def test_a_failed_import_is_a_harness_failure(lantern: Lantern, module: str) -> None:
    done = lantern("list", "policies", "--json", patch=f"import sys\nsys.modules[{module!r}] = None")
    assert done.returncode == 6
    assert module.encode() in done.stderr
    assert json.loads(done.stdout)["outcome"] == "harness-failure"


def installed(tmp_path: Path, *, path: Path) -> list[str]:
    """Return the command of an installed package, with ``path`` before it where Python looks."""
    site = tmp_path / "site-packages"
    site.mkdir()
    shutil.copy(lantern_chaos.__file__, site)
    start = f"import sys; sys.path[:0] = {[str(path), str(site)]!r}\n"
    return [sys.executable, "-P", "-c", start + "from lantern_chaos import entry\nentry()\n"]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("harness/__init__.py", ""),
        ("harness/__init__.py", "raise SystemExit(1)"),
        ("harness/cli/main.py", "def entry(:"),
        ("harness/cli/main.py", "raise MemoryError"),
        ("harness/cli/main.py", "1 / 0"),
    ],
)
def test_a_command_line_that_cannot_be_imported_is_a_harness_failure(
    tmp_path: Path, file: str, text: str
) -> None:
    (tmp_path / "other/harness/cli").mkdir(parents=True)
    (tmp_path / "other/harness/__init__.py").write_text("")
    (tmp_path / "other/harness/cli/__init__.py").write_text("")
    (tmp_path / "other" / file).write_text(text)
    command = installed(tmp_path, path=tmp_path / "other")
    done = subprocess.run([*command, "list", "--json"], capture_output=True, timeout=20, check=False)
    assert done.returncode == 6
    assert b"Traceback" not in done.stderr
    assert b"Lantern cannot be imported" in done.stderr
    assert json.loads(done.stdout)["outcome"] == "harness-failure"


_WRAPPED = (
    "try: raise KeyboardInterrupt\nexcept BaseException as e: raise RuntimeError('__set_name__') from e"
)


@pytest.mark.parametrize("how", ["raise KeyboardInterrupt", _WRAPPED])
def test_an_interruption_while_importing_exits_with_130(tmp_path: Path, how: str) -> None:
    (tmp_path / "harness").mkdir()
    (tmp_path / "harness/__init__.py").write_text(how)
    command = installed(tmp_path, path=tmp_path)
    done = subprocess.run(command, capture_output=True, timeout=20, check=False)
    assert (done.returncode, done.stderr) == (130, b"lantern: interrupted\n")


def test_an_interruption_that_a_class_wraps_while_a_verb_is_imported_exits_with_130(
    lantern: Lantern,
) -> None:
    patch = (
        "import harness.cli.main as module\n"
        "def wrapped(arguments):\n"
        "    try: raise KeyboardInterrupt\n"
        "    except BaseException as e: raise RuntimeError('Error calling __set_name__') from e\n"
        "module._guarded = wrapped"
    )
    done = lantern("list", "policies", "--json", patch=patch)
    assert (done.returncode, json.loads(done.stdout)["outcome"]) == (130, "interrupted")


def test_the_installed_command_starts_at_the_guard(lantern: Lantern) -> None:
    told = tomllib.loads((Path(lantern_chaos.__file__).parent / "pyproject.toml").read_text())
    assert told["project"]["scripts"] == {"lantern": "lantern_chaos:entry"}
    assert "lantern_chaos.py" in told["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    done = lantern("list", "policies", patch="import lantern_chaos\nlantern_chaos.entry()")
    assert done.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_after_the_end_change_nothing(lantern: Lantern, number: signal.Signals) -> None:
    kill = f"os.kill(os.getpid(), {int(number)})"
    patch = (
        "import atexit, os\nfrom harness.cli.doctor import doctor\nfrom harness.outcome import Outcome\n"
        f"def violated(*_, **__):\n    return Outcome.VIOLATION\n"
        f"doctor.callback = violated\natexit.register(lambda: {kill})\n"
    )
    assert lantern("doctor", patch=patch).returncode == 1


def test_a_signal_as_the_end_is_said_is_heard_once(lantern: Lantern) -> None:
    patch = broken("doctor", "raise KeyboardInterrupt") + (
        "import os, signal, sys\n"
        "class Stream:\n"
        "    def write(self, text):\n        os.kill(os.getpid(), signal.SIGTERM)\n"
        "    def flush(self): pass\n    def reconfigure(self, **_): pass\n"
        "sys.stderr = Stream()\n"
    )
    assert lantern("doctor", patch=patch).returncode == 130


def test_a_result_that_is_lost_is_said_whatever_the_outcome(lantern: Lantern) -> None:
    (lantern.place / "empty.jsonl").write_text("")
    done = lantern.shell("$LANTERN check empty.jsonl > /dev/full")
    assert done.returncode == 4
    assert b"could not be written" in done.stderr
    assert b"not-exercised" in done.stderr


@pytest.mark.parametrize("name", ["n" * 300, "caf\udce9", "link", "file", "file/below"])
def test_a_run_directory_that_cannot_be_is_a_usage_error_without_a_traceback(
    lantern: Lantern, tmp_path: Path, name: str
) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "file").write_text("")
    done = lantern("run", "--on", "sim", "--time", "1", "--out", name)
    assert done.returncode == 2, done.stderr
    assert b"Error: " in done.stderr
    assert b"Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


def test_a_store_that_cannot_be_used_is_one_sentence_before_a_simulation(
    lantern: Lantern, tmp_path: Path
) -> None:
    (tmp_path / "runs").write_text("")
    done = lantern("run", "--on", "sim", "--time", "1")
    assert done.returncode == 2
    assert b"runs" in done.stderr
    assert b"load" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_a_story_nobody_can_hear_does_not_stop_a_simulation(lantern: Lantern) -> None:
    done = lantern.shell("$LANTERN run --on sim --time 1 --seed 1 --faults none --json 2> /dev/full")
    assert json.loads(done.stdout)["outcome"] != "harness-failure"


def test_a_traceback_that_cannot_be_saved_is_printed(lantern: Lantern) -> None:
    patch = (
        broken("doctor", "raise RuntimeError('boom')") + "import tempfile\ntempfile.tempdir = '/nowhere'"
    )
    done = lantern("doctor", patch=patch)
    assert done.returncode == 6
    assert b"Traceback" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("nonsense",),
        ("doctor", "--nonsense"),
        ("check",),
        ("run", "--seed", "many"),
        ("list", "nonsense"),
    ],
)
def test_bad_arguments_are_usage_errors(lantern: Lantern, arguments: tuple[str, ...]) -> None:
    done = lantern(*arguments)
    assert done.returncode == 2
    assert done.stdout == b""
    assert b"Error: " in done.stderr


def test_bad_arguments_with_json_are_one_object(lantern: Lantern) -> None:
    done = lantern("doctor", "--nonsense", "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["outcome"] == "usage"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(lantern: Lantern, verb: str) -> None:
    done = lantern(verb, "--help")
    assert done.returncode == 0
    assert b"Usage: lantern " + verb.encode() in done.stdout


SPOKEN = pytest.mark.parametrize("arguments", ["--help", "list policies", "list policies --json"])


@SPOKEN
def test_a_closed_standard_output_changes_nothing(lantern: Lantern, arguments: str) -> None:
    done = lantern.shell(f"$LANTERN {arguments} >&-")
    assert done.returncode == 0
    assert done.stderr == b""


@SPOKEN
def test_a_reader_that_leaves_changes_nothing(lantern: Lantern, arguments: str) -> None:
    done = lantern.shell(f"(sleep 0.3; $LANTERN {arguments}; echo $? >&2) | true")
    assert done.stderr.decode().strip() == "0"


def test_a_result_that_cannot_be_written_is_no_pass(lantern: Lantern) -> None:
    done = lantern.shell("$LANTERN list policies > /dev/full")
    assert done.returncode == 6
    assert b"could not be written" in done.stderr


@pytest.mark.parametrize("asked", ["--help", "--version", "run --help"])
def test_help_that_cannot_be_written_is_one_sentence_and_no_bug(lantern: Lantern, asked: str) -> None:
    done = lantern.shell(f"$LANTERN {asked} > /dev/full")
    assert done.returncode == 6
    assert done.stderr.decode() == (
        "lantern: the help could not be written to standard output: No space left on device\n"
    )


def test_a_path_that_only_the_locale_cannot_name_is_told_from_one_that_is_no_text(
    lantern: Lantern,
) -> None:
    env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for name, told in (
        ("caf\u00e9", "a locale of ascii cannot name it"),
        ("caf\udce9", "has to be UTF-8"),
    ):
        done = lantern("run", "--on", "sim", "--time", "1", "--out", name, env=env)
        assert done.returncode == 2
        assert told in done.stderr.decode()


def test_memory_that_ran_out_is_one_sentence_and_no_traceback(lantern: Lantern, tmp_path: Path) -> None:
    done = lantern("doctor", patch=broken("doctor", "raise MemoryError"))
    assert done.returncode == 6
    assert done.stderr == b"lantern: harness failure, no verdict: this process may have no more memory\n"
    assert not list(tmp_path.glob("lantern-failure-*"))


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_locale_that_is_not_utf_8_stops_nothing(lantern: Lantern, encoding: str) -> None:
    env = {"PYTHONIOENCODING": encoding, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    patch = broken("doctor", "raise RuntimeError('caf\\u00e9 \\u2192')")
    done = lantern("doctor", patch=patch, env=env)
    assert done.returncode == 6
    assert b"harness failure" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_no_verb_handles_exits_with_130(lantern: Lantern, number: signal.Signals) -> None:
    patch = broken("doctor", "import time; print('ready', flush=True); time.sleep(60)")
    with subprocess.Popen(
        lantern.command("doctor", patch=patch),
        cwd=lantern.place,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        child.send_signal(number)
        child.communicate(timeout=20)
    assert child.returncode == 130


def test_the_codes_known_without_imports_are_those_of_the_table() -> None:
    assert Outcome.HARNESS_FAILURE.code == main.HARNESS_FAILURE
    assert Outcome.INTERRUPTED.code == main.INTERRUPTED


def test_every_outcome_has_a_code_of_its_own_and_one_is_a_violation() -> None:
    codes = {outcome.code for outcome in Outcome}
    assert len(codes) == len(Outcome)
    assert [outcome for outcome in Outcome if outcome.code == 1] == [Outcome.VIOLATION]


def test_a_violation_is_worse_than_anything() -> None:
    for other in Outcome:
        assert worst([other, Outcome.VIOLATION, Outcome.PASS]) is Outcome.VIOLATION
    ranked = [
        Outcome.MALFORMED,
        Outcome.HARNESS_FAILURE,
        Outcome.UNKNOWN,
        Outcome.NOT_EXERCISED,
        Outcome.PASS,
    ]
    for place, outcome in enumerate(ranked):
        assert worst(ranked[place:]) is outcome
    assert worst([]) is Outcome.PASS


def test_every_option_explains_itself() -> None:
    for verb in map(resolve_name, VERBS.values()):
        for option in verb.params:
            if isinstance(option, click.Option):
                assert option.help, f"{verb.name} {option.opts}"


def test_a_directory_that_is_gone_is_said_in_a_sentence(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = (
        "import os, sys; os.rmdir(os.getcwd()); sys.argv = ['lantern', 'run', '--on', 'sim']\n"
        "from harness.cli.main import entry; entry()"
    )
    root = str(Path(lantern_chaos.__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=gone,
        env={"PYTHONPATH": root},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == Outcome.HARNESS_FAILURE.code
    assert b"lantern: the current directory is gone" in done.stderr
    assert b"Traceback" not in done.stderr
