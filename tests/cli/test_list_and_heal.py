"""`lantern list` shows what other verbs take; `lantern heal` says what it did."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from checker import MODELS
from checker.formats import FORMATS
from harness.cli.list import TOPICS
from harness.plan.plan import Load
from nemesis import FAMILIES
from targets.catalog import SYSTEMS, every
from targets.host.runtime import this_host
from targets.leasekv.mistakes import MISTAKES

if TYPE_CHECKING:
    from pathlib import Path

    from cli_lantern import Lantern

KNOWN: dict[str, set[str]] = {
    "targets": set(SYSTEMS),
    "workloads": {load.value for load in Load},
    "policies": {mode for target in every() for mode in target.modes},
    "mistakes": set(MISTAKES),
    "faults": set(FAMILIES),
    "models": set(MODELS),
    "formats": set(FORMATS),
}


@pytest.mark.parametrize("topic", TOPICS)
def test_everything_that_is_known_is_listed_with_what_it_is_about(lantern: Lantern, topic: str) -> None:
    rows = json.loads(lantern("list", topic, "--json").stdout)[topic]
    assert {row["name"] for row in rows} == KNOWN[topic]
    assert all(row["about"] for row in rows)
    assert not any("`" in row["about"] for row in rows), "this is no markup"
    shown = lantern("list", topic).stdout.decode()
    assert all(name in shown for name in KNOWN[topic])
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_a_mistake_is_listed_with_every_rule_of_the_catalog(lantern: Lantern) -> None:
    rows = json.loads(lantern("list", "mistakes", "--json").stdout)["mistakes"]
    (row,) = (row for row in rows if row["name"] == "vote-ignores-promise")
    assert (row["rule"], row["rules"]) == ("F2", ["F2", "F3"])
    assert row["environments"] == ["sim", "local", "docker"]
    shown = " ".join(lantern("list", "mistakes").stdout.decode().split())
    assert "; rules F2, F3; also off none;" in shown
    assert "; can be shown on sim, local, docker" in shown
    assert "rule F2" not in shown


def test_healing_nothing_is_fine_but_not_of_a_run_that_never_was(
    lantern: Lantern, tmp_path: Path
) -> None:
    done = lantern("heal", "--run", "no-such-run")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"there is no run 'no-such-run'" in done.stderr
    place = tmp_path / "runs" / "a-run-that-was"
    place.mkdir(parents=True)
    (place / "plan.yaml").write_text("")
    done = lantern("heal", "--run", place.name)
    assert (done.returncode, done.stdout) == (0, b"nothing to heal\n")


def test_a_dry_run_tells_and_touches_nothing(lantern: Lantern, tmp_path: Path) -> None:
    left = tmp_path / "lantern-999999-1-abc"
    left.mkdir(mode=0o700)
    manifest = {"schema": 1, "run": "dead", "host": this_host(), "processes": []}
    (left / "manifest.json").write_text(json.dumps(manifest))
    env = {"XDG_RUNTIME_DIR": str(tmp_path)}
    would = f"would remove {left}"
    told = json.loads(lantern("heal", "--run", "dead", "--dry-run", "--json", env=env).stdout)
    assert (told["outcome"], told["dry"]) == ("pass", True)
    expected = {"run": "dead", "path": str(left), "live": False, "done": [would], "failed": []}
    assert told["runs"] == [expected]
    assert left.exists()
    assert f"dead: removed {left}" in lantern("heal", "--run", "dead", env=env).stdout.decode()
    assert not left.exists()


def test_what_could_not_be_healed_is_a_harness_failure(lantern: Lantern) -> None:
    patch = (
        "from harness.cli import heal as module\n"
        "from targets.host.heal import Healed\n"
        "bad = Healed('/x', 'a\\x1b[2Jrun', live=False, done=('ended n1',), failed=('n2 lives',))\n"
        "alive = Healed('/y', 'other', live=True)\n"
        "module._containers = lambda *_, **__: ((), None)\n"
        "module.local.heal = lambda run, dry: (bad, alive)\n"
    )
    done = lantern("heal", patch=patch)
    assert done.returncode == 6
    assert done.stdout.decode().splitlines() == [
        "a\\x1b[2Jrun: ended n1",
        "a\\x1b[2Jrun: NOT HEALED: n2 lives",
        "other: still running, left alone",
    ]


def test_a_live_run_is_told_of_once_whoever_finds_it(lantern: Lantern) -> None:
    patch = (
        "from harness.cli import heal as module\n"
        "from targets.host.heal import Healed\n"
        "there = Healed('lantern-1-2-abc', 'mine', live=True)\n"
        "here = [Healed(f'/run/lantern-1-2-{end}', 'mine', live=True) for end in ('abc', 'def')]\n"
        "dead = [Healed(path, 'dead', live=False, done=(path,)) for path in ('x', '/run/x')]\n"
        "module._containers = lambda *_, **__: ((there, dead[0]), None)\n"
        "module.local.heal = lambda run, dry: (*here, dead[1])\n"
    )
    done = lantern("heal", patch=patch)
    assert done.stdout.decode().splitlines() == [
        "mine: still running, left alone",
        "dead: x",
        "mine: still running, left alone",
        "dead: /run/x",
    ]


def test_a_healer_that_breaks_keeps_no_other_from_its_work(lantern: Lantern) -> None:
    patch = (
        "import os; os.environ['DOCKER_HOST'] = 'unix:///nowhere'\n"
        "from harness.cli import heal as module\n"
        "from targets.attach import record\n"
        "from targets.cluster import TargetError\n"
        "from targets.docker import heal as containers\n"
        "from targets.host.heal import Healed\n"
        "async def broken(run, dry): raise TargetError('no namespace')\n"
        "async def left(run, dry): return (Healed('/a', 'attached', live=False, done=('went on',)),)\n"
        "containers.heal, record.heal = broken, left\n"
        "module.local.heal = lambda run, dry: (Healed('/b', 'local', live=False, done=('ended n2',)),)\n"
    )
    done = lantern("heal", patch=patch)
    assert done.returncode == 6
    assert done.stdout.decode().splitlines() == [
        "containers: NOT HEALED: no namespace",
        "attached: went on",
        "local: ended n2",
    ]


def test_what_no_engine_can_be_asked_about_is_not_healed(lantern: Lantern) -> None:
    patch = (
        "import os; os.environ['DOCKER_HOST'] = 'unix:///nowhere'\n"
        "from harness.cli import heal as module\n"
        "from targets.host.heal import Healed\n"
        "kept = Healed('/a', 'attached', live=False, failed=('attached.json says what',))\n"
        "module.local.heal = lambda run, dry: (kept,)\n"
    )
    done = lantern("heal", patch=patch)
    assert done.returncode == 6
    first, second = done.stdout.decode().splitlines()
    assert first.startswith("containers were not looked for: ")
    assert second == "attached: NOT HEALED: attached.json says what"
