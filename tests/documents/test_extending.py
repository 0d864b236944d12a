"""docs/extending.md, followed to the letter: in a copy of the tree, its model and its workload run."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pytest
from docs_commands import ROOT

from checker import MODELS, Model

if TYPE_CHECKING:
    from pathlib import Path

TEXT = (ROOT / "docs/extending.md").read_text("utf-8")
TREE = ("harness", "checker", "nemesis", "targets")
FENCED = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
"""The line of `Load` and the row of `WORKLOADS`."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what the wheel has, to be changed as the page says."""
    place = tmp_path / "tree"
    for name in TREE:
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    return place


def put(file: Path, behind: str, more: str) -> None:
    """Put lines behind the one place where these stand, indented as the last of them."""
    text = file.read_text("utf-8")
    assert text.count(behind) == 1, f"{file}: {behind!r}"
    last = behind.splitlines()[-1]
    added = textwrap.indent(more, last[: len(last) - len(last.lstrip())])
    file.write_text(text.replace(behind, f"{behind}\n{added.rstrip()}"), "utf-8")


def lantern(tree: Path, *arguments: str) -> dict[str, Any]:
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "harness.cli.main", *arguments, "--json"],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert "Traceback" not in ended.stderr, ended.stderr
    told: dict[str, Any] = json.loads(ended.stdout)
    return told


def test_the_workload_of_the_page_runs_once_its_steps_are_made(tree: Path) -> None:
    name, row = map(textwrap.dedent, FENCED)
    shutil.copy(ROOT / "docs/examples/beacon.py", tree / "harness/run/beacon.py")
    put(tree / "harness/plan/plan.py", '    LOCK = "lock"', name)
    workloads = tree / "harness/run/workloads.py"
    put(workloads, "from targets.catalog import mode\n", "from .beacon import Beacon")
    put(workloads, 'claims=("grants", "expiries", "refused-tokens"),\n        ),', row)
    assert lantern(tree, "list", "workloads")["workloads"][-1]["name"] == "beacon"
    asked = ("--on", "sim", "--workload", "beacon", "--seed", "1", "--time", "5")
    told = lantern(tree, "run", *asked, "--allow", "not-exercised")
    assert (told["outcome"], told["model"]) == ("pass", "register")
    assert told["reads"]["lease"]["reads"] > 500
    stale = lantern(tree, "run", *asked[:6], "--mistake", "role-only-read")
    assert stale["outcome"] == "violation"


def test_the_model_of_the_page_is_on_the_command_line_once_its_steps_are_made(tree: Path) -> None:
    source = (ROOT / "docs/examples/my_model.py").read_text("utf-8")
    (found,) = (each for each in ast.parse(source).body if isinstance(each, ast.ClassDef))
    text = ast.get_source_segment(source, found)
    assert text is not None
    file = tree / "checker/models/high_water.py"
    file.write_text(f"from checker.models.model import Model\n\n\n{text}\n", "utf-8")
    models = tree / "checker/models/__init__.py"
    put(models, "import Counter", "from checker.models.high_water import HighWater")
    put(models, "        FencedRegister,", "HighWater,")
    assert "high-water" in {each["name"] for each in lantern(tree, "list", "models")["models"]}
    events = [
        {"process": 0, "type": "invoke", "f": "raise", "key": "k", "value": 5},
        {"process": 0, "type": "ok", "f": "raise", "key": "k", "value": 5},
        {"process": 1, "type": "invoke", "f": "read", "key": "k", "value": None},
        {"process": 1, "type": "ok", "f": "read", "key": "k", "value": 3},
    ]
    (tree / "history.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events), "utf-8")
    told = lantern(tree, "check", "history.jsonl", "--model", "high-water")
    assert told["violation"]["sentence"].startswith("read -> 3 (process 1, line 3) fits nowhere")


def test_everything_that_a_model_may_say_is_in_the_table() -> None:
    told = set(re.findall(r"^\| `(\w+)[`(]", TEXT, flags=re.MULTILINE))
    public = {name for name in vars(Model) if not name.startswith("_")}
    public |= {name for name in Model.__annotations__ if not name.startswith("_")}
    assert public - told <= {"conventions", "prepare", "alike"}, "what only models of ours need"
    assert told <= public


def test_every_model_is_named_on_the_page_of_the_checker() -> None:
    text = (ROOT / "docs/checker.md").read_text("utf-8")
    named = text.partition("\nModels: ")[2].partition("One of your own")[0]
    assert [name for name in MODELS if f"`{name}`" not in named] == []
