"""What was injected, in a file: one origin for every time, and a file that is believed no further."""

from __future__ import annotations

import re

import msgspec
import pytest

from harness.plan.dump import to_yaml
from harness.run.injected import read, schedule_of, windows
from harness.store.errors import NotARun
from nemesis.faults import Campaign, Pause, Standing
from nemesis.machine import InjectionRecord
from nemesis.machine.record import EpisodeRun, Injected

LOAD_NS = (1_000, 9_000)
PAUSED = Injected(
    id=1,
    episode="storm",
    repetition=1,
    step="0",
    fault=Pause(("n1",)),
    roles={"n1": "leader"},
    asked_ns=10,
    standing=Standing.INSTALLED,
    installed_ns=20,
    healed_ns=300,
)
UNHEARD = msgspec.structs.replace(PAUSED, id=2, standing=None, installed_ns=None, healed_ns=None)
RECORD = InjectionRecord(
    episodes=(EpisodeRun(episode="storm", repetition=1, began_ns=0, ended_ns=500),),
    faults=(PAUSED, UNHEARD),
)


def test_every_time_counts_from_the_historys_origin() -> None:
    told = msgspec.to_builtins(schedule_of("a-run", LOAD_NS, RECORD))
    assert told["load_ns"] == [1_000, 9_000]
    (episode,) = told["episodes"]
    assert (episode["began_ns"], episode["ended_ns"]) == (1_000, 1_500)
    paused, unheard = told["faults"]
    assert [paused[f"{word}_ns"] for word in ("asked", "installed", "healed")] == [1_010, 1_020, 1_300]
    assert unheard["asked_ns"] == 1_010
    assert "healed_ns" not in unheard


def test_a_file_is_read_back_as_what_was_in_force_and_when() -> None:
    data = to_yaml(schedule_of("a-run", LOAD_NS, RECORD))
    assert windows(read(data, name="schedule.yaml")) == [(1_010, 1_300, "pause (n1), step 0")]


def test_what_does_not_last_is_in_force_for_as_long_as_it_took_to_do() -> None:
    campaign = msgspec.structs.replace(PAUSED, fault=Campaign(("n1",)), healed_ns=None)
    assert windows([campaign]) == [(10, 20, "campaign (n1), step 0")]


def test_a_run_that_never_came_to_its_load_has_a_file_too() -> None:
    assert read(to_yaml(schedule_of("a-run", None, InjectionRecord())), name="schedule.yaml") == ()


@pytest.mark.parametrize(
    "text", ["schema: 1\nfaults: []\n", "[]\n", "{[\n", "schema: 2\nfaults: [{id: one}]\n"]
)
def test_a_file_that_is_none_of_ours_is_refused_by_name(text: str) -> None:
    with pytest.raises(NotARun, match=r"schedule\.yaml"):
        read(text.encode(), name="schedule.yaml")


def test_a_record_that_named_the_one_node_of_a_fault_is_still_read() -> None:
    asked = msgspec.structs.replace(PAUSED, fault=Campaign(("n2",)))
    new = to_yaml(schedule_of("a-run", LOAD_NS, InjectionRecord(faults=(asked,))))
    old, replaced = re.subn(rb"nodes:\s+(- |\[)n2\]?", b"node: n2", new)
    assert replaced == 1
    (found,) = read(old, name="schedule.yaml")
    assert found.fault == Campaign(("n2",))
