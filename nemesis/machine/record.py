"""What was really done: the record that a run keeps as its ``schedule.yaml``.

Asked for is not done. An injection counts from the instant it was reported installed; what was
skipped, and what nobody knows, stays in the record with its reason.
"""

from __future__ import annotations

from typing import Any

import msgspec

from nemesis.faults import Fault, Standing


class Injected(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One injection. ``roles`` says which role each node had when the episode began.

    Times are the harness's clock; ``standing`` None means that nobody has reported yet.
    """

    id: int
    episode: str
    repetition: int
    step: str
    fault: Fault
    roles: dict[str, str]
    asked_ns: int
    standing: Standing | None = None
    installed_ns: int | None = None
    healed_ns: int | None = None
    evidence: dict[str, Any] = {}
    reason: str | None = None
    heal_problem: str | None = None


class EpisodeRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One repetition of an episode: *complete* if every step was done and every fault took hold."""

    episode: str
    repetition: int
    began_ns: int | None = None
    ended_ns: int | None = None
    term: int | None = None
    roles: dict[str, str] = {}
    complete: bool = False
    trouble: tuple[str, ...] = ()


class InjectionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was done, in order."""

    episodes: tuple[EpisodeRun, ...] = ()
    faults: tuple[Injected, ...] = ()
