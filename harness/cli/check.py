"""``lantern check``: judge histories that are there already, our own or another tool's.

A path is a file, a run directory (its history, and its evidence with it) or ``-``. Each is judged on
its own; one that is malformed or too large says so and the next is looked at. The worst outcome is the
exit code.
"""

from __future__ import annotations

import time
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from checker import MODELS, Budget, FailedCas, MalformedHistory, NilRead, Ties
from checker import check as check_history
from checker.formats import FORMATS, read
from checker.models import detect
from harness.bugs import recorded
from harness.dask.client import Gone, connected
from harness.dask.keys import check_apart
from harness.memory import held_bytes
from harness.outcome import Outcome, worst
from harness.report import checked
from harness.report.escape import plain
from harness.run.rejudge import Rejudged, rejudge
from harness.run.stop import Stop
from harness.store.errors import StoreError
from harness.store.rundir import RunDir
from lantern_chaos import interrupted
from targets.host.faketime import preloaded

from . import evidence, options
from .reading import TooMuch, Watch, history_of, watched
from .report import write_report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from checker import History, Report

    from .output import Output

    Judged = tuple[Outcome, dict[str, Any], Iterable[str]]

MEGABYTE: Final = 1 << 20
INTERRUPTED: Final = "interrupted"


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, allow_dash=True))
@click.option(
    "--format",
    type=click.Choice(["auto", *FORMATS]),
    metavar="FORMAT",
    default="auto",
    help="How it is written: see `lantern list formats`.",
)
@click.option(
    "--model",
    type=click.Choice(["auto", *MODELS]),
    metavar="MODEL",
    default="auto",
    help="What judges it: see `lantern list models`.",
)
@click.option(
    "--initial", callback=options.json_value, default="null", help="The state at the start, as JSON."
)
@click.option("--ties", type=options.words(Ties), default="concurrent", help="What equal stamps mean.")
@click.option("--nil-read", type=options.words(NilRead), help="What a read of nil means.")
@click.option(
    "--failed-cas", type=options.words(FailedCas), help="What a failed cas without an error means."
)
@click.option(
    "--time-limit", "time_s", type=options.POSITIVE, default=600.0, help="Seconds for each path."
)
@click.option(
    "--memory-limit",
    "memory_mb",
    type=options.MEGABYTES,
    default=4096,
    help="Megabytes to hold at most.",
)
@click.option("--all", "all_keys", is_flag=True, help="Judge every key, also after the first violation.")
@click.option(
    "--paranoid", is_flag=True, help="Judge the judge: replay every order, prove every proof again."
)
@click.option("--lenient", is_flag=True, help="Skip lines that cannot be read, and say so.")
@options.scheduler
@options.as_json
@click.pass_obj
def check(output: Output, /, paths: tuple[str, ...], *, as_json: bool, **how: Any) -> Outcome:
    """Judge recorded histories: files, run directories, or - for standard input.

    What the limits do not allow to decide is unknown, never a pass. Where a format has a meaning of its
    own for nil reads and failed cas, that is the default.
    """
    if paths.count("-") > 1:
        raise click.UsageError("standard input can be read only once")
    if preloaded():
        output.story("this process runs under libfaketime: its limits are on a false clock")
    outcomes = []
    with Stop() as stop:
        for path in paths:
            if stop.count:
                outcomes.append(Outcome.INTERRUPTED)
                break
            outcome, said, lines = _judge(path, Patience(stop), **how)
            _report(output, path, outcome, said)
            outcomes.append(outcome)
            if as_json:
                output.json({"path": path, **said} if len(paths) > 1 else said)
            else:
                output.result(lines)
            if outcome is Outcome.INTERRUPTED:
                break
    return worst(outcomes)


class Patience:
    """What a signal does to a check: the first ends a search gently, any other what is done half-way."""

    def __init__(self, stop: Stop) -> None:
        self._stop = stop
        self._searching = False

    def gently(self) -> bool:
        """Tell whether the signal that has just come is seen to by whoever searches."""
        return self._searching and self._stop.count == 1

    def giving_up(self) -> AbstractContextManager[None]:
        """Let a signal end what is done in here half-way, unless it ends gently."""
        return self._stop.giving_up(self.gently)

    @contextmanager
    def searching(self) -> Iterator[Callable[[], str | None]]:
        """Lend a budget the question whether it was called off."""
        self._searching = True
        try:
            yield self.called_off
        finally:
            self._searching = False

    def called_off(self) -> str | None:
        """Return that a signal has come, in words, if one has."""
        return INTERRUPTED if self._stop.count else None


def _report(output: Output, path: str, outcome: Outcome, said: Mapping[str, Any]) -> None:
    """Tell what was found of a run directory in its report, too."""
    unjudged = {Outcome.USAGE, Outcome.INTERRUPTED}
    if path == "-" or outcome in unjudged or not RunDir(Path(path)).plan.is_file():
        return
    reason = said.get("error") or said.get("reason")
    of_this_check: dict[str, Any] = {"violation": None, "convictions": [], "oracles": {}}
    of_this_check |= {"exercised": None, "keys": {}, **said, "reason": reason}
    write_report(output, Path(path), verdict=of_this_check)


class WrongModel(Exception):  # noqa: N818 - an answer: the user asked for it
    """The model that was asked for is about other operations than the history, or another state."""


def _speaks_of(history: History, name: str) -> None:
    """Refuse a model named by the user that none of the history's functions is one of.

    With ``auto``, or a function among others, the history is what is odd.
    """
    if name == "auto":
        return
    functions = MODELS[name].functions
    found = {kind.f for kind in history.kinds}
    if found and not found & functions:
        sentence = (
            f"--model {name} is about {', '.join(sorted(functions))}; this history holds"
            f" {', '.join(sorted(found))} (`lantern list models` has the others)"
        )
        raise WrongModel(sentence)


