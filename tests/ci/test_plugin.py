"""The pytest plugin: each outcome of a run is shown as what it is."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

pytest_plugins = ["pytester"]

SHORT = 'on="sim", rate=50, time=1.0, faults="none", seed=1'
WRONG = 'on="sim", rate=50, mistake="no-applied-wait", seed=0'
TWO = 'on="sim", rate=50, mistake="vote-ignores-promise", seed=7'

TESTS = f"""
import pytest

@pytest.mark.lantern({SHORT}, allow="not-exercised")
def test_passes(lantern_run):
    assert lantern_run.json["seed"] == 1
    assert (lantern_run.directory / "plan.yaml").is_file()

@pytest.mark.lantern({SHORT}, allow="not-exercised")
def test_passes_and_fails_by_its_body(lantern_run):
    assert lantern_run.outcome == "violation"

@pytest.mark.lantern({WRONG})
def test_violates(lantern_run):
    raise AssertionError("the body is not run")

@pytest.mark.lantern({WRONG}, known="R6")
def test_is_known(lantern_run):
    pass

@pytest.mark.lantern({TWO}, known="F2")
def test_is_not_known(lantern_run):
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
    done.assert_outcomes(passed=2, failed=4, errors=3, xfailed=1)
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    text = done.stdout.str()
    lines = [
        line.split("::")[1].partition("[")[0].partition(" (")[0].strip()
        for line in text.splitlines()
        if ".py::" in line
    ]
    assert lines[:12] == [
        "test_passes PASSED",
        "test_passes_and_fails_by_its_body FAILED",
        "test_violates FAILED",
        "test_is_known XFAIL",
        "test_is_not_known FAILED",
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
        "why not known: F3 is not known",
        "replay: lantern replay ",
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
    shown = {
        str(each.get("name")).partition("[")[0]: [
            child.tag for child in each if child.tag in {"failure", "error", "skipped"}
        ]
        for each in ET.fromstring(told).iter("testcase")
    }
    assert (
        shown["test_exercises_nothing"] == shown["test_is_unknown"] == shown["test_breaks"] == ["error"]
    )
    assert shown["test_violates"] == shown["test_misses"] == ["failure"]
    assert shown["test_is_known"] == ["skipped"]
    everything = beside.runpytest_subprocess(
        "-rA", "-p", "no:cacheprovider", "-k", "nothing"
    ).stdout.str()
    assert "PASSES" not in everything
    assert "PASSED" not in everything


SAYS_NOTHING = {
    'polcy="lease-renew"': "unknown key 'polcy'; did you mean 'policy'?",
    '**{"drift-ppm": 3}': "unknown key 'drift-ppm'; did you mean 'drift_ppm'?",
    'drift_ppm="x"': "drift_ppm: expected `int`, got `str`",
    "seed=object()": "seed: expected `int`, got `object`",
    "time=-1": "time: expected `float` > 0.0, found -1",
    "time=10**400": "time: it is a number of 1329 bits, and 64 are taken",
    "seed=-10**5000": "seed: it is a number of 16610 bits, and 64 are taken",
    'time=float("nan")': "time: nan is no number to plan with",
    "expect=10**5000": "expect is one of pass, violation, unknown, not-exercised, not a value of",
    "known=[10**5000]": "known: a value of type int is no id of a rule, such as L12: see docs/rules.md",
    "clients=2": "clients: clients 2 is too few: ",
    'on="sim", schedule=[{"do": "paus"}]': "schedule[0].do: 'paus' is nothing one can do: ",
    'on="sim", schedule="x.yaml"': "schedule: expected `array`, got `str`",
    'expect="fail"': "expect is one of pass, violation, unknown, not-exercised, not 'fail'",
    "expect=[3]": "expect is one of pass, violation, unknown, not-exercised, not [3]",
    "known=3": "known is the id of a rule, such as L12, or a list of them, not 3",
    "known=None": "known is the id of a rule, such as L12, or a list of them, not None",
    'known="L21"': "known: 'L21' is no id of a rule, such as L12: see docs/rules.md",
    "known=[3]": "known: 3 is no id of a rule, such as L12: see docs/rules.md",
    'known="R6 and L3"': "known: 'R6 and L3' is no id of a rule, such as L12: see docs/rules.md",
    '"nowhere.yaml"': "*nowhere.yaml: No such file or directory",
    '"."': "*: not a regular file",
    '"a\\0b"': "*: embedded null byte",
    '{"on": "sim"}': "what comes first in @pytest.mark.lantern is a plan file, not {'on': 'sim'}; keys",
    '"a.yaml", "b.yaml"': "@pytest.mark.lantern takes one plan file, the rest by name",
    '"wrong.yaml"': "*wrong.yaml:2: unknown key 'polcy'; did you mean 'policy'?",
    '"broken.yaml"': "*broken.yaml:2: this is not YAML: ",
}


def test_a_marker_that_means_nothing_is_an_error_of_one_sentence(beside: pytest.Pytester) -> None:
    (beside.path / "wrong.yaml").write_text("on: sim\npolcy: readindex\n")
    (beside.path / "broken.yaml").write_text("on: [\n")
    tests = [
        f"@pytest.mark.lantern({said})\ndef test_{number}(lantern_run):\n    pass\n"
        for number, said in enumerate(SAYS_NOTHING)
    ]
    beside.makepyfile("\n".join(["import pytest", *tests]))
    done = beside.runpytest_subprocess("-p", "no:cacheprovider")
    done.assert_outcomes(errors=len(SAYS_NOTHING))
    shown = done.stdout.str().partition("== ERRORS ==")[2].partition("short test summary")[0]
    sentences = re.split(r"_+ ERROR at setup of test_\d+ _+\n", shown)[1:]
    for said, (marker, wanted) in zip(sentences, SAYS_NOTHING.items(), strict=True):
        (line, *_), rest = said.splitlines(), said.splitlines()[1:]
        assert not [more for more in rest if not more.startswith("==")], (marker, said)
        start, _, end = wanted.rpartition("*")
        assert line.startswith(f"lantern: {'' if '*' in wanted else end}"), (marker, line)
        assert end in line, (marker, line)
        assert not start


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
