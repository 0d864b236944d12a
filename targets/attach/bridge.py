"""Between the harness, which speaks in messages, and somebody's client, which is coroutines.

A node's bridge listens on loopback. A connection to it is one process's: it has a client of its own,
connected to the node when the first operation comes, and answers each `Call` with a `Completion`. When
the harness drops the connection, as it does with every overdue answer, the client's coroutine is
cancelled and the client closed; nothing it may still say is heard. What a client raises is its answer;
what breaks in here is none: it fails the run.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Final

import msgspec

from checker.events import MISMATCH, EventType
from targets.cluster import TargetError
from targets.request import UNEXPECTED, RequestSession, unknown
from targets.session import Call, Completion

from .calling import Raised, call, made
from .client import Definite
from .words import shown

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from targets.cluster import Address

    from .client import Client

LINE_MAX: Final = 1 << 20
CLOSE_S: Final = 1.0

log = logging.getLogger(__name__)

_calls: Final = msgspec.json.Decoder(Call)
_completions: Final = msgspec.json.Decoder(Completion)


class BridgeSpeech:
    """See `targets.request.Speech`: calls go as they are, completions come back as they are."""

    def ask(self, call: Call, number: int) -> Call:
        """Return the call."""
        del number
        return call

    def number(self, answer: Completion) -> None:
        """Outcomes come in order."""

    def heard(self, call: Call, answer: Completion) -> Completion:
        """Return the completion."""
        del call
        return answer


class LineReader:
    """Bytes of one connection in, completions out."""

    def __init__(self) -> None:
        self._kept = b""

    def feed(self, data: bytes) -> list[Completion]:
        """Return whole completions."""
        *lines, self._kept = (self._kept + data).split(b"\n")
        return [_completions.decode(line) for line in lines]


class BridgeClient:
    """What the harness needs to be a client; see `targets.session.Client`."""

    def __init__(self, *, timeout_ns: int) -> None:
        self._timeout_ns = timeout_ns

    def session(self) -> RequestSession:
        """Return the client of a new process."""
        return RequestSession(
            BridgeSpeech(), read_timeout_ns=self._timeout_ns, write_timeout_ns=self._timeout_ns
        )

    def reader(self) -> LineReader:
        """Return what reads one connection."""
        return LineReader()

    def encode(self, message: Call) -> bytes:
        """Return a call's bytes."""
        return msgspec.json.encode(message) + b"\n"


class Bridge:
    """The bridge to one node, whose address is asked for anew for every connection."""

    def __init__(self, make: Callable[[], Client], address: Callable[[], Awaitable[Address]]) -> None:
        self._make = make
        self._address = address
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self._space = ""

    async def open(self, space: str) -> None:
        """Begin to listen. Keys get ``space`` in front: the cluster has a past, and the history none."""
        self._space = space
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=LINE_MAX)

    @property
    def listening(self) -> Address:
        """Where the harness dials."""
        assert self._server is not None, "a bridge is opened first"
        host, port = self._server.sockets[0].getsockname()
        return host, port

    async def close(self) -> None:
        """End every connection; a client that goes on is left to whoever ends its thread."""
        if self._server is not None:
            self._server.close()
        for task in tuple(self._serving):
            task.cancel()
        if self._serving:
            await asyncio.wait(self._serving, timeout=CLOSE_S)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            await self._serve(reader, writer)
        except (asyncio.CancelledError, ConnectionError):
            pass  # the harness left, however it did, or the run is over
        except ValueError as error:  # a line without an end, or no call
            log.warning("event=dropped why=%r", str(error))
        finally:
            self._serving.discard(task)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            client = made(self._make)
        except Raised as error:
            log.warning("event=no-client error=%r", str(error))
            return
        connected = False
        try:
            while line := await reader.readline():
                asked = _calls.decode(line)
                answering = asyncio.ensure_future(self._answer(client, asked, connected=connected))
                leaving = asyncio.ensure_future(reader.read(1))  # nothing more is said before the answer
                try:
                    await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
                    if not answering.done():
                        return
                finally:
                    for task in (answering, leaving):
                        task.cancel()
                    await asyncio.gather(answering, leaving, return_exceptions=True)
                connected, said = answering.result()
                writer.write(said)
                if not connected:
                    return
        finally:
            with contextlib.suppress(Definite, Raised, TimeoutError):
                async with asyncio.timeout(CLOSE_S):
                    await call("close", client.close())

    async def _answer(self, client: Client, asked: Call, *, connected: bool) -> tuple[bool, bytes]:
        """Return whether the connection can be used again, and what came of the call, as it is sent."""
        try:
            usable, completion = await self._completed(client, asked, connected=connected)
            return usable, msgspec.json.encode(completion) + b"\n"
        except Exception as error:  # what breaks in here is our own, and a read must not just fail of it
            log.exception("event=bridge-broke")
            broke = unknown(asked, UNEXPECTED, unexpected=f"the bridge to your client broke: {error!r}")
            return False, msgspec.json.encode(broke) + b"\n"

    async def _completed(
        self, client: Client, asked: Call, *, connected: bool
    ) -> tuple[bool, Completion]:
        if not connected:
            try:
                await call("connect", client.connect(*await self._address()))
            except (Definite, Raised, TargetError) as error:  # whatever it is, nothing was sent
                return False, Completion(EventType.FAIL, asked.value, f"not-connected: {error}")
        try:
            return True, await _invoke(client, asked, f"{self._space}/{asked.key}")
        except Definite as error:
            return True, Completion(EventType.FAIL, asked.value, str(error) or "refused")
        except Raised as error:  # whatever it is, nobody knows
            return False, unknown(asked, str(error))


async def _invoke(client: Client, asked: Call, key: str) -> Completion:
    """Return what the client's answer means: of another kind than was asked for it means nothing."""
    match asked.f:
        case "read":
            answer = await call("read", client.read(key))
            if answer is None:
                return Completion(EventType.OK, None)
            if isinstance(answer, int) and not isinstance(answer, bool):
                return Completion(EventType.OK, int.__index__(answer))  # a library's own kind of integer
            wanted = "neither an integer nor None"
        case "write":
            answer = await call("write", client.write(key, asked.value))
            if answer is not False:
                return Completion(EventType.OK, asked.value)
            wanted = "and what did not happen is to be raised"
        case "cas":
            old, new = asked.value
            answer = await call("cas", client.cas(key, old, new))
            if answer is True:
                return Completion(EventType.OK, asked.value)
            if answer is False:
                return Completion(EventType.FAIL, asked.value, MISMATCH)
            wanted = "neither True nor False"
        case _:
            raise Definite(f"no operation {asked.f}")
    return unknown(asked, UNEXPECTED, unexpected=f"{asked.f} returned {shown(answer)}, {wanted}")
