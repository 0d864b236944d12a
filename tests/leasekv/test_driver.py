"""The driver's duties, in the order `targets.leasekv.ports` states them, against a core of wood."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from checker.evidence import Fact, Refused, Revoked
from targets.leasekv.driver import Driver
from targets.leasekv.messages import AppendReply, Op, PeerMessage, Request, Response
from targets.leasekv.ports import Asked, Input, Persist, Persisted, Ready, TimerDue
from targets.trueclock import Clocks, Stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Sequence

    from targets.clock import Reading

FAR_NS = 1 << 62


class Wooden:
    """A core that answers from a script: input to Ready."""

    def __init__(self, script: Callable[[Input], Ready]) -> None:
        self.wake_ns = FAR_NS
        self.script = script
        self.heard: list[Input] = []
        self.readings: list[Reading] = []

    def step(self, event: Input, reading: Reading) -> Ready:
        self.heard.append(event)
        self.readings.append(reading)
        return self.script(event)


class World:
    """Journal, disk and network in one list of what happened."""

    def __init__(self) -> None:
        self.happened: list[Any] = []
        self._facts: list[Fact] = []

    def add(self, facts: Iterable[Fact], stamp: Stamp) -> None:
        assert stamp.true_ns[0] <= stamp.true_ns[1]
        self._facts += facts

    def flush(self) -> None:
        self.happened += [("fact", fact) for fact in self._facts]
        self._facts = []

    def sync(self, batch: Sequence[Persist]) -> None:
        self.happened.append(("sync", [each.seq for each in batch]))

    def send(self, messages: Sequence[tuple[str, PeerMessage]]) -> None:
        self.happened.append(("send", [peer for peer, _ in messages]))

    def reply(self, replies: Sequence[tuple[int, Response]]) -> None:
        self.happened.append(("reply", [client for client, _ in replies]))


async def until(happened: Callable[[], object]) -> None:
    deadline = time.monotonic() + 10
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.001)


def true_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def drive(
    script: Callable[[Input], Ready],
    work: Callable[[Driver, Wooden, World], Coroutine[Any, Any, None]],
    *,
    pulse_ns: int = 5_000_000,
    clocks: type[Clocks] = Clocks,
) -> None:
    async def run() -> None:
        core, world = Wooden(script), World()
        driver = Driver(
            core,
            asyncio.get_running_loop(),
            clocks=clocks(true_ns),
            journal=world,
            disk=world,
            network=world,
            pulse_ns=pulse_ns,
        )
        await work(driver, core, world)
        driver.stop()

    asyncio.run(run())


def asked(number: int) -> Asked:
    return Asked(number, Request(number, Op.WRITE, "x", number))


def busy(event: Input) -> Ready:
    """Want everything at once."""
    match event:
        case Asked(client):
            return Ready(
                (Revoked(1, "term"),),
                Persist(client, None, ()),
                (("n2", AppendReply(1, 1, ok=True, match_index=1)),),
                ((client, Response(client)),),
            )
        case Persisted(seq):
            return Ready((Refused(1, "durable"),), None, (), ((seq, Response(seq)),))
        case _:
            return Ready()


def test_facts_are_written_before_anything_that_rests_on_them_goes_out() -> None:
    async def work(driver: Driver, _core: Wooden, world: World) -> None:
        driver.feed(asked(1))
        assert world.happened == [], "the end of the turn does it"
        await asyncio.sleep(0.01)
        assert world.happened == [
            ("fact", Revoked(1, "term")),
            ("send", ["n2"]),
            ("reply", [1]),
            ("sync", [1]),
            ("fact", Refused(1, "durable")),
            ("reply", [1]),
        ]

    drive(busy, work)


def test_a_turn_makes_one_sync_of_all_its_steps_and_says_so_once() -> None:
    async def work(driver: Driver, core: Wooden, world: World) -> None:
        for number in (1, 2, 3):
            driver.feed(asked(number))
        await asyncio.sleep(0.01)
        assert [what for what in world.happened if what[0] == "sync"] == [("sync", [1, 2, 3])]
        assert [event for event in core.heard if isinstance(event, Persisted)] == [Persisted(3)]

    drive(busy, work)


def test_a_slow_disk_delays_what_waits_for_it_and_nothing_else() -> None:
    async def work(driver: Driver, core: Wooden, world: World) -> None:
        driver.set_sync_delay(400_000_000)
        driver.feed(asked(1))
        await asyncio.sleep(0.01)
        driver.feed(asked(2))
        await asyncio.sleep(0.01)
        assert ("reply", [2]) in world.happened, "replies that wait for nothing go out"
        assert not any(isinstance(event, Persisted) for event in core.heard)
        await until(lambda: Persisted(2) in core.heard)
        assert [what for what in world.happened if what[0] == "sync"] == [("sync", [1, 2])]

    drive(busy, work)


def test_a_stuck_sync_ends_when_its_delay_is_taken_back_and_not_when_it_grows() -> None:
    async def work(driver: Driver, core: Wooden, world: World) -> None:
        driver.set_sync_delay(3_600_000_000_000)
        driver.feed(asked(1))
        await asyncio.sleep(0.05)
        driver.set_sync_delay(7_200_000_000_000)
        driver.feed(asked(2))
        await asyncio.sleep(0.05)
        assert not any(isinstance(event, Persisted) for event in core.heard)
        driver.set_sync_delay(0)
        await until(lambda: Persisted(2) in core.heard)
        assert [what for what in world.happened if what[0] == "sync"] == [("sync", [1, 2])]
        driver.feed(asked(3))
        await until(lambda: Persisted(3) in core.heard)

    drive(busy, work)


def test_what_comes_during_a_sync_waits_for_the_next_one() -> None:
    def endless(event: Input) -> Ready:
        return (
            Ready((), Persist(event.seq + 1, None, ()))
            if isinstance(event, Persisted) and event.seq < 3
            else busy(event)
        )

    async def work(driver: Driver, _core: Wooden, world: World) -> None:
        driver.feed(asked(1))
        await asyncio.sleep(0.01)
        assert [what[1] for what in world.happened if what[0] == "sync"] == [[1], [2], [3]]

    drive(endless, work)


def test_a_timer_is_fed_when_its_instant_has_come_and_not_before() -> None:
    async def work(driver: Driver, core: Wooden, _world: World) -> None:
        def rest(event: Input) -> Ready:
            if isinstance(event, TimerDue):
                core.wake_ns = FAR_NS
            return Ready()

        core.script = rest
        core.wake_ns = due_ns = time.monotonic_ns() + 50_000_000
        driver.feed(asked(1))
        await until(lambda: TimerDue() in core.heard)
        await asyncio.sleep(0.02)
        assert core.heard.count(TimerDue()) == 1
        assert core.readings[core.heard.index(TimerDue())].mono_ns >= due_ns

    drive(busy, work)


def test_a_wake_up_that_moves_nearer_is_not_slept_through() -> None:
    async def work(driver: Driver, core: Wooden, _world: World) -> None:
        driver.start()
        await asyncio.sleep(0.001)
        core.wake_ns = time.monotonic_ns() + 500_000
        driver.feed(asked(1))
        await until(lambda: core.heard.count(TimerDue()) >= 2)

    drive(busy, work, pulse_ns=60_000_000_000)


def test_a_far_wake_up_is_not_waited_for_in_one_go() -> None:
    async def work(driver: Driver, core: Wooden, _world: World) -> None:
        driver.start()
        await asyncio.sleep(0.001)
        core.wake_ns = 0  # as if the node's clock had run while the kernel waited
        await until(lambda: core.heard.count(TimerDue()) >= 2)

    drive(busy, work)


def test_a_core_that_always_wants_to_wake_does_not_starve_the_loop() -> None:
    async def work(driver: Driver, core: Wooden, _world: World) -> None:
        core.wake_ns = 0
        driver.start()
        turns = 0
        deadline = time.monotonic() + 0.05
        while time.monotonic() < deadline:
            await asyncio.sleep(0)
            turns += 1
        assert core.heard.count(TimerDue()) < 300
        assert turns > core.heard.count(TimerDue())

    drive(busy, work)


class Standing(Clocks):
    """Clocks on which it is always the same instant."""

    def mono_ns(self) -> int:
        return 1_000


def test_a_timer_is_due_by_the_clocks_that_were_handed_in() -> None:
    async def work(driver: Driver, core: Wooden, _world: World) -> None:
        core.wake_ns = 1_001
        driver.feed(asked(1))
        await asyncio.sleep(0.05)
        assert core.heard == [asked(1)]
        core.wake_ns = 1_000
        await until(lambda: TimerDue() in core.heard)

    drive(lambda _event: Ready(), work, clocks=Standing)


def test_what_arrived_while_the_node_stood_still_is_stepped_before_the_timer_that_came_due() -> None:
    async def work(driver: Driver, core: Wooden, _world: World) -> None:
        class Reader(asyncio.Protocol):
            def data_received(self, data: bytes) -> None:
                if data == b"\x01":
                    heard.set()
                else:
                    driver.feed(asked(data[0]))

        heard = asyncio.Event()

        loop = asyncio.get_running_loop()
        server = await loop.create_server(Reader, "127.0.0.1", 0)
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"\x01")
        await heard.wait()
        driver.start()
        await until(lambda: core.heard)
        core.heard.clear()
        core.wake_ns = time.monotonic_ns() + 20_000_000
        writer.write(b"\x07")
        time.sleep(0.05)  # noqa: ASYNC251 - the whole process stands still, as under SIGSTOP
        await until(lambda: len(core.heard) >= 3)
        assert core.heard[:3] == [asked(7), Persisted(7), TimerDue()]
        writer.close()
        server.close()

    drive(busy, work)


STOPPED = """
import asyncio, socket, sys, time
from targets.trueclock import Clocks
from targets.leasekv.driver import Driver
from targets.leasekv.ports import Asked, Ready, TimerDue

