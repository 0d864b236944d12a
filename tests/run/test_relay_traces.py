"""The nemesis as a run has it: orders are booked and told, times moved, and a broken machine let go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.run.ports import Failed
from harness.run.relay import Relay, RelayEffect, Remark
from nemesis.faults import Kill, Pause, Standing, Verification
from nemesis.ports import Happened, Heal, HealNow, Inject, Note, Probe
from targets.clock import MS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nemesis.ports import NemesisEffect, NemesisInput

    Replay = Callable[[str, Callable[[list[str]], list[str]]], None]

FAULTS: dict[str, type[Pause | Kill]] = {"pause": Pause, "kill": Kill}


class Told:
    """A machine that wants what the trace says next, and remembers what it was told."""

    def __init__(self) -> None:
        self.wants: list[NemesisEffect] = []
        self.wake_ns: int | None = None
        self.done = True
        self.broken = False
        self.heard: list[str] = []

    def step(self, event: NemesisInput, now_ns: int) -> Iterable[NemesisEffect]:
        if self.broken:
            raise RuntimeError("a bug in a plug-in")
        self.heard.append(f"{type(event).__name__} at {now_ns // MS}")
        wants, self.wants = self.wants, []
        return wants


def shown(effect: RelayEffect) -> str:
    match effect:
        case Remark(f, {"step": step} as value):
            roles = "".join(f" {node}={role}" for node, role in value.get("roles", {}).items())
            return f"[{f} {step}{roles}]"
        case Remark(f, value):
            return f"[{f} {value['text']}]"
        case Inject(number) | Heal(number):
            return f"{type(effect).__name__.upper()} {number}"
        case Probe(number, f, node):
            return f"PROBE {number} {f} {node}"
        case Failed(reason):
            return f"FAILED {reason}"
    raise AssertionError(effect)


def wanted(words: list[str]) -> NemesisEffect:
    match words:
        case ["inject", number, kind, *nodes]:
            return Inject(int(number), FAULTS[kind](tuple(nodes)))
        case ["heal", number, kind, *nodes]:
            return Heal(int(number), FAULTS[kind](tuple(nodes)))
        case ["probe", number, node]:
            return Probe(int(number), "read", node)
        case ["note", text]:
            return Note(text)
    raise AssertionError(words)


def play(commands: list[str]) -> list[str]:
    machine = Told()
    relay = Relay(machine, roles=lambda: {"n1": "leader", "n2": "follower"})
    now_ms, said = 0, []
    for line in commands:
        effects: Iterable[RelayEffect] = ()
        match line.split():
            case ["wants", *words]:
                machine.wants.append(wanted(words))
                continue
            case ["waits", time]:
                machine.wake_ns = int(time) * MS
                continue
            case ["breaks"]:
                machine.broken = True
                continue
            case ["at", time, *rest]:
                now_ms = int(time)
                effects = relay.wake(now_ms * MS) if not rest else relay.begin(now_ms * MS)
            case ["heal", "now"]:
                effects = relay.tell(HealNow(), now_ms * MS)
            case [number, "is", word, *healed]:
                verification = Verification(Standing(word))
                told = Happened(int(number), verification, healed=bool(healed))
                effects = relay.tell(told, now_ms * MS)
            case ["down", node]:
                said.append(f"{line}: {relay.down(node)}")
                continue
        did = " ".join(map(shown, effects)) or "nothing"
        heard, machine.heard = ", ".join(machine.heard) or "nothing", []
        wake = "-" if relay.wake_ns is None else str(relay.wake_ns // MS)
        state = f"wake {wake}, standing {sorted(relay.standing)}, {'busy' if relay.busy else 'idle'}"
        said.append(f"{line}: {did}  [heard {heard}; {state}]")
    return said


def test_orders_are_relayed_as_drawn(replay: Replay) -> None:
    replay("relay.txt", play)


def test_the_line_of_the_history_comes_before_its_order() -> None:
    machine: Any = Told()
    relay = Relay(machine, roles=dict)
    machine.wants = [Inject(1, Pause(("n1",)))]
    first, second = relay.begin(0)
    assert isinstance(first, Remark)
    assert isinstance(second, Inject)
