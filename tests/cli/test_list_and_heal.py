"""`lantern list` shows what other verbs take; `lantern heal` says what it did."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from checker import MODELS
from checker.formats import FORMATS
from harness.cli.list import TOPICS
from nemesis import FAMILIES
from targets.catalog import TARGETS
from targets.leasekv.mistakes import MISTAKES

if TYPE_CHECKING:
    from cli_lantern import Lantern

KNOWN = {
    "targets": set(TARGETS),
    "workloads": {"register"},
    "policies": {mode for target in TARGETS.values() for mode in target.modes},
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
    shown = lantern("list", topic).stdout.decode()
    assert all(name in shown for name in KNOWN[topic])


def test_healing_nothing_is_fine(lantern: Lantern) -> None:
    done = lantern("heal", "--run", "no-such-run")
    assert (done.returncode, done.stdout) == (0, b"nothing to heal\n")


def test_what_could_not_be_healed_is_a_harness_failure(lantern: Lantern) -> None:
    patch = (
        "from harness.cli import heal as module\n"
        "from targets.local.heal import Healed\n"
        "bad = Healed('/x', 'a\\x1b[2Jrun', live=False, done=('ended n1',), failed=('n2 lives',))\n"
        "alive = Healed('/y', 'other', live=True)\n"
        "module._containers = lambda *_: ()\n"
        "module.local.heal = lambda run: (bad, alive)\n"
    )
    done = lantern("heal", patch=patch)
    assert done.returncode == 6
    assert done.stdout.decode().splitlines() == [
        "a\\x1b[2Jrun: ended n1",
        "a\\x1b[2Jrun: NOT HEALED: n2 lives",
        "other: still running, left alone",
    ]


def test_a_healer_that_breaks_keeps_no_other_from_its_work(lantern: Lantern) -> None:
    patch = (
        "import os; os.environ['DOCKER_HOST'] = 'unix:///nowhere'\n"
        "from harness.cli import heal as module\n"
        "from targets.attach import record\n"
        "from targets.cluster import TargetError\n"
        "from targets.docker import heal as containers\n"
        "from targets.local.heal import Healed\n"
        "async def broken(run): raise TargetError('no namespace')\n"
        "async def left(run): return (Healed('/a', 'attached', live=False, done=('continued n1',)),)\n"
        "containers.heal, record.heal = broken, left\n"
        "module.local.heal = lambda run: (Healed('/b', 'local', live=False, done=('ended n2',)),)\n"
    )
    done = lantern("heal", patch=patch)
    assert done.returncode == 6
    assert done.stdout.decode().splitlines() == [
        "containers: NOT HEALED: TargetError: no namespace",
        "attached: continued n1",
        "local: ended n2",
    ]


def test_what_no_engine_can_be_asked_about_is_not_healed(lantern: Lantern) -> None:
    patch = (
        "import os; os.environ['DOCKER_HOST'] = 'unix:///nowhere'\n"
        "from harness.cli import heal as module\n"
        "from targets.local.heal import Healed\n"
        "kept = Healed('/a', 'attached', live=False, failed=('attached.json says what',))\n"
        "module.local.heal = lambda run: (kept,)\n"
    )
    done = lantern("heal", patch=patch)
    assert done.returncode == 6
    first, second = done.stdout.decode().splitlines()
    assert first.startswith("containers were not looked for: ")
    assert second == "attached: NOT HEALED: attached.json says what"