class Core:
    wake_ns = 0
    def step(self, event, reading):
        gap_ns = reading.mono_ns - self.wake_ns
        self.wake_ns = reading.mono_ns + 5_000_000
        if gap_ns > 200_000_000:
            print(type(event).__name__, flush=True)
        return Ready()

class Nothing:
    def add(self, facts, stamp): pass
    def flush(self): pass

class Reader(asyncio.Protocol):
    def data_received(self, data): driver.feed(Asked(1, None))

async def main():
    global driver
    core, loop = Core(), asyncio.get_running_loop()
    core.wake_ns = time.monotonic_ns()
    clocks = Clocks(lambda: time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW))
    wood = {"journal": Nothing(), "disk": None, "network": None}
    driver = Driver(core, loop, clocks=clocks, pulse_ns=5_000_000, **wood)
    driver.start()
    await loop.create_connection(Reader, sock=socket.socket(fileno=int(sys.argv[1])))
    print("ready", flush=True)
    await asyncio.sleep(30)

asyncio.run(main())
"""


def test_the_same_holds_for_a_process_that_was_stopped() -> None:
    ours, its = socket.socketpair()
    command = [sys.executable, "-c", STOPPED, str(its.fileno())]
    with (
        ours,
        its,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, pass_fds=[its.fileno()]) as process,
    ):
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.05)
            os.kill(process.pid, signal.SIGSTOP)
            time.sleep(0.3)
            ours.send(b"x")
            os.kill(process.pid, signal.SIGCONT)
            assert process.stdout.readline() == "Asked\n"
        finally:
            process.kill()


def test_a_disk_that_fails_is_heard_of_and_nothing_more_goes_out() -> None:
    async def work(driver: Driver, core: Wooden, world: World) -> None:
        failures: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: failures.append(context))

        def fail(batch: Sequence[Persist]) -> None:
            raise OSError(28, "No space left on device", batch)

        world.sync = fail  # type: ignore[method-assign]
        driver.feed(asked(1))
        await asyncio.sleep(0.01)
        assert isinstance(failures[0]["exception"], OSError)
        assert not any(isinstance(event, Persisted) for event in core.heard)

    drive(busy, work)


@pytest.mark.parametrize("number", [1, 200])
def test_each_input_has_a_reading_of_its_own(number: int) -> None:
    async def work(driver: Driver, core: Wooden, _world: World) -> None:
        for each in range(number):
            driver.feed(asked(each + 1))
        await asyncio.sleep(0)
        stamps = [reading.mono_ns for reading in core.readings]
        assert stamps == sorted(stamps)
        assert len(set(stamps)) == len(stamps)

    drive(busy, work)
