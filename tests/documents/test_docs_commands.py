"""Every command of the documents does what a reader expects of it: it runs, and ends as it should.

What takes minutes is asked for less: fewer seconds of load, one seed, one name. Names that stand for
something of the reader's (`runs/...`, `FILE.yaml`) are given something to stand for.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import click
import pytest
from docs_commands import PAGES, ROOT, Command, all_commands, commands, mentions

from harness.cli.verbs import lantern as program

RUN_S_MAX = 110.0
LESS: Final = {
    "run": ("--time", "3", "--rate", "60", "--allow", "not-exercised"),
    "campaign": ("--seeds", "1", "--only", "role-only-read"),
    "replay": ("--times", "1"),
    "serve": ("--help",),  # it would serve for ever
    "heal": ("--dry-run",),  # else it heals what a test beside it has just left to be healed
}
"""Options that make a command small, by verb; the last of two equal options counts."""
PLACES: Final = {
    "RUN_DIR": "runs/planted",
    "runs/...": "runs/planted",
    "runs/20250101T120000-lease-renew": "runs/planted",
    "runs/*/": "runs/planted/",
    "FILE.yaml": "small.yaml",
    "docs/examples/campaign.yaml": "small.yaml",
}
"""What the documents' names stand for here."""
NAMED: Final = ("runs/planted", "runs/simulated", "runs/small", "elsewhere/small")
PACKED: Final = ("small.lantern.zip",)
"""What the tutorial has made by the time it is used."""
ELSEWHERE: Final = {
    "--compose": "tests/attach",
    "my_client.py": "tests/attach",
    "docker": "tests/catalog/test_mistakes_docker.py",
    "etcd": "tests/docker",
    "--scheduler": "tests/campaign",
    "--resume": "tests/campaign",
    "sweep": "tests/campaign",
    "beacon": "tests/documents/test_extending.py",
}
"""Words of commands that need an engine, other machines or a changed tree; the tests of their like."""
ENDS: Final = {0: "as meant", 1: "a violation", 7: "a campaign of one seed finds no mistake but by luck"}
"""How a command may end; what it shows beyond that other tests say."""
SMALL: Final = """\
schema: 1
plan: {on: sim, rate: 60, time: 4, allow: not-exercised}
runs:
  - {name: role-only-read, plan: {mistake: role-only-read, time: 10, rate: 100}}
"""


def small(command: Command) -> tuple[str, ...]:
    return (*(PLACES.get(word, word) for word in command.words), *LESS.get(command.words[0], ()))


OPTION: Final = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
OF_OTHERS: Final = frozenset(
    {
        *("--build", "--volumes"),  # docker compose
        *("--nworkers", "--nthreads"),  # dask
        *("--junitxml", "--lantern-store", "--ignore"),  # pytest, with the plugin
        *("--quick", "--pairs", "--round", "--table", "--aimed"),  # scripts of bench and tests/soak
        *("--help", "--version"),
    }
)
"""Options that pages name of other programs."""
HERE: Final = {small(each): each for each in all_commands() if not ELSEWHERE.keys() & set(each.words)}


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory as a reader's, in which somebody has run something before."""
    place = tmp_path_factory.mktemp("reader")
    (place / "docs").symlink_to(ROOT / "docs")
    (place / "nemesis").symlink_to(ROOT / "nemesis")
    (place / "small.yaml").write_text(SMALL, "utf-8")
    planted = ["--mistake", "role-only-read", "--on", "sim", "--time", "10", "--rate", "100"]
    assert run(place, "run", *planted, "--out", "runs/theirs") == 1
    assert run(place, "convert", "runs/theirs", "theirs.edn") == 0
    assert run(place, "pack", "runs/theirs", "theirs.lantern.zip") == 0
    for name in NAMED:
        shutil.copytree(place / "runs/theirs", place / name)
    shutil.rmtree(place / "runs/theirs")
    for name in PACKED:
        shutil.copy(place / "theirs.lantern.zip", place / name)
    shutil.copy(ROOT / ".gitignore", place)
    subprocess.run(["git", "init", "--quiet", str(place)], check=True, timeout=60)
    return place


