"""Trace tests: a few cores on a desk, nothing moves unless a line of the script says so.

A script is blocks separated by blank lines; a block is commands, ``----`` and what came of them::

    nodes n1 n2 n3 policy=readindex   a fresh desk (words after the nodes are NodeConfig fields)
    tick 100                          100 ms pass; timers that come due are fed
    jump n1 wall=-300 mono=400        a clock moves by ms without the core being run
    deliver [n1 n2]                   what is on its way now arrives (on that link only)
    drop [n1 n2]                      what is on its way now is lost
    sync [n1]                         disks finish what they were given
    settle                            deliver and sync until nothing moves
    request n1 write x 1              a client asks (read, write, cas, delete; cas x 1 2; read x log)
    campaign n1   applies n1 50       knobs
    handover n1 n2                    an operator has n1 transfer leadership to n2
    time n1 -5 5                      its time service says that it is between 5 ms ago and in 5 ms
    reconfigure n1 n1,n2,n4 n5        ... go over to these voters (and these learners)
    status                            what every node knows of itself
    quiet COMMAND                     the same without a word
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import msgspec

from checker.events import ReadPath
from targets.clock import MS, Reading
from targets.leasekv.config import NodeConfig, build_rules
from targets.leasekv.core import Core
from targets.leasekv.messages import Op, PeerMessage, Request
from targets.leasekv.moments import Sync
from targets.leasekv.ports import (
    Asked,
    CampaignNow,
    HandOver,
    Input,
    Persisted,
    Ready,
    Received,
    Reconfigure,
    Restored,
    SetApplyDelay,
    TimerDue,
    TimeTold,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LISTS = {"mistakes", "rules_off", "voters"}


class Desk:
    """The cores, what is on its way and what is being written; `play` carries a command out."""

    def __init__(self) -> None:
        self._cores: dict[str, Core] = {}
        self._clocks: dict[str, Reading] = {}
        self._way: list[tuple[str, str, PeerMessage]] = []
        self._writing: dict[str, int] = {}
        self._out: list[str] = []
        self._asked = 0
        self._passed_ns = 0

    def play(self, command: str) -> list[str]:
        """Do one command; return what was said."""
        name, *words = command.removeprefix("quiet ").split()
        self._out = []
        act: Callable[..., None] = getattr(self, f"_do_{name}")
        act(*words)
        return [] if command.startswith("quiet ") else self._out

    # Commands.

    def _do_nodes(self, *words: str) -> None:
        for kept in (self._cores, self._clocks, self._writing):
            kept.clear()
        self._way.clear()
        names = tuple(word for word in words if "=" not in word)
        fields: dict[str, Any] = {"election_jitter_ns": 0}
        for word in words:
            if "=" in word:
                field, value = word.split("=")
                if field in {"compact_entries", "trail_entries"}:
                    fields.setdefault("limits", {})[field] = value
                else:
                    fields[field] = value.split(",") if field in LISTS else value
        for name in names:
            config = msgspec.convert({"node": name, "nodes": names, **fields}, NodeConfig, strict=False)
            self._clocks[name] = Reading(0, 0)
            self._cores[name] = Core(
                config, build_rules(config), Restored(), Random(name), self._clocks[name]
            )

    def _do_tick(self, ms: str) -> None:
        left_ns = int(ms) * MS
        while True:
            waits = {
                name: max(0, core.wake_ns - self._clocks[name].mono_ns)
                for name, core in self._cores.items()
            }
            name = min(waits, key=lambda name: waits[name])
            step_ns = min(left_ns, waits[name])
            self._pass(step_ns)
            left_ns -= step_ns
            if self._cores[name].wake_ns > self._clocks[name].mono_ns:
                return
            self._feed(name, TimerDue())

    def _pass(self, duration_ns: int) -> None:
        self._passed_ns += duration_ns
        for name, clock in self._clocks.items():
            self._clocks[name] = Reading(clock.mono_ns + duration_ns, clock.wall_ns + duration_ns)

    def _do_jump(self, name: str, *words: str) -> None:
        by = {"wall": 0, "mono": 0, **{k: int(v) * MS for k, v in (word.split("=") for word in words)}}
        clock = self._clocks[name]
        self._clocks[name] = Reading(clock.mono_ns + by["mono"], clock.wall_ns + by["wall"])

    def _take(self, link: tuple[str, ...]) -> list[tuple[str, str, PeerMessage]]:
        taken = [item for item in self._way if not link or item[:2] == link]
        self._way = [item for item in self._way if link and item[:2] != link]
        return taken

    def _do_deliver(self, *link: str) -> None:
        for source, target, message in self._take(link):
            self._feed(target, Received(source, message))

    def _do_drop(self, *link: str) -> None:
        self._out.append(f"lost {len(self._take(link))}")

    def _do_sync(self, *names: str) -> None:
        for name in names or tuple(self._writing):
            if name in self._writing:
                self._feed(name, Persisted(self._writing.pop(name)))

    def _do_settle(self) -> None:
        while self._way or self._writing:
            self._do_sync()
            self._do_deliver()

    def _do_request(self, name: str, op: str, key: str, *values: str) -> None:
        self._asked += 1
        path = ReadPath(values[0]) if op == "read" and values else None
        numbers = [] if path else [int(value) for value in values]
        value = numbers[0] if len(numbers) == 1 else tuple(numbers) or None
        self._feed(name, Asked(self._asked, Request(self._asked, Op(op), key, value, path)))

    def _do_campaign(self, name: str) -> None:
        self._feed(name, CampaignNow())

    def _do_handover(self, name: str, target: str) -> None:
        self._feed(name, HandOver(target))

    def _do_time(self, name: str, early_ms: str, late_ms: str) -> None:
        reading = self._clocks[name]
        true_ns = self._passed_ns
        self._feed(
            name, TimeTold(Sync(reading, true_ns + int(early_ms) * MS, true_ns + int(late_ms) * MS))
        )

    def _do_reconfigure(self, name: str, voters: str, learners: str = "") -> None:
        learning = tuple(learners.split(",")) if learners else ()
        self._feed(name, Reconfigure(tuple(voters.split(",")), learning))

    def _do_applies(self, name: str, ms: str) -> None:
        self._feed(name, SetApplyDelay(int(ms) * MS))

    def _do_status(self) -> None:
        for name, core in self._cores.items():
            s = core.status(self._clocks[name])
            lease = "none" if s.lease_remaining_ns is None else f"{s.lease_remaining_ns / MS:.1f}ms"
            self._out.append(
                f"{name} {s.role} term={s.term} leader={s.leader} commit={s.commit_index} "
                f"applied={s.applied_index} lease={lease}"
            )

    # What is said.

    def _feed(self, name: str, event: Input) -> None:
        ready = self._cores[name].step(event, self._clocks[name])
        if ready.persist is not None:
            self._writing[name] = ready.persist.seq
        self._way.extend((name, peer, message) for peer, message in ready.messages)
        said = list(_lines(ready))
        if said:
            self._out.append(f"{name} {_event(event)}")
            self._out.extend(f"  {line}" for line in said)


def _event(event: Input) -> str:
    match event:
        case Received(peer, message):
            return f"hears {peer}: {_value(message)}"
        case Asked(client, request):
            return f"is asked by {client}: {_value(request)}"
        case _:
            return _value(event)


def _lines(ready: Ready) -> Iterator[str]:
    for fact in ready.facts:
        yield f"fact {_value(fact)}"
    if ready.persist is not None:
        yield f"store {_value(ready.persist)}"
    for peer, message in ready.messages:
        yield f"to {peer}: {_value(message)}"
    for client, response in ready.replies:
        yield f"answer {client}: {_value(response)}"


def _value(value: Any) -> str:
    """A value in a few words: its type and the fields that are not their default."""
    if isinstance(value, msgspec.Struct):
        words = [
            f"{field.name.removesuffix('_ns')}={_field(field.name, getattr(value, field.name))}"
            for field in msgspec.structs.fields(value)
            if getattr(value, field.name) not in (field.default, None, ())
        ]
        return " ".join([type(value).__name__, *words])
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    return str(value)


def _field(name: str, value: Any) -> str:
    if name.endswith("_ns") and isinstance(value, int):
        return f"{value / MS:.1f}ms"
    return f"({_value(value)})" if isinstance(value, msgspec.Struct) else _value(value)
