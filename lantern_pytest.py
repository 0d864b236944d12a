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

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.run.result import RunResult

MARKER: Final = "lantern"
FIXTURE: Final = "lantern_run"
NO_VERDICT: Final = {"unknown": ("unknown", "U"), "not-exercised": ("not exercised", "N")}
"""Outcomes with a word and a letter of their own."""

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
        from harness.plan import PlanError, plan_from  # noqa: PLC0415
        from harness.run.run import run  # noqa: PLC0415
        from harness.store.errors import StoreError  # noqa: PLC0415
        from harness.store.rundir import RunDir  # noqa: PLC0415
    except ImportError as error:
        place = ", ".join(getattr(sys.modules.get("harness"), "__path__", ()))
        where = f" (the package harness is at {place})" if place else ""
        pytest.fail(f"Lantern cannot be imported: {error}{where}", pytrace=False)
    file, keys = _asked(request.node)
    expected, known = keys.pop("expect", "pass"), keys.pop("known", ())
    if expected not in {"pass", "violation", *NO_VERDICT}:
        pytest.fail(f"lantern: nobody expects a run to end as {expected!r}", pytrace=False)
    try:
        plan = plan_from(file, keys)
        result = run(plan, store_dir=_store(request.config, tmp_path_factory))
    except (PlanError, StoreError) as error:
        pytest.fail(f"lantern: {error}", pytrace=False)
    if result.interrupted:
        raise KeyboardInterrupt
    told = _told(result, expected, (known,) if isinstance(known, str) else tuple(known))
    request.node.user_properties.append(("lantern", result.outcome.value))
    if told is not None and told[0] == "error":
        pytest.fail(told[1], pytrace=False)
    if told is not None:
        request.node.stash[_TOLD] = told
    yield result
    if told is None and result.outcome in {Outcome.PASS, Outcome.NOT_EXERCISED}:
        RunDir(Path(result.directory)).thin()


def _asked(node: pytest.Item) -> tuple[Path | None, dict[str, Any]]:
    """Return the plan file and the keys that the markers say; the closest one wins."""
    file: Path | None = None
    keys: dict[str, Any] = {}
    markers = list(node.iter_markers(MARKER))
    if not markers:
        pytest.fail(f"{FIXTURE} runs what a marker says: @pytest.mark.{MARKER}(...)", pytrace=False)
    for marker in reversed(markers):
        if len(marker.args) > 1:
            pytest.fail(f"@pytest.mark.{MARKER} takes one plan file, the rest by name", pytrace=False)
        if marker.args:
            file = node.path.parent / str(marker.args[0])
        keys |= marker.kwargs
    return file, keys


def _store(config: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    named = config.getoption("--lantern-store") or config.getini("lantern_store")
    return config.rootpath / named if named else tmp_path_factory.mktemp("lantern")


def _told(result: RunResult, expected: str, known: tuple[str, ...]) -> tuple[str, str] | None:
    """Return how a run that did not end as expected is shown, and what is said of it."""
    from harness.ci.case import of_run  # noqa: PLC0415 - only where a run is asked for
    from harness.outcome import Outcome  # noqa: PLC0415
    from harness.run.convicted import only_known  # noqa: PLC0415

    said = "\n".join(of_run(result.json, suite="lantern", name="run").details())
    shows = expected == Outcome.VIOLATION
    how = "error"
    match result.outcome:
        case outcome if outcome.value == expected:
            return None
        case Outcome.VIOLATION:
            how = "known" if only_known(result.json, known) else "failed"
        case outcome if outcome is Outcome.PASS or (shows and outcome is Outcome.NOT_EXERCISED):
            how, said = "failed", f"expectation missed, {expected} was expected: {said}"
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
    if report.when != "call" or not report.failed or outcome not in NO_VERDICT:
        return None
    word, letter = NO_VERDICT[str(outcome)]
    return word, letter, (word.upper(), {"yellow": True})


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say why there is no verdict: pytest itself tells of failures and errors only."""
    for word, _ in NO_VERDICT.values():
        for report in terminalreporter.getreports(word):
            terminalreporter.write_sep("_", f"{word.upper()} {report.nodeid}", yellow=True)
            terminalreporter.write_line(report.longreprtext)
