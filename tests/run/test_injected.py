"""What was injected, in a file: one origin for every time, and a file that is believed no further."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from harness.plan.dump import to_yaml
from harness.report.injected import Kept, load, schedule_of, windows
from harness.run.figures import fault_counts
from harness.store.errors import NotARun
from harness.store.rundir import RunDir
from nemesis.faults import Campaign, Pause, Standing
from nemesis.machine import InjectionRecord
from nemesis.machine.record import EpisodeRun, Injected

if TYPE_CHECKING:
    from pathlib import Path

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


def kept(path: Path, data: bytes) -> Kept:
    (path / "schedule.yaml").write_bytes(data)
    return load(RunDir(path))


def test_every_time_counts_from_the_historys_origin() -> None:
    told = msgspec.to_builtins(schedule_of("a-run", LOAD_NS, RECORD))
    assert told["load_ns"] == [1_000, 9_000]
    (episode,) = told["episodes"]
    assert (episode["began_ns"], episode["ended_ns"]) == (1_000, 1_500)
    paused, unheard = told["faults"]
    assert [paused[f"{word}_ns"] for word in ("asked", "installed", "healed")] == [1_010, 1_020, 1_300]
    assert unheard["asked_ns"] == 1_010
    assert "healed_ns" not in unheard


def test_a_file_is_read_back_as_what_was_in_force_and_when(tmp_path: Path) -> None:
    told = kept(tmp_path, to_yaml(schedule_of("a-run", LOAD_NS, RECORD)))
    assert (told.run, told.load_ns, told.episodes[0].began_ns) == ("a-run", LOAD_NS, 1_000)
    assert windows(told.faults) == [(1_010, 1_300, "pause (n1), step 0")]


def test_what_does_not_last_is_in_force_for_as_long_as_it_took_to_do() -> None:
    campaign = msgspec.structs.replace(PAUSED, fault=Campaign(("n1",)), healed_ns=None)
    assert windows([campaign]) == [(10, 20, "campaign (n1), step 0")]


def test_a_run_that_never_came_to_its_load_has_a_file_too(tmp_path: Path) -> None:
    told = kept(tmp_path, to_yaml(schedule_of("a-run", None, InjectionRecord())))
    assert (told.load_ns, told.faults) == (None, ())


@pytest.mark.parametrize(
    "text",
    [
        "schema: 1\nfaults: []\n",
        "[]\n",
        "{[\n",
        "schema: 2\nfaults: []\n",
        "schema: 2\nrun: a\nload_ns: null\nepisodes: []\nfaults: [{id: one}]\n",
        "schema: 2\nrun: a\nload_ns: [x, y]\nepisodes: []\nfaults: []\n",
        "schema: 2\nrun: a\nload_ns: null\nepisodes: [{roles: 7}]\nfaults: []\n",
    ],
)
def test_a_file_that_is_none_of_ours_is_refused_by_name(tmp_path: Path, text: str) -> None:
    with pytest.raises(NotARun, match=r"schedule\.yaml"):
        kept(tmp_path, text.encode())


@pytest.mark.parametrize(
    ("lengths_ns", "lasted"),
    [
        ((1_640_000_000,), "1.6 s"),
        ((31_000_000, 1_230_000_000), "0.031 to 1.2 s each"),
        ((2_000_000_000, 2_010_000_000), "2.0 s each"),
    ],
)
def test_how_long_faults_lasted_is_told_and_no_short_one_is_of_no_length(
    lengths_ns: tuple[int, ...], lasted: str
) -> None:
    faults = (
        msgspec.structs.replace(PAUSED, id=n, healed_ns=20 + length_ns)
        for n, length_ns in enumerate(lengths_ns, 1)
    )
    did = fault_counts(InjectionRecord(faults=tuple(faults)))["pause"].did
    assert did == f"leader {len(lengths_ns)}x, {lasted}"
