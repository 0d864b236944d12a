"""Gates and lanes against a plain server: what arrives, in which order, and how a connection ends."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import time
from typing import TYPE_CHECKING, Any

import pytest

from targets.cluster import CLIENTS, Delayed, Dropped, Held, Link, LinkState, Open
from targets.host import lanes
from targets.host.gate import Gate, Port
from targets.host.lanes import Lane
from targets.local.links import Links

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


class Server(asyncio.Protocol):
    """Keeps what it hears; says what it is told to."""

    def __init__(self, ends: list[Server]) -> None:
        ends.append(self)
        self.heard = b""
        self.lost = False
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.heard += data

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.lost = True


class Bench:
    """One gate in front of one server."""

    def __init__(self) -> None:
        self.forward, self.backward = Lane(), Lane()
        self.ends: list[Server] = []
        self.gate: Gate

    async def dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(*self.gate.address)


def on_bench(work: Callable[[Bench], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        bench = Bench()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Server(bench.ends), "127.0.0.1", 0)
        bench.gate = Gate(
            server.sockets[0].getsockname(),
            forward=bench.forward,
            backward=bench.backward,
            resets_with=(bench.forward, bench.backward),
        )
        bench.gate.set_up(up=True)
        try:
            await work(bench)
        finally:
            bench.gate.close()
            for end in bench.ends:
                end.transport.abort()
            server.close()
            await asyncio.sleep(0.01)
        assert not bench.gate.relays
        assert not bench.forward.pipes
        assert not bench.backward.pipes

    asyncio.run(run())


async def until(happened: Callable[[], object], within_s: float = 2.0) -> None:
    deadline = time.monotonic() + within_s
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.001)


def test_bytes_pass_both_ways_and_the_end_follows_them() -> None:
    async def work(bench: Bench) -> None:
        reader, writer = await bench.dial()
        writer.write(b"question")
        await until(lambda: bench.ends and bench.ends[0].heard == b"question")
        bench.ends[0].transport.write(b"answer")
        assert await reader.readexactly(6) == b"answer"
        writer.write(b"last words")
        writer.close()
        await until(lambda: bench.ends[0].lost)
        assert bench.ends[0].heard == b"questionlast words"
        await until(lambda: not bench.gate.relays)

    on_bench(work)


def test_a_server_that_leaves_takes_the_client_along_after_its_last_byte() -> None:
    async def work(bench: Bench) -> None:
        reader, writer = await bench.dial()
        await until(lambda: bench.ends)
        bench.ends[0].transport.write(b"bye")
        bench.ends[0].transport.close()
        assert await reader.read() == b"bye"
        writer.close()
        await until(lambda: not bench.gate.relays)

    on_bench(work)


def test_a_held_lane_keeps_bytes_and_the_end_and_delivers_both_in_order() -> None:
    async def work(bench: Bench) -> None:
        reader, writer = await bench.dial()
        writer.write(b"0")
        await until(lambda: bench.ends and bench.ends[0].heard)
        bench.forward.turn(Held())
        for number in range(1, 10):
            writer.write(str(number).encode())
            await asyncio.sleep(0.001)
        writer.close()
        await asyncio.sleep(0.05)
        assert bench.ends[0].heard == b"0"
        assert not bench.ends[0].lost
        bench.forward.turn(Open())
        await until(lambda: bench.ends[0].lost)
        assert bench.ends[0].heard == b"0123456789"
        del reader

    on_bench(work)


def test_holding_one_direction_leaves_the_other_alone() -> None:
    async def work(bench: Bench) -> None:
        reader, writer = await bench.dial()
        await until(lambda: bench.ends)
        bench.backward.turn(Held())
        writer.write(b"question")
        await until(lambda: bench.ends[0].heard == b"question")
        bench.ends[0].transport.write(b"answer")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(1), 0.05)
        bench.backward.turn(Open())
        assert await reader.readexactly(6) == b"answer"
        writer.close()

    on_bench(work)


def test_a_connection_made_while_held_reaches_the_far_side_only_afterwards() -> None:
    async def work(bench: Bench) -> None:
        bench.forward.turn(Held())
        _, writer = await bench.dial()
        writer.write(b"early")
        writer.close()
        await asyncio.sleep(0.05)
        assert not bench.ends
        bench.forward.turn(Open())
        await until(lambda: bench.ends and bench.ends[0].lost)
        assert bench.ends[0].heard == b"early"

    on_bench(work)


def test_what_a_held_lane_keeps_is_bounded_and_the_sender_feels_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lanes, "KEPT_MAX", 100_000)
    total = 20_000_000  # more than the kernel's buffers and ours together

    async def work(bench: Bench) -> None:
        _, writer = await bench.dial()
        await until(lambda: bench.ends)
        bench.forward.turn(Held())
        writer.write(b"v" * total)
        await asyncio.sleep(0.3)
        waiting = writer.transport.get_write_buffer_size()
        assert waiting > 1_000_000
        await asyncio.sleep(0.1)
        assert writer.transport.get_write_buffer_size() == waiting
        bench.forward.turn(Open())
        await until(lambda: len(bench.ends[0].heard) == total, 10.0)
        writer.close()

    on_bench(work)


def test_a_server_that_does_not_read_is_not_read_ahead_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "KEPT_MAX", 100_000)
    total = 20_000_000

    async def work(bench: Bench) -> None:
        _, writer = await bench.dial()
        await until(lambda: bench.ends)
        bench.ends[0].transport.pause_reading()
        writer.write(b"v" * total)
        await asyncio.sleep(0.2)
        assert writer.transport.get_write_buffer_size() > 1_000_000
        bench.ends[0].transport.resume_reading()
        await until(lambda: len(bench.ends[0].heard) == total, 10.0)
        writer.close()

    on_bench(work)


def test_a_dropped_lane_resets_connections_and_refuses_new_ones() -> None:
    async def work(bench: Bench) -> None:
        reader, writer = await bench.dial()
        await until(lambda: bench.ends)
        bench.forward.turn(Held())
        writer.write(b"lost for ever")
        await asyncio.sleep(0.01)
        bench.forward.turn(Dropped())
        with pytest.raises(ConnectionResetError):
            await reader.read(1)
        await until(lambda: bench.ends[0].lost)
        assert bench.ends[0].heard == b""
        with pytest.raises(ConnectionRefusedError):
            await bench.dial()
        bench.forward.turn(Open())
        _, writer = await bench.dial()
        writer.write(b"again")
        await until(lambda: len(bench.ends) == 2 and bench.ends[1].heard == b"again")
        writer.close()

    on_bench(work)


def test_a_connection_dropped_while_it_is_made_is_reset_too() -> None:
    async def work(bench: Bench) -> None:
        dialing = [asyncio.create_task(bench.dial()) for _ in range(20)]
        await asyncio.sleep(0.0005)
        bench.forward.turn(Dropped())
        for done in await asyncio.gather(*dialing, return_exceptions=True):
            if isinstance(done, tuple):
                with pytest.raises(ConnectionError):
                    await asyncio.wait_for(done[0].readexactly(1), 1)
                done[1].close()
        await until(lambda: all(end.lost for end in bench.ends))
        await until(lambda: not bench.gate.relays)

    on_bench(work)


def test_nobody_else_gets_the_port_of_a_gate_that_refuses() -> None:
    async def work(bench: Bench) -> None:
        bench.forward.turn(Dropped())
        with socket.socket() as thief, pytest.raises(OSError, match="in use"):
            thief.bind(bench.gate.address)
        await asyncio.sleep(0)

    on_bench(work)


def test_a_gate_without_a_node_behind_it_refuses() -> None:
    async def work(bench: Bench) -> None:
        bench.gate.set_up(up=False)
        with pytest.raises(ConnectionRefusedError):
            await bench.dial()
        bench.gate.set_up(up=True)
        _, writer = await bench.dial()
        await until(lambda: bench.ends)
        writer.close()

    on_bench(work)


def test_a_node_that_died_unseen_resets_its_dialers() -> None:
    async def run() -> None:
        port = Port()
        gate = Gate(port.address, forward=Lane(), backward=Lane(), resets_with=())
        gate.set_up(up=True)
        reader, writer = await asyncio.open_connection(*gate.address)
        with pytest.raises(ConnectionResetError):
            await reader.read(1)
        writer.close()
        gate.close()
        port.close()
        await asyncio.sleep(0.01)

    asyncio.run(run())


def test_a_delayed_lane_delivers_late_and_in_order() -> None:
    async def work(bench: Bench) -> None:
        _, writer = await bench.dial()
        await until(lambda: bench.ends)
        bench.forward.turn(Delayed(300_000_000))
        begun = time.monotonic()
        for number in range(10):
            writer.write(str(number).encode())
            await asyncio.sleep(0.002)
        await until(lambda: bench.ends[0].heard)
        assert 0.3 <= time.monotonic() - begun < 1.0
        await until(lambda: bench.ends[0].heard == b"0123456789")
        writer.close()
        await until(lambda: bench.ends[0].lost)

    on_bench(work)


@pytest.mark.parametrize("then", [Open(), Delayed(400_000_000)])
def test_leaving_a_hold_delivers_what_was_kept_at_once(then: LinkState) -> None:
    async def work(bench: Bench) -> None:
        _, writer = await bench.dial()
        await until(lambda: bench.ends)
        bench.forward.turn(Held())
        writer.write(b"kept")
        await asyncio.sleep(0.45)
        begun = time.monotonic()
        bench.forward.turn(then)
        await until(lambda: bench.ends[0].heard == b"kept")
        assert time.monotonic() - begun < 0.3
        writer.close()

    on_bench(work)


def test_a_hold_laid_over_a_delay_keeps_what_was_under_way() -> None:
    async def work(bench: Bench) -> None:
        _, writer = await bench.dial()
        await until(lambda: bench.ends)
        bench.forward.turn(Delayed(300_000_000))
        writer.write(b"slow")
        await asyncio.sleep(0.01)
        bench.forward.turn(Held())
        await asyncio.sleep(0.4)
        assert bench.ends[0].heard == b""
        bench.forward.turn(Open())
        await until(lambda: bench.ends[0].heard == b"slow")
        writer.close()

    on_bench(work)


class Echo(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.transport.write(data)


async def round_trip_s(address: tuple[str, int]) -> float:
    """Return the best of some medians: what it costs when nothing else wants the processor."""
    reader, writer = await asyncio.open_connection(*address)
    medians = []
    for _ in range(20):
        took = []
        for _ in range(25):
            begun = time.perf_counter()
            writer.write(b"x")
            await reader.readexactly(1)
            took.append(time.perf_counter() - begun)
        medians.append(sorted(took)[len(took) // 2])
    writer.close()
    return min(medians)


def test_an_open_gate_costs_less_than_a_tenth_of_a_millisecond() -> None:
    async def work(bench: Bench) -> None:
        server = await asyncio.get_running_loop().create_server(Echo, "127.0.0.1", 0)
        address = bench.gate.target = server.sockets[0].getsockname()
        added = await round_trip_s(bench.gate.address) - await round_trip_s(address)
        assert added < 2 * 0.0001, "there and back"
        server.close()
        await asyncio.sleep(0.01)

    on_bench(work)


def test_a_dropped_peer_link_leaves_the_connection_of_the_other_direction() -> None:
    async def run() -> None:
        ends: dict[str, list[Server]] = {"n1": [], "n2": []}
        loop = asyncio.get_running_loop()
        servers = {
            "n1": await loop.create_server(lambda: Server(ends["n1"]), "127.0.0.1", 0),
            "n2": await loop.create_server(lambda: Server(ends["n2"]), "127.0.0.1", 0),
        }
        addresses = {name: server.sockets[0].getsockname() for name, server in servers.items()}
        links = Links(
            ("n1", "n2"), one_way_dials=True, peer_addresses=addresses, client_addresses=addresses
        )
        for name in ends:
            links.set_up(name, up=True)
        n1_to_n2, n2_to_n1 = Link("n1", "n2"), Link("n2", "n1")
        _, of_n1 = await asyncio.open_connection(*links.peer_addresses("n1")["n2"])
        _, of_n2 = await asyncio.open_connection(*links.peer_addresses("n2")["n1"])
        await until(lambda: ends["n1"] and ends["n2"])
        links.turn(n1_to_n2, Dropped())
        assert (links.state(n1_to_n2), links.state(n2_to_n1)) == (Dropped(), Open())
        await until(lambda: ends["n2"][0].lost)
        of_n2.write(b"still here")
        await until(lambda: ends["n1"][0].heard == b"still here")
        with pytest.raises(ValueError, match="no link from 'n1' to 'n9'"):
            links.turn(Link("n1", "n9"), Open())
        links.turn(Link("n1", CLIENTS), Dropped())
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(*links.client_address("n1"))
        links.turn(n1_to_n2, Open())
        assert links.state(n1_to_n2) == Open()
        for writer in (of_n1, of_n2):
            writer.close()
        links.close()
        for server in servers.values():
            server.close()
        await asyncio.sleep(0.01)

    asyncio.run(run())


def test_what_is_closed_can_be_closed_again() -> None:
    async def work(bench: Bench) -> None:
        bench.gate.close()
        bench.gate.close()
        assert bench.forward.obedient == bench.backward.obedient == []

    on_bench(work)


def test_a_connection_that_was_accepted_as_the_gate_was_taken_down_is_not_left_open() -> None:
    """It is accepted in one turn of the loop and taken up in the next, before which the gate closes."""

    async def work(bench: Bench) -> None:
        loop = asyncio.get_running_loop()
        with socket.create_connection(bench.gate.address) as dialer:
            loop.call_soon(loop.call_soon, bench.gate.close)
            await asyncio.sleep(0.02)
            gc.collect()  # a socket left open warns, and a warning fails
            dialer.settimeout(2)
            with contextlib.suppress(ConnectionResetError):
                assert dialer.recv(1) == b""

    on_bench(work)
