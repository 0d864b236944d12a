"""The phases of a run, a drawn case at a time: what ends each, and what is begun with the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.run.phases import Phases
from harness.run.ports import Failed, Finished, Timing
from nemesis.faults import Pause
from targets.clock import SECOND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Replay = Callable[[str, Callable[[list[str]], list[str]]], None]

TIMING = Timing(
    load_ns=20 * SECOND,
    ready_max_ns=5 * SECOND,
    heal_max_ns=6 * SECOND,
    settle_min_ns=SECOND,
    settle_max_ns=7 * SECOND,
    drain_max_ns=2 * SECOND,
    final_max_ns=4 * SECOND,
)


class Parts:
    """Every part that phases go by: it is as the trace says, and says what it is asked to do."""

    def __init__(self) -> None:
        self.healed_ns: int | None = None
        self.told: list[str] = []
        self.agrees = self.busy = self.well = False
        self.taking_part = ("n1", "n2", "n3")
        self.open_operations = self.owed = self.unread = 0
        self.silent: frozenset[str] = frozenset()
        self.unseen: tuple[str, ...] = ()
        self.standing: dict[int, Any] = {}

    def agreed(self, *, since_ns: int) -> bool:
        return self.agrees and since_ns == 0

    def healed(self, _now_ns: int) -> None:
        self.told.append("healed")

    def settled(self, _now_ns: int, *, least_ns: int) -> bool:
        return self.well and least_ns == SECOND

    def open(self, _now_ns: int) -> None:
        self.told.append("workload")

    def rest(self) -> None:
        self.told.append("rest")

    def renew(self) -> None:
        self.told.append("renew")

    def read_back(self, nodes: Any, _now_ns: int) -> None:
        self.told.append(f"read back at {len(nodes)}")

    def go_on(self, _now_ns: int) -> Iterator[Any]:
        self.told.append("go on")
        return iter(())

    def begin(self, _now_ns: int) -> Iterator[Any]:
        self.told.append("nemesis")
        return iter(())

    def tell(self, told: Any, _now_ns: int) -> Iterator[Any]:
        self.told.append(type(told).__name__)
        return iter(())


class Flight:
    """The recorder, as far as phases look at it."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    @property
    def open(self) -> int:
        return self._parts.open_operations


def shown(effect: Any) -> str:
    match effect:
        case Failed(reason):
            return f"FAILED {reason}"
        case Finished():
            return "finished"
    raise AssertionError(effect)


def play(commands: list[str]) -> list[str]:
    parts: Any = Parts()
    flight: Any = Flight(parts)
    phases = Phases(
        TIMING,
        supply=parts,
        seats=parts,
        relay=parts,
        recovery=parts,
        recorder=flight,
    )
    now_ns, said = 0, []
    phases.begin(0)
    for line in commands:
        effects: Iterable[Any] = ()
        match line.split():
            case ["in", "flight", many]:
                parts.open_operations = int(many)
            case ["owed", many]:
                parts.owed = int(many)
            case ["unread", many]:
                parts.unread = int(many)
            case ["standing", *numbers]:
                parts.standing = {int(number): Pause(("n1",)) for number in numbers}
            case ["shorten"]:
                effects = [*phases.shorten(now_ns), *phases.advance(now_ns)]
            case ["at", time]:
                now_ns = int(float(time) * SECOND)
                effects = list(phases.advance(now_ns))
            case words:
                setattr(parts, words[-1], len(words) == 1)
        did = "; ".join([*parts.told, *map(shown, effects)]) or "nothing"
        parts.told = []
        assert phases.until_ns is not None
        said.append(f"{line}: {did}  [{phases.phase.value} until {phases.until_ns / SECOND:g}]")
    return [*said, f"unsettled {phases.unsettled}, unread {phases.unread}"]


def test_phases_follow_each_other_as_drawn(replay: Replay) -> None:
    replay("phases.txt", play)
