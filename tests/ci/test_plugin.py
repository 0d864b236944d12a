"""The pytest plugin: each outcome of a run is shown as what it is."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

SHORT = 'on="sim", rate=50, time=1.0, faults="none", seed=1'
WRONG = 'on="sim", rate=50, mistake="no-applied-wait", seed=0'

TESTS = f"""
import pytest

@pytest.mark.lantern({SHORT}, allow="not-exercised")
def test_passes(lantern_run):
    assert lantern_run.json["seed"] == 1

@pytest.mark.lantern({SHORT}, allow="not-exercised")
def test_passes_and_fails_by_its_body(lantern_run):
    assert lantern_run.outcome == "violation"

@pytest.mark.lantern({WRONG})
def test_violates(lantern_run):
    raise AssertionError("the body is not run")

@pytest.mark.lantern({WRONG}, known="R6")
def test_is_known(lantern_run):
    pass

@pytest.mark.lantern({WRONG}, expect="violation")
def test_is_expected(lantern_run):
    assert lantern_run.json["rules"] == ["R6"]

@pytest.mark.lantern({SHORT}, allow="not-exercised", expect="violation")
def test_misses(lantern_run):
    pass

@pytest.mark.lantern({SHORT})
def test_exercises_nothing(lantern_run):
    raise AssertionError("the body is not run")

@pytest.mark.lantern({SHORT}, name="unknown")
def test_is_unknown(lantern_run):
    raise AssertionError("the body is not run")

@pytest.mark.lantern({SHORT}, name="harness-failure")
def test_breaks(lantern_run):
    raise AssertionError("the body is not run")

@pytest.mark.lantern(policy="lease-renw")
def test_means_nothing(lantern_run):
    pass

def test_says_nothing(lantern_run):
    pass
"""

NAMED = """
import msgspec
import harness.run.run
from harness.outcome import Outcome

real, made = harness.run.run.run, {}

def run(plan, **how):
    asked = msgspec.json.encode(msgspec.structs.replace(plan, name="run"))
    result = made[asked] = made.get(asked) or real(plan, **how)
    if plan.name not in {"unknown", "harness-failure"}:
        return result
    told = {**result.json, "outcome": plan.name, "reason": "as its name says"}
    return msgspec.structs.replace(result, outcome=Outcome(plan.name), json=told)

harness.run.run.run = run
"""


@pytest.fixture
def beside(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.delenv("CI", raising=False)
    return pytester


def test_each_outcome_is_shown_as_what_it_is(beside: pytest.Pytester) -> None:
    beside.makeconftest(NAMED)
    beside.makepyfile(TESTS)
    done = beside.runpytest_subprocess("-v", "-p", "no:cacheprovider", "--junitxml=junit.xml")
    done.assert_outcomes(passed=2, failed=3, errors=3, xfailed=1)
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    text = done.stdout.str()
    lines = [
        line.split("::")[1].partition("[")[0].partition(" (")[0].strip()
        for line in text.splitlines()
        if ".py::" in line
    ]
    assert lines[:11] == [
        "test_passes PASSED",
        "test_passes_and_fails_by_its_body FAILED",
        "test_violates FAILED",
        "test_is_known XFAIL",
        "test_is_expected PASSED",
        "test_misses FAILED",
        "test_exercises_nothing NOT EXERCISED",
        "test_is_unknown UNKNOWN",
        "test_breaks ERROR",
        "test_means_nothing ERROR",
        "test_says_nothing ERROR",
    ]
    for said in (
        "violation: history: ",
        "rules: R6",
        "replay: lantern run ",
        "expectation missed, violation was expected: pass",
        "harness-failure: as its name says",
        "unknown: as its name says",
        "unknown policy 'lease-renw'; did you mean 'lease-renew'?",
        "lantern_run runs what a marker says",
        "1 unknown",
        "1 not exercised",
    ):
        assert said in text, said
    assert "the body is not run" not in text
    told = (beside.path / "junit.xml").read_text()
    for outcome in ("pass", "violation", "unknown", "not-exercised", "harness-failure"):
        assert f'name="lantern" value="{outcome}"' in told


def test_markers_add_up_and_nothing_is_imported_before_they_do(beside: pytest.Pytester) -> None:
    (beside.path / "plan.yaml").write_text("on: sim\nrate: 50\ntime: 1\nfaults: none\nseed: 3\n")
    beside.makepyfile("""
        import sys
        import pytest

        def test_nothing():
            assert "harness.plan" not in sys.modules

        pytestmark = pytest.mark.lantern("plan.yaml", allow="not-exercised")

        @pytest.mark.lantern(seed=4)
        def test_it(lantern_run):
            assert lantern_run.json["seed"] == 4
    """)
    done = beside.runpytest_subprocess("--lantern-store", "kept", "--strict-markers")
    done.assert_outcomes(passed=2)
    (run,) = (beside.path / "kept").iterdir()
    assert "seed: 4" in (run / "plan.yaml").read_text()
    assert not (run / "history.jsonl").exists()


def test_a_package_of_the_same_name_breaks_no_test_but_ours(beside: pytest.Pytester) -> None:
    (beside.path / "harness").mkdir()
    (beside.path / "harness" / "__init__.py").touch()
    beside.makepyfile("""
        import pytest

        def test_theirs():
            import harness

        @pytest.mark.lantern(on="sim")
        def test_ours(lantern_run):
            pass
    """)
    done = beside.runpytest_subprocess()
    done.assert_outcomes(passed=1, errors=1)
    done.stdout.fnmatch_lines(["Lantern cannot be imported: *(the package harness is at *harness)"])
