"""The guarded entry point: whatever happens in here, the exit code tells the truth.

Python itself exits with 1 on an uncaught error, and 1 means *a proof exists*. So everything, failed
imports included, runs inside `entry` (and its own import inside `lantern_chaos`), which maps each way
out to a code of `harness.outcome`:

* a verb returns an `Outcome`: its code;
* click refuses the arguments, or the store a name for a run directory: 2;
* there is no room or no permission for a run directory: 6, with the sentence and no traceback;
* anything else that is raised: 6, with one sentence and the place where the traceback was saved;
* an interruption that no verb has taken care of: 130. One that comes once the end is decided changes
  nothing any more, however often it is repeated.

With ``--json`` each of these ends prints its one object as well. This module imports nothing but the
standard library, and `lantern_chaos` and `harness.bugs`, which do the same, until it is inside the
guard.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Any, Final, NoReturn, TextIO

from harness.bugs import recorded
from lantern_chaos import interrupted

if TYPE_CHECKING:
    from collections.abc import Callable

# These two are needed when even `harness.outcome` cannot be imported; a test holds them to its table.
HARNESS_FAILURE: Final = 6
INTERRUPTED: Final = 130

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def entry() -> NoReturn:
    """Run the command line of this process and exit."""
    arguments = sys.argv[1:]
    code: int | None = None
    try:
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:  # what the locale cannot encode is shown as its escape
                    stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
            for number in _SIGNALS:  # they mean what Ctrl-C means
                signal.signal(number, _interrupt)
            code = _guarded(arguments)
        finally:
            for number in _SIGNALS:
                signal.signal(number, signal.SIG_IGN)
    except BaseException as error:  # noqa: BLE001 - a process's edge: recorded, never taken for a verdict
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        if not interrupted(error):
            code = _ended(
                arguments, "harness-failure", _adrift() or recorded(error), code=HARNESS_FAILURE
            )
        elif code is None:
            code = _ended(arguments, "interrupted", "interrupted", code=INTERRUPTED)
    assert code is not None
    _leave(code)


def _guarded(arguments: list[str]) -> int:
    import click  # noqa: PLC0415 - inside the guard

    from harness.cli.output import Output  # noqa: PLC0415 - inside the guard
    from harness.cli.verbs import lantern  # noqa: PLC0415 - inside the guard
    from harness.outcome import Outcome  # noqa: PLC0415 - inside the guard
    from harness.store.errors import Refused, StoreError  # noqa: PLC0415 - inside the guard

    output = Output()
    try:
        # Not `lantern.main`: that one exits with 1 when a pipe breaks.
        with lantern.make_context("lantern", [*arguments], obj=output) as context:
            outcome: Outcome = lantern.invoke(context)
    except click.exceptions.Exit as done:  # --help and --version
        return done.exit_code
    except OSError as error:
        if not {"--help", "--version"} & set(arguments):
            raise
        return _help_unread(arguments, error)
    except click.ClickException as error:
        _show_usage(error, output.story)
        return _ended(arguments, Outcome.USAGE.value, _message(error), code=Outcome.USAGE.code)
    except Refused as error:
        output.story(f"Error: {error}")
        return _ended(arguments, Outcome.USAGE.value, str(error), code=Outcome.USAGE.code)
    except StoreError as error:
        return _ended(
            arguments, Outcome.HARNESS_FAILURE.value, str(error), code=Outcome.HARNESS_FAILURE.code
        )
    if output.lost is not None:
        _write(sys.stderr, f"lantern: {output.lost}; the outcome was: {outcome}\n")
        outcome = Outcome.HARNESS_FAILURE if outcome is Outcome.PASS else outcome
    return outcome.code


def _help_unread(arguments: list[str], error: OSError) -> int:
    """Say that nobody could read the help; a reader that left has read enough."""
    if isinstance(error, BrokenPipeError):
        return 0
    sentence = f"the help could not be written to standard output: {error.strerror}"
    return _ended(arguments, "harness-failure", sentence, code=HARNESS_FAILURE)


def _ended(arguments: list[str], outcome: str, sentence: str, *, code: int) -> int:
    """Say how it ended where no verb is left to say it."""
    sentence = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in sentence)
    if outcome != "usage":  # click has its own way of saying that
        _write(sys.stderr, f"lantern: {sentence}\n")
    if "--json" in arguments:
        _write(sys.stdout, json.dumps({"outcome": outcome, "error": sentence}) + "\n")
    return code


def _show_usage(error: Any, story: Callable[[str], None]) -> None:
    """Say what was wrong with the arguments, and which help would tell more."""
    context = getattr(error, "ctx", None)
    if context is not None:
        for line in context.get_usage().splitlines():
            story(line)
        story(f"Try '{context.command_path} --help'.")
    story(f"Error: {_message(error)}")


def _message(error: Any) -> str:
    """Return what was wrong on one line: click lays choices out with tabs."""
    return " ".join(error.format_message().split())


def _adrift() -> str | None:
    """Return what is wrong with where this process is, None if it is somewhere."""
    try:
        os.getcwd()  # noqa: PTH109 - as below: nothing but what is needed
    except OSError as error:
        return f"the current directory is gone ({error.strerror}): change to one that is there"
    return None


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _write(stream: TextIO, text: str) -> None:
    """Write if anyone still listens; the exit code speaks in any case."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # broken, closed, never there
        stream.write(text)
        stream.flush()


def _leave(code: int) -> NoReturn:
    """Exit with this code and no other: Python makes 120 of a flush that fails at its exit."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    entry()
