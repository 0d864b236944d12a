"""docs/ci.md: its workflows are YAML that runs Lantern as it is, its tests are run."""

from __future__ import annotations

import re
import shlex
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
EXAMPLES = re.findall(r"<!-- tested.*?-->\n```yaml\n(.*?)```", TEXT, flags=re.DOTALL)


def strings(value: Any) -> list[str]:
    match value:
        case dict():
            return [text for inner in value.values() for text in strings(inner)]
        case list():
            return [text for inner in value for text in strings(inner)]
        case _:
            return [str(value)]


@pytest.mark.parametrize("example", EXAMPLES, ids=["github", "gitlab"])
def test_an_example_is_yaml_and_its_commands_are_lanterns(
    example: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = strings(yaml.safe_load(example))
    (command,) = (text for text in told if text.startswith("lantern "))
    verb, *arguments = shlex.split(command)[1:]
    assert verb == "campaign"
    file = arguments[0]
    assert (ROOT / file).is_file()
    ran: list[Any] = []
    monkeypatch.setattr(
        "harness.cli.campaign.Campaign.run", lambda self, _workers: ran.append(self._wanted)
    )
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(campaign, [str(ROOT / file), *arguments[1:]], obj=Output())
    assert done.exception is None, done.output
    assert [wanted.budget_s for wanted in ran] == [600.0]
    folder = arguments[arguments.index("--resume") + 1]
    assert {folder, f"{folder}/junit.xml"} & set(told)
    assert (tmp_path / folder / "junit.xml").is_file()


def test_the_tests_in_the_text_are_run(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    (example,) = re.findall(r"<!-- tested.*?-->\n```python\n(.*?)```", TEXT, flags=re.DOTALL)
    pytester.makepyfile(example)
    pytester.runpytest_subprocess().assert_outcomes(passed=2, xfailed=1)
