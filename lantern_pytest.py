"""A pytest plugin: a run beside a team's own tests, by a marker and a fixture.

::

    @pytest.mark.lantern(policy="lease-renew", on="sim", seed=7)
    def test_reads_are_fresh(lantern_run):
        assert lantern_run.json["exercised"]["lease_reads"] > 100

The marker says what to run, in the words of a plan; the fixture runs it and gives what came of it. The
body is run only if the run ended as expected, so an empty one will do. Each outcome is shown for itself:

* *pass*: the test goes on to its body, and passes or fails by that;
* *violation*: the test failed, with the sentence of the proof and the command that runs it again;
* *unknown*, *not exercised*: words of their own: there is no verdict, so the test did not pass, and the
  target is not said to be wrong. ``allow="not-exercised"`` lets that pass;
* *malformed*, *harness failure*, a plan that means nothing: an error of the test's set-up;
* a violation of nothing but ``known`` rules: an expected failure (xfailed), told with its rules.

Nothing of Lantern's is imported before a test asks for the fixture: the plugin is loaded wherever it is
installed, also beside packages of others that are called as ours are.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.plan import Plan
    from harness.run.result import RunResult

MARKER: Final = "lantern"
FIXTURE: Final = "lantern_run"
NO_VERDICT: Final = {"unknown": ("unknown", "U"), "not-exercised": ("not exercised", "N")}
"""Outcomes with a word and a letter of their own."""
SHOWN_MAX: Final = 200
ENDS: Final = ("pass", "violation", *NO_VERDICT)
"""What may be expected of a run."""

_TOLD: Final = pytest.StashKey[tuple[str, str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add where the run directories go."""
    text = "Where Lantern's run directories go (default: pytest's temporary directory)."
    parser.getgroup("lantern").addoption("--lantern-store", metavar="DIR", help=text)
    parser.addini("lantern_store", text)


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(plan=None, *, expect='pass', known=(), **keys): what the fixture {FIXTURE} runs: a"
        " plan file beside the test, keys of a plan, or both; the outcome that is expected, and rules"
        " whose violation is known.",
    )


@pytest.fixture
def lantern_run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunResult]:
    """Run what the marker says; give the result."""
    try:
        from harness.outcome import Outcome  # noqa: PLC0415 - only where a run is asked for
        from harness.plan import PlanError  # noqa: PLC0415
        from harness.run.run import run  # noqa: PLC0415
        from harness.store.errors import StoreError  # noqa: PLC0415
        from harness.store.rundir import RunDir  # noqa: PLC0415
    except ImportError as error:
        place = ", ".join(getattr(sys.modules.get("harness"), "__path__", ()))
        where = f" (the package harness is at {place})" if place else ""
        sentence = f"Lantern cannot be imported: {error}{where}"
        raise pytest.fail.Exception(sentence, pytrace=False) from None
    try:
        asked = _asked(request.node)
        result = run(asked.plan, store_dir=_store(request.config, tmp_path_factory))
    except (PlanError, StoreError, MarkerError) as error:
        raise pytest.fail.Exception(f"lantern: {error}", pytrace=False) from None  # one sentence
    if result.interrupted:
        raise KeyboardInterrupt
    told = _told(result, asked)
    request.node.user_properties.append(("lantern", result.outcome.value))
    if told is not None and told[0] in {"error", *NO_VERDICT}:  # no word on the target: no failure
        pytest.fail(told[1], pytrace=False)
    if told is not None:
        request.node.stash[_TOLD] = told
    yield result
    if told is None and result.outcome in {Outcome.PASS, Outcome.NOT_EXERCISED}:
        RunDir(result.directory).thin()


class MarkerError(Exception):
    """What a marker says means nothing, in a sentence."""


class Asked(NamedTuple):
    """What the markers of a test say."""

    plan: Plan
    expected: str
    known: tuple[str, ...]


