"""docs/ci.md: its workflows are YAML that runs Lantern as it is, its tests are run."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from harness.cli.campaign import campaign
from harness.cli.output import Output

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "ci.md").read_text()
CHAOS, *EXAMPLES = re.findall(r"<!-- tested.*?-->\n```yaml\n(.*?)```", TEXT, flags=re.DOTALL)
"""The campaign file of a user's repository, and the workflows that run it."""


def strings(value: Any) -> list[str]:
    match value:
        case dict():
            return [text for inner in value.values() for text in strings(inner)]
        case list():
            return [text for inner in value for text in strings(inner)]
        case _:
            return [str(value)]


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A user's own repository: what the page says lies in it, and nothing else."""
    (tmp_path / "lantern").symlink_to(ROOT)
    (tmp_path / "chaos.yaml").write_text(CHAOS)
    return tmp_path


@pytest.mark.parametrize("example", EXAMPLES, ids=["github", "gitlab"])
def test_an_example_is_yaml_and_its_commands_are_lanterns(
    example: str, monkeypatch: pytest.MonkeyPatch, theirs: Path
) -> None:
    told = strings(yaml.safe_load(example))
    (install,) = (text for text in told if text.startswith("pip install "))
    project = tomllib.loads((theirs / install.split()[-1] / "pyproject.toml").read_text())["project"]
    assert project["scripts"].keys() == {"lantern"}
    assert {"true", "recursive"} & {text.lower() for text in told}, "submodules are fetched"
    (command,) = (text for text in told if text.startswith("lantern "))
    verb, *arguments = shlex.split(command)[1:]
    assert verb == "campaign"
    file = arguments[0]
    assert (theirs / file).is_file()
    ran: list[Any] = []
    monkeypatch.setattr(
        "harness.cli.campaign.Campaign.run", lambda self, _workers: ran.append(self._wanted)
    )
    monkeypatch.chdir(theirs)
    done = CliRunner().invoke(campaign, arguments, obj=Output())
    assert done.exception is None, done.output
    assert [wanted.budget_s for wanted in ran] == [600.0]
    folder = arguments[arguments.index("--resume") + 1]
    assert {folder, f"{folder}/junit.xml"} & set(told)
    assert (theirs / folder / "junit.xml").is_file()


def test_the_campaign_of_a_users_repository_ends_as_expected(
    theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(theirs)
    asked = ["chaos.yaml", "--seeds", "1", "--jobs", "2"]
    command = [sys.executable, "-P", "-m", "harness.cli.main", "campaign", *asked]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_only_the_readers_own_tests_are_collected(theirs: Path) -> None:
    (ini,) = re.findall(r"<!-- tested.*?-->\n```ini\n(.*?)```", TEXT, flags=re.DOTALL)
    (theirs / "pytest.ini").write_text(ini)
    (theirs / "test_own.py").write_text("def test_own():\n    pass\n")
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=theirs, capture_output=True, text=True, timeout=100, check=False)
    found = [line for line in done.stdout.splitlines() if "::" in line]
    assert found == ["test_own.py::test_own"], done.stdout[-2000:]


def test_the_tests_in_the_text_are_run(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    (example,) = re.findall(r"<!-- tested.*?-->\n```python\n(.*?)```", TEXT, flags=re.DOTALL)
    pytester.makepyfile(example)
    pytester.runpytest_subprocess().assert_outcomes(passed=2, xfailed=1)
