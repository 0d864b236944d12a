"""What a system is to everybody else: the one seam between the harness and what is tested.

A *target* is a system that can be tested: ours, another's, somebody's own. It says in plain data what
may be asked of it (where it runs, how it may be read, what can be planted in it), and makes two things:
a cluster of itself in one of its places, and the client that speaks with it. Nothing outside its folder
knows more; `targets.catalog` knows its name.

What a plan says travels as a `Setup`: a target sees no plan, no schedule and no verdict. Whatever costs
time to import (an engine, somebody's file) is imported by the method that needs it, so that to list
targets, or to test another one, asks for nothing that this one needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

import msgspec

from checker.conviction.owed import Terms
from checker.oracles.result import Oracle

from .cluster import ClockMode, Primitive
from .sim.weather import Weather

if TYPE_CHECKING:
    from pathlib import Path

    from .cluster import Cluster
    from .session import Client
    from .sim.cluster import SimCluster
    from .sim.heap import Heap


class Place(StrEnum):
    """Where the nodes of a run are: processes on loopback, virtual time, containers."""

    LOCAL = "local"
    SIM = "sim"
    DOCKER = "docker"


class Mode(msgspec.Struct, frozen=True, kw_only=True):
    """A way of reading, and what is promised of it: a policy of ours, a read mode of another's.

    ``claims`` are names of `checker.exercised`: what a run must have exercised to mean anything.
    ``owes`` are the oracles it is held to, of those that a right protocol may break by design, and
    ``terms`` the rules that a violation is held against; None where its nodes leave no such evidence.
    ``synced``: its nodes hear from a time service.
    """

    name: str
    claims: tuple[str, ...] = ()
    owes: frozenset[Oracle] = frozenset()
    terms: Terms | None = None
    synced: bool = False
    about: str


class Mistake(msgspec.Struct, frozen=True, kw_only=True):
    """A wrong rule that can be planted, with what it takes to show it.

    ``policy`` is the mode it is planted in, ``nodes`` the size of the cluster that shows it and
    ``voters`` how many of them vote to begin with (0: all), ``places``
    where it can be shown. ``rule`` is the id of the rule it breaks, ``also_breaks`` those that go with
    it; ``also_off`` are rules that would mask it and are switched off beside it. ``needs`` is what its
    aimed schedule does to the cluster, ``drift_ppm`` the rate bound such a run declares, ``clock`` the
    clock it bends, ``brings`` what else a plan says for it, by key, ``shown_by`` the kind of violation
    that its aimed schedule ends in.
    """

    id: str
    sentence: str
    policy: str
    rule: str
    also_off: tuple[str, ...]
    nodes: int
    places: tuple[Place, ...]
    needs: tuple[Primitive, ...]
    drift_ppm: int
    clock: ClockMode
    also_breaks: tuple[str, ...] = ()
    voters: int = 0
    brings: Mapping[str, Any] = {}
    shown_by: str = "history"

    @property
    def rules(self) -> tuple[str, ...]:
        """Every rule that the catalog gives for it, its own first."""
        return (self.rule, *self.also_breaks)

    @property
    def breaks(self) -> frozenset[str]:
        """The rules that a run with it may break; whatever is switched off for it is among them."""
        return frozenset({*self.rules, *self.also_off})


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan tells its target, in the words of a plan: `harness.plan.Plan` explains them."""

    on: Place
    policy: str
    mistakes: tuple[str, ...]
    keep_rules: tuple[str, ...]
    node_names: tuple[str, ...]
    voter_names: tuple[str, ...]
    clock: ClockMode
    election_ns: int
    heartbeat_ns: int
    margin_ns: int
    append_max: int
    compact_entries: int
    drift_ppm: int
    read_timeout_ns: int
    write_timeout_ns: int
    seed: int
    weather: Weather
    keep: bool
    compose: str | None
    containers: tuple[str, ...]


class UnfitError(Exception):
    """A plan that this target cannot be set up for; ``key`` is the plan's that is to blame, if any."""

    def __init__(self, sentence: str, *, key: str | None = None) -> None:
        super().__init__(sentence)
        self.key = key


TAKEN_BY_SOME: Final[Mapping[str, Place | None]] = MappingProxyType(
    {
        "keep_rules": None,
        "voters": None,
        "readindex_one_in": None,
        "heartbeat_ns": None,
        "margin_ns": None,
        "append_max": None,
        "compact_entries": None,
        "workload": None,
        "read_timeout_ns": None,
        "compose": None,
        "containers": None,
        "weather": Place.SIM,
        "keep": Place.LOCAL,
        "links": Place.DOCKER,
    }
)
"""Keys of a plan that mean something to some targets only, and the only place where they do.

A target says which of them it takes; any other that a plan sets would be ignored silently, and is
refused.
"""


class Target(Protocol):
    """One system. ``modes`` and ``places`` begin with the default.

    ``mistakes`` can be planted in it and ``rules_off`` can be switched off; ``schedules`` are aimed at
    it, and the first is a bare run's, which otherwise is drawn. ``takes`` are keys of `TAKEN_BY_SOME`.
    """

    name: str
    about: str
    modes: Mapping[str, Mode]
    places: tuple[Place, ...]
    takes: frozenset[str]
    mistakes: Mapping[str, Mistake]
    rules_off: tuple[str, ...]
    schedules: tuple[str, ...]

    def check(self, setup: Setup) -> None:
        """Raise `UnfitError` for what no cluster of this system can be started with."""

    def cluster(self, setup: Setup, run_dir: Path, *, gates: bool) -> Cluster:
        """Return the cluster, not started; evidence and logs go into ``run_dir``.

        ``gates`` says how links between containers are cut.
        """

    def client(self, setup: Setup) -> Client:
        """Return what it is spoken to with."""


@runtime_checkable
class Simulated(Protocol):
    """A target that can live in virtual time as well: one with `Place.SIM` among its places."""

    def simulated(self, setup: Setup, heap: Heap) -> SimCluster:
        """Return the cluster on a heap, not started."""

    def lease_ns(self, setup: Setup) -> int:
        """Return the length of a lease by the target's own rule, which sweeps hold it to."""

    def promise_ns(self, setup: Setup) -> int | None:
        """Return the length of what keeps the next lease from beginning, on a clock of its own.

        None where what time it is decides that, and no clock's rate.
        """
