"""The client seats, a drawn case at a time: who goes on, how operations end, and who comes after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from checker.events import EventType
from harness.plan.script import Scripted
from harness.run.ports import AddEvent, Failed, ForProcess
from harness.run.recorder import Recorder
from harness.run.script import Script
from harness.run.seats import Ended, SeatEffect, Seats
from harness.run.supply import Supply
from nemesis.ports import Probe
from targets.clock import MS
from targets.leasekv.messages import Request, Response
from targets.leasekv.speech import LeaseKvSpeech
from targets.request import RequestSession
from targets.session import Answered, Close, Open, Opened, SessionInput, Transmit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Replay = Callable[[str, Callable[[list[str]], list[str]]], None]

NODES = ("n1", "n2")


class Listed(Script):
    """A listed workload that also names keys to read back, and that may break."""

    broken = False

    def next(self, slot: int, now_ns: int) -> Any:
        if self.broken:
            raise RuntimeError("a bug in a plug-in")
        return super().next(slot, now_ns)


def session() -> RequestSession:
    return RequestSession(LeaseKvSpeech(), read_timeout_ns=100 * MS, write_timeout_ns=300 * MS)


def listed(words: str) -> Scripted:
    at, seat, f, key, node, *value = words.split()
    given = int(value[0]) if value else None
    return Scripted(at_ns=int(at) * MS, seat=int(seat), f=f, key=key, node=node, value=given)  # type: ignore[arg-type]


def shown(effect: SeatEffect) -> str:
    match effect:
        case AddEvent(line):
            words = [f"p{line.process}", line.type.value, line.f, line.key, str(line.value)]
            return " ".join([*words, *([f"({line.error})"] if line.error else [])])
        case ForProcess(process, Open(node)):
            return f"p{process} dials {node}"
        case ForProcess(process, Transmit(Request(number))):
            return f"p{process} sends #{number}"
        case ForProcess(process, Close()):
            return f"p{process} leaves"
        case Ended(told):
            by = "" if told.probe is None else f" probe {told.probe}"
            return f"ended{by} {told.f} {told.type.value}"
        case Failed(reason):
            return f"FAILED {reason}"
    raise AssertionError(effect)


def told_by(words: list[str]) -> SessionInput:
    match words:
        case ["opened"]:
            return Opened()
        case ["answer", number]:
            return Answered(Response(int(number), value=7))
        case ["garbage"]:
            return Answered(None)
    raise AssertionError(words)


def play(commands: list[str]) -> list[str]:
    first = commands.index("open")
    script = Listed([listed(line) for line in commands[:first]])
    supply = Supply(script)
    recorder = Recorder()
    seats = Seats(supply, session=session, recorder=recorder)
    now_ms, said = 0, []
    for line in commands[first:]:
        effects: Iterable[SeatEffect] = ()
        match line.split():
            case ["open"]:
                supply.open(now_ms * MS)
                seats.renew()
            case ["rest"]:
                supply.rest()
                seats.renew()
            case ["break"]:
                script.broken = True
            case ["read", "back", *keys]:
                script.keys.extend(keys)
                supply.read_back(NODES, now_ms * MS)
                effects = seats.go_on(now_ms * MS)
            case ["at", time]:
                now_ms = int(time)
                effects = seats.wake(now_ms * MS)
            case ["probe", number, f, node]:
                effects = seats.probe(Probe(int(number), f, node), now_ms * MS)
            case [process, *words]:
                effects = seats.tell(int(process.removeprefix("p")), told_by(words), now_ms * MS)
        did = "; ".join(map(shown, effects)) or "nothing"
        wake = "-" if seats.wake_ns is None or seats.wake_ns >= 1 << 60 else str(seats.wake_ns // MS)
        said.append(f"{line}: {did}  [wake {wake}]")
    return said


def test_seats_go_on_as_drawn(replay: Replay) -> None:
    replay("seats.txt", play)


def test_an_ended_operation_is_told_before_its_seat_goes_on() -> None:
    script = Script([listed("0 0 write x n1 1"), listed("0 0 write x n1 2")])
    supply, recorder = Supply(script), Recorder()
    seats = Seats(supply, session=session, recorder=recorder)
    supply.open(0)
    seats.renew()
    list(seats.wake(0))
    list(seats.tell(0, Opened(), 0))
    effects = seats.tell(0, Answered(Response(1)), 0)
    ended = next(effect for effect in effects if isinstance(effect, Ended))
    assert ended.completed.type is EventType.OK
    assert recorder.open == 0, "what is done about the end comes before the next operation"
    list(effects)
    assert recorder.open == 1