def _begins_with(history: History, name: str, initial: Any) -> None:
    """Refuse a state at the start that the model cannot begin with."""
    if initial is None:
        return
    try:
        MODELS[detect(history) if name == "auto" else name]().initial(initial)
    except ValueError as error:
        raise WrongModel(f"--initial: {error}") from error


def _judge(path: str, patience: Patience, **how: Any) -> Judged:
    """Return what is found of one path, as outcome, JSON and lines."""
    try:
        with patience.giving_up():
            return _verdict(path, patience, **how)
    except (MalformedHistory, Gone) as error:
        malformed = isinstance(error, MalformedHistory)
        return _unjudged(path, Outcome.MALFORMED if malformed else Outcome.HARNESS_FAILURE, str(error))
    except (TooMuch, MemoryError) as error:
        return _unjudged(path, Outcome.UNKNOWN, str(error) or "the memory of this process ran out")
    except (OSError, StoreError, WrongModel) as error:
        return _unjudged(path, Outcome.USAGE, str(error))
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - recorded; what other paths prove stays
        if interrupted(error):
            return _unjudged(path, Outcome.INTERRUPTED, INTERRUPTED)
        return _unjudged(path, Outcome.HARNESS_FAILURE, recorded(error))


def _verdict(path: str, patience: Patience, **how: Any) -> Judged:
    memory_bytes = how["memory_mb"] * MEGABYTE
    began_s = time.monotonic()
    limits = {"began_s": began_s, "time_s": how["time_s"], "memory_bytes": memory_bytes}
    with watched(**limits):
        data, name = history_of(path, bytes_max=memory_bytes // 2)
        history = read(data, name=name, format=how["format"], lenient=how["lenient"])
        del data
    load_s = time.monotonic() - began_s
    _speaks_of(history, how["model"])
    _begins_with(history, how["model"], how["initial"])
    report = _checked(history, began_s, load_s, patience, **how)
    outcome = Outcome(report.outcome.value)
    if outcome is Outcome.UNKNOWN and patience.called_off() is not None:
        outcome = Outcome.INTERRUPTED
    said = checked.as_json(report, load_s=load_s) | {"outcome": outcome}
    lines = [*checked.lines(report, path=path, outcome=outcome)]
    if path != "-" and Path(path).is_dir():
        found = _evidence(path, history, report, patience, limits)
        reason = report.sentence if outcome is worst([outcome, found.outcome]) else found.reason
        outcome = worst([outcome, found.outcome])
        if outcome not in {Outcome.PASS, Outcome.VIOLATION}:
            said["reason"] = reason
        said |= {"outcome": outcome, "notes": [*said["notes"], *found.notes]}
        said |= found.as_json(said["violation"])
        lines = [
            *checked.lines(report, path=path, outcome=outcome),
            *evidence.lines(found),
        ]
    return outcome, said, lines


def _evidence(
    path: str, history: History, report: Report, patience: Patience, limits: Mapping[str, Any]
) -> Rejudged:
    """Judge what lies beside the history; whatever comes of it, what the history proves stays proved."""
    if patience.called_off() is not None:
        return _not_judged(Outcome.INTERRUPTED, INTERRUPTED)
    try:
        with watched(**limits):
            return rejudge(Path(path), history, report.violation)
    except KeyboardInterrupt:
        return _not_judged(Outcome.INTERRUPTED, INTERRUPTED)
    except TooMuch as error:
        return _not_judged(Outcome.UNKNOWN, str(error))
    except Exception as error:  # noqa: BLE001 - recorded
        return _not_judged(Outcome.HARNESS_FAILURE, recorded(error))


def _not_judged(outcome: Outcome, why: str) -> Rejudged:
    reason = f"the evidence was not judged: {why}"
    return Rejudged(outcome=outcome, reason=reason, notes=(reason,))


def _checked(history: History, began_s: float, load_s: float, patience: Patience, **how: Any) -> Report:
    """Return the report of a check, made here or by the workers of a scheduler."""
    memory_bytes = how["memory_mb"] * MEGABYTE
    asked = {
        "model": how["model"],
        "initial": how["initial"],
        "ties": Ties(how["ties"]),
        "nil_read": None if how["nil_read"] is None else NilRead(how["nil_read"]),
        "failed_cas": None if how["failed_cas"] is None else FailedCas(how["failed_cas"]),
        "all_keys": how["all_keys"],
        "paranoid": how["paranoid"],
    }
    if how["scheduler"] is not None:
        with closing(connected(how["scheduler"])) as client:
            left_s = how["time_s"] - load_s
            return check_apart(client, history, time_s=left_s, memory_bytes=memory_bytes, how=asked)
    with patience.searching() as called_off:
        budget = Budget(
            time_s=how["time_s"],
            memory_bytes=memory_bytes,
            clock=Watch(began_s),
            memory=held_bytes,
            called_off=called_off,
        )
        report = check_history(history, budget=budget, **asked)
    return replace(report, seconds=report.seconds - load_s)


def _unjudged(path: str, outcome: Outcome, sentence: str) -> Judged:
    """Return what to say of a path that no verdict was reached on."""
    said = {"outcome": outcome, "error": sentence}
    head = f"{outcome.words.upper()}  {plain(path)}"
    return outcome, said, [head, *checked.told(plain(sentence, chars_max=checked.SENTENCE_CHARS_MAX))]