def _asked(node: pytest.Item) -> Asked:
    """Return what the markers say, the closest one last; raise `MarkerError` and `PlanError`."""
    from harness.campaign.matrix import RULE  # noqa: PLC0415 - only where a run is asked for
    from harness.plan import plan_from  # noqa: PLC0415

    file: Path | None = None
    keys: dict[str, Any] = {}
    markers = list(node.iter_markers(MARKER))
    if not markers:
        raise MarkerError(f"{FIXTURE} runs what a marker says: @pytest.mark.{MARKER}(...)")
    for marker in reversed(markers):
        if len(marker.args) > 1:
            raise MarkerError(f"@pytest.mark.{MARKER} takes one plan file, the rest by name")
        if marker.args:
            file = _file(marker.args[0], node.path.parent)
        keys |= marker.kwargs
    expected, known = keys.pop("expect", "pass"), keys.pop("known", ())
    if expected not in ENDS:
        raise MarkerError(f"expect is one of {', '.join(ENDS)}, not {_shown(expected)}")
    rules = [known] if isinstance(known, str) else known
    if not isinstance(rules, list | tuple | set | frozenset):
        raise MarkerError(
            f"known is the id of a rule, such as L12, or a list of them, not {_shown(known)}"
        )
    for rule in rules:
        if not isinstance(rule, str) or RULE.fullmatch(rule) is None:
            raise MarkerError(
                f"known: {_shown(rule)} is no id of a rule, such as L12: see docs/rules.md"
            )
    return Asked(plan_from(file, keys, called=str), expected, tuple(rules))


def _shown(value: object) -> str:
    """Return a value as a sentence shows it: what a marker holds may be anything."""
    try:
        words = repr(value)
    except Exception:  # noqa: BLE001 - somebody's own repr; and an int of 5000 digits has none
        return f"a value of type {type(value).__name__}"
    return words if len(words) <= SHOWN_MAX else f"{words[:SHOWN_MAX]}..."


def _file(named: object, beside: Path) -> Path:
    """Return the plan file that a marker names first, from beside the test."""
    if not isinstance(named, str | os.PathLike):
        sentence = f"what comes first in @pytest.mark.{MARKER} is a plan file, not {_shown(named)}"
        raise MarkerError(f"{sentence}; keys of a plan go by name")
    return beside / Path(named)


def _store(config: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    named = config.getoption("--lantern-store") or config.getini("lantern_store")
    return config.rootpath / named if named else tmp_path_factory.mktemp("lantern")


def _told(result: RunResult, asked: Asked) -> tuple[str, str] | None:
    """Return how a run that did not end as expected is shown, and what is said of it."""
    from msgspec.structs import replace  # noqa: PLC0415 - only where a run is asked for

    from harness.ci.case import of_run  # noqa: PLC0415
    from harness.outcome import Outcome  # noqa: PLC0415
    from harness.run.convicted import broken_by, only_known, why_not_known  # noqa: PLC0415

    case = of_run(result.json, suite="lantern", name="run")
    if result.outcome is Outcome.VIOLATION:
        case = replace(case, why_not_known=why_not_known(broken_by(result.json), asked.known))
    said = "\n".join(case.details())
    shows = asked.expected == Outcome.VIOLATION
    how = "error"
    match result.outcome:
        case outcome if outcome.value == asked.expected:
            return None
        case Outcome.VIOLATION:
            how = "known" if only_known(broken_by(result.json), asked.known) else "failed"
        case outcome if outcome is Outcome.PASS or (shows and outcome is Outcome.NOT_EXERCISED):
            how, said = "failed", f"expectation missed, {asked.expected} was expected: {said}"
        case Outcome.UNKNOWN | Outcome.NOT_EXERCISED:
            how = result.outcome.value
    return how, said


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Stand in for the body of a test whose run did not end as expected."""
    told = item.stash.get(_TOLD, None)
    if told is None:
        return
    how, said = told
    if how == "known":
        pytest.xfail(said)
    pytest.fail(said, pytrace=False)


def pytest_report_teststatus(
    report: pytest.TestReport,
) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    """Give a run without a verdict its own word; any other test has none of these properties."""
    outcome = dict(getattr(report, "user_properties", ())).get("lantern")  # collectors have none
    if report.when != "setup" or not report.failed or outcome not in NO_VERDICT:
        return None
    word, letter = NO_VERDICT[str(outcome)]
    return word, letter, (word.upper(), {"yellow": True})


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say why there is no verdict: pytest itself tells of failures and errors only."""
    for word, _ in NO_VERDICT.values():
        for report in terminalreporter.getreports(word):
            terminalreporter.write_sep("_", f"{word.upper()} {report.nodeid}", yellow=True)
            terminalreporter.write_line(report.longreprtext)
