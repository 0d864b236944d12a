"""Histories for the benchmark: simulated clients against a register that is correct, or wrong once.

Every operation takes effect at one random instant of its interval, so the history is linearizable by
construction. An operation of unknown end takes effect with probability one half, and then in three
cases of ten only after its client gave up. ``stale`` gives one read at 90 % of the history a value that
was certainly overwritten before the read began.
"""

from __future__ import annotations

import heapq
import itertools
import json
import random
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LATENCY_NS = 1_000_000
THINK_NS = 200_000
DUPLICATES = 5


@dataclass(frozen=True)
class Shape:
    """What is varied: size, clients, keys, the share of unknown ends, the mix, one stale read."""

    operations: int
    clients: int
    keys: int
    unknown: float
    mix: str
    stale: bool
    seed: int = 1

    def __str__(self) -> str:
        kind = "stale" if self.stale else "ok"
        size = f"{self.operations} ops {self.clients} cl {self.keys} keys"
        return f"{self.mix} {size} {self.unknown:.0%} {kind}"


@dataclass
class Op:
    """One operation of the simulation; ``old`` of a cas is learnt at its call."""

    client: int
    key: int
    f: str
    value: Any
    call: int
    back: int
    unknown: bool
    outcome: str = "ok"
    effects: list[int] = field(default_factory=list)


def simulate(shape: Shape) -> list[Op]:
    """Return the operations of ``shape`` in the order in which they were called."""
    rng = random.Random(f"{shape}/{shape.seed}")
    sequence = itertools.count()
    held: list[Any] = [None] * shape.keys
    heap: list[tuple[int, int, int, Op | None]] = [
        (rng.randint(0, LATENCY_NS), next(sequence), client, None) for client in range(shape.clients)
    ]
    heapq.heapify(heap)
    ops: list[Op] = []
    fresh = itertools.count(1)
    while heap:
        now, _, client, op = heapq.heappop(heap)
        if op is not None:
            _take_effect(op, held)
        elif len(ops) < shape.operations:
            op = _issue(shape, rng, held, fresh, client, now)
            ops.append(op)
            instant = rng.randint(op.call, op.back)
            if op.unknown and rng.random() < 0.3:
                instant = op.back + int(rng.expovariate(1 / LATENCY_NS))
            if not op.unknown or rng.random() < 0.5:
                heapq.heappush(heap, (instant, next(sequence), client, op))
            think = int(rng.expovariate(1 / THINK_NS)) + 1
            heapq.heappush(heap, (op.back + think, next(sequence), client, None))
    if shape.stale:
        _make_stale(ops)
    return ops


def _issue(
    shape: Shape, rng: random.Random, held: list[Any], fresh: itertools.count[int], client: int, now: int
) -> Op:
    key, draw = rng.randrange(shape.keys), rng.random()
    writes, reads = {"rw": (0.5, 0.5), "rwc": (0.3, 0.4), "dup5": (0.33, 0.34)}[shape.mix]
    f = "read" if draw < reads else "write" if draw < reads + writes else "cas"
    value: Any = None
    if shape.mix == "dup5":
        value = (
            [rng.randrange(DUPLICATES), rng.randrange(DUPLICATES)]
            if f == "cas"
            else rng.randrange(DUPLICATES)
        )
    elif f == "write":
        value = next(fresh)
    elif f == "cas":
        value = [held[key] if rng.random() < 0.8 else None, next(fresh)]
    back = now + int(rng.expovariate(1 / LATENCY_NS)) + 2
    unknown = f != "read" and rng.random() < shape.unknown
    return Op(
        client, key, f, None if f == "read" else value, now, back, unknown, "info" if unknown else "ok"
    )


def _take_effect(op: Op, held: list[Any]) -> None:
    if op.f == "read":
        op.value = held[op.key]
    elif op.f == "write":
        held[op.key] = op.value
    elif held[op.key] == op.value[0]:
        held[op.key] = op.value[1]
    elif not op.unknown:
        op.outcome = "fail"


def _make_stale(ops: list[Op]) -> None:
    """Give a late read the value of a write that another certain write certainly followed."""
    for read in ops[int(len(ops) * 0.9) :]:
        if read.f != "read":
            continue
        done = [
            op
            for op in ops[: ops.index(read)]
            if op.key == read.key and op.f == "write" and not op.unknown and op.back < read.call
        ]
        done.sort(key=lambda op: op.back)
        overwritten = [op for op in done[-20:] if any(op.back < later.call for later in done[-20:])]
        if overwritten:
            read.value = overwritten[0].value
            return


def write(shape: Shape, path: Path) -> None:
    """Write the history of ``shape`` as JSON lines."""
    ops = simulate(shape)
    events: list[tuple[int, int, str]] = []
    processes = itertools.count(shape.clients)
    number = list(range(shape.clients))
    for at, op in enumerate(ops):
        process = number[op.client]
        if op.unknown:
            number[op.client] = next(processes)
        told = {"process": process, "f": op.f, "key": op.key}
        asked = None if op.f == "read" else op.value
        events.append(
            (op.call, at, json.dumps({**told, "type": "invoke", "value": asked, "time_ns": op.call}))
        )
        if not op.unknown:
            more = {"error": "MISMATCH"} if op.outcome == "fail" else {}
            line = {**told, "type": op.outcome, "value": op.value, "time_ns": op.back, **more}
            events.append((op.back, at, json.dumps(line)))
    events.sort(key=lambda event: event[0])
    with path.open("w") as file:
        file.write(json.dumps({"schema": 1, "kind": "lantern-history", "model": "cas-register"}) + "\n")
        file.writelines(line + "\n" for _, _, line in events)


def write_apart(shape: Shape, path: Path) -> None:
    """Write the history in a process of its own: a child's peak memory begins with its parent's."""
    stale = "stale" if shape.stale else "ok"
    told = [shape.operations, shape.clients, shape.keys, shape.unknown, shape.mix, stale, path]
    subprocess.run([sys.executable, __file__, *map(str, told)], check=True)


if __name__ == "__main__":
    operations, clients, keys, unknown, mix, stale, out = sys.argv[1:]
    shape = Shape(int(operations), int(clients), int(keys), float(unknown), mix, stale == "stale")
    write(shape, Path(out))