def made_by(words: tuple[str, ...]) -> str | None:
    """Return what a command makes, where its documents say how that is called."""
    if "--out" in words:
        return words[words.index("--out") + 1]
    if words[0] == "pack":
        return f"{Path(words[1]).name}.lantern.zip"
    return words[2] if words[0] in {"unpack", "convert"} and len(words) > 2 else None


def untidy(place: Path) -> set[str]:
    """Return what a clone's owner would be told of by `git status`."""
    asked = ["git", "-C", str(place), "status", "--porcelain", "--untracked-files=all"]
    told = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True)
    return set(told.stdout.splitlines())


def run(place: Path, *arguments: str) -> int:
    end = subprocess.run(
        [sys.executable, "-P", "-m", "harness.cli.main", *arguments],
        cwd=place,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=RUN_S_MAX,
        check=False,
    )
    said = end.stderr.decode(errors="replace")
    assert "Traceback" not in said, said
    assert end.returncode in ENDS, f"exit code {end.returncode}: {said[-2000:]}"
    return end.returncode


@pytest.mark.processes
@pytest.mark.parametrize("words", HERE, ids=map(str, HERE.values()))
def test_a_documented_command_runs_and_leaves_a_clone_clean(
    words: tuple[str, ...], reader: Path, tmp_path: Path
) -> None:
    place = tmp_path / "reader"
    shutil.copytree(reader, place, symlinks=True)
    if (made := made_by(words)) is not None and (place / made).is_dir():
        shutil.rmtree(place / made)
    elif made is not None:
        (place / made).unlink(missing_ok=True)
    before = untidy(place)
    run(place, *words)
    assert untidy(place) <= before


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_verbs_and_options_that_a_page_names_exist(page: Path) -> None:
    for named in (*commands(page), *mentions(page)):
        words = [word for word in named.words if not word.startswith("-")]
        verb = verb_of(program, words, str(named))
        asked = {word for word in named.words if word.startswith("--")}
        assert options_of(verb) >= asked, str(named)
    text = page.read_text("utf-8")
    known = set().union(OF_OTHERS, *map(options_of, verbs(program).values()))
    assert set(OPTION.findall(text)) <= known, "options of no verb"


def test_every_verb_and_every_option_has_a_home_in_the_documents() -> None:
    text = "\n".join(page.read_text("utf-8") for page in PAGES)
    told = {*OPTION.findall(text), "--help"}
    for name, verb in verbs(program).items():
        assert re.search(rf"lantern\s+{name}\b", text), name
        assert options_of(verb) - told == set(), name


def options_of(verb: click.Command) -> set[str]:
    """Return the long options of a verb."""
    names = {name for each in verb.params for name in each.opts}
    return {name for name in names if name.startswith("--")} | {"--help"}


def verbs(group: click.Group, above: str = "") -> dict[str, click.Command]:
    """Return every verb by the words that call it."""
    found: dict[str, click.Command] = {}
    for name in group.list_commands(click.Context(group)):
        verb = group.get_command(click.Context(group), name)
        assert verb is not None
        below = verbs(verb, f"{above}{name} ") if isinstance(verb, click.Group) else {above + name: verb}
        found |= below
    return found


def verb_of(group: click.Command, words: list[str], mention: str) -> click.Command:
    """Return what these words name below a group, where `a|b` names two; one that is not there fails."""
    if not (isinstance(group, click.Group) and words):
        return group
    found = {name: group.get_command(click.Context(group), name) for name in words[0].split("|")}
    for name, verb in found.items():
        assert verb is not None, f"{mention}: there is no `{name}`"
    last = list(found.values())[-1]
    assert last is not None
    return verb_of(last, words[1:], mention)
