"""A plan: everything that decides what a run does, resolved, as one frozen value.

What lives here: the fields, their defaults, and what each may be. A plan is complete: no field asks for
a default at run time, so the ``plan.yaml`` written from it runs the same again. Where a run is put
(``--out``) and how it is printed (``--json``) are no part of it.

The keys of a plan file are the names of the fields, but for two: ``time`` is `Plan.time_s`, ``mistake``
is `Plan.mistakes`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final, Literal

import msgspec

from targets.catalog import DEFAULT, find
from targets.clock import MS, SECOND
from targets.cluster import ClockMode
from targets.sim.weather import Weather
from targets.target import Place, Setup

from .script import Scripted

SEED_END: Final = 1 << 62
"""Every seed is less: what is written of one stays a number to whoever reads it."""

Many = Annotated[int, msgspec.Meta(ge=0)]
Duration = Annotated[int, msgspec.Meta(ge=0, le=86_400 * SECOND)]
Word = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*\Z", max_length=60)]


class ScheduleFrom(StrEnum):
    """Where the schedule came from; a missed step weighs differently."""

    SEED = "seed"
    AIMED = "aimed"
    FILE = "file"


class Load(StrEnum):
    """Which workload draws the operations: see `harness.run.workloads`."""

    REGISTER = "register"
    LOCK = "lock"


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run.

    ``rate`` is operations a second over all clients, 0 as many as go; ``faults`` the families of a
    drawn schedule; ``readindex_one_in`` 10 sends one read in ten through ReadIndex, 0 none;
    ``peer_delay_ns`` delays every link between peers, one way, whenever no fault shuts it;
    ``append_max`` is how many log entries travel from node to node in one message, at most, and
    ``compact_entries`` how many are applied between two snapshots;
    ``voters`` is how many nodes vote to begin with, the first ones, 0 all of them;
    ``clock`` is the one clock that may be bent, ``drift_ppm`` the declared bound on a clock's rate
    error. ``check_s`` and ``check_mb`` bound the check. ``keep`` keeps what the nodes had on disk.
    ``target`` is a name of `targets.catalog`, or a Python file with the client of a cluster that runs
    already, in ``containers`` (their names) or as the project of the file ``compose``.
    ``links`` is how links between containers are cut: by packet filter in their namespaces, or by gates,
    which can delay and let held bytes go on the dot. ``auto`` takes gates where the schedule needs them:
    where it delays, and where it was not drawn but aimed. ``weather`` is what a simulated cluster lives
    in; ``operations`` are the operations themselves, where no workload is to draw them.
    """

    schema: Literal[1] = 1
    name: Word = "run"
    target: str = DEFAULT
    on: Place = Place.LOCAL
    policy: str = msgspec.field(default_factory=lambda: next(iter(find(DEFAULT).modes)))
    mistakes: tuple[str, ...] = msgspec.field(name="mistake", default=())
    keep_rules: tuple[str, ...] = ()
    workload: Load = Load.REGISTER
    nodes: Annotated[int, msgspec.Meta(ge=1, le=9)] = 3
    voters: Annotated[int, msgspec.Meta(ge=0, le=9)] = 0
    clients: Annotated[int, msgspec.Meta(ge=1, le=512)] = 12
    keys: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 4
    key_operations: Annotated[int, msgspec.Meta(ge=10, le=1_000_000)] = 300
    rate: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 600
    readindex_one_in: Many = 0
    time_s: Annotated[float, msgspec.Meta(gt=0, le=86_400)] = msgspec.field(name="time", default=20.0)
    seed: Annotated[int, msgspec.Meta(ge=0, lt=SEED_END)] = 0
    faults: tuple[str, ...] = ("clock", "pause", "partition")
    clock: ClockMode = ClockMode.NONE
    peer_delay_ns: Annotated[int, msgspec.Meta(ge=0, le=10 * SECOND)] = 0
    election_ns: Annotated[int, msgspec.Meta(ge=50 * MS, le=600 * SECOND)] = SECOND
    heartbeat_ns: Annotated[int, msgspec.Meta(ge=MS, le=60 * SECOND)] = 100 * MS
    margin_ns: Duration = 20 * MS
    append_max: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 256
    compact_entries: Annotated[int, msgspec.Meta(ge=10, le=1_000_000)] = 20_000
    drift_ppm: Annotated[int, msgspec.Meta(ge=0, lt=1_000_000)] = 50_000
    read_timeout_ns: Annotated[int, msgspec.Meta(ge=10 * MS, le=600 * SECOND)] = 600 * MS
    write_timeout_ns: Annotated[int, msgspec.Meta(ge=10 * MS, le=600 * SECOND)] = 1500 * MS
    settle_ns: Duration = SECOND
    check_s: Annotated[float, msgspec.Meta(gt=0)] = 60.0
    check_mb: Annotated[int, msgspec.Meta(ge=64)] = 2048
    allow: tuple[Literal["not-exercised"], ...] = ()
    require: tuple[Literal["availability"], ...] = ()
    keep: bool = False
    compose: str | None = None
    containers: tuple[str, ...] = ()
    links: Literal["auto", "packets", "gates"] = "auto"
    weather: Weather = Weather()
    operations: tuple[Scripted, ...] | None = None
    schedule_from: ScheduleFrom = ScheduleFrom.SEED
    schedule: tuple[Any, ...] = ()

    @property
    def node_names(self) -> tuple[str, ...]:
        """The nodes' names, in order."""
        return tuple(f"n{number}" for number in range(1, self.nodes + 1))

    @property
    def voter_names(self) -> tuple[str, ...]:
        """The nodes that vote to begin with, in order."""
        return self.node_names[: self.voters or self.nodes]

    @property
    def setup(self) -> Setup:
        """What the target is told."""
        return msgspec.convert(self, Setup, from_attributes=True)


FIELDS: Final = {field.encode_name: field for field in msgspec.structs.fields(Plan)}
"""The keys of a plan file."""


def seats_min(nodes: int) -> int:
    """How many clients it takes: a reader pinned to every node, a writer, a roamer and a cas."""
    return nodes + 3
