"""Between the harness, which speaks in messages, and somebody's client, which is coroutines.

A node's bridge listens on loopback. A connection to it is one process's: it has a client of its own,
connected to the node when the first operation comes, and answers each `Call` with a `Completion`. When
the harness drops the connection, as it does with every overdue answer, the client's coroutine is
cancelled and the client closed; nothing it may still say is heard. What a client raises is its answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any, Final

import msgspec

from checker.events import MISMATCH, EventType
from targets.request import UNEXPECTED, RequestSession, unknown
from targets.session import Call, Completion

from .client import RAISED, Definite

if TYPE_CHECKING:
    from collections.abc import Callable

    from targets.cluster import Address

    from .client import Client

LINE_MAX: Final = 1 << 20
CLOSE_S: Final = 1.0
SHOWN_CHARS: Final = 80

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

    def __init__(self, make: Callable[[], Client], address: Callable[[], Address]) -> None:
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
        """End every connection."""
        if self._server is not None:
            self._server.close()
        for task in tuple(self._serving):
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            await self._serve(reader, writer)
        except asyncio.CancelledError:
            pass  # the harness left, or the run is over
        finally:
            self._serving.discard(task)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            client = self._make()
        except RAISED as error:
            log.warning("event=no-client error=%r", error)
            return
        connected = False
        try:
            while line := await reader.readline():
                call = _calls.decode(line)
                answering = asyncio.ensure_future(self._answer(client, call, connected=connected))
                leaving = asyncio.ensure_future(reader.read(1))  # nothing more is said before the answer
                try:
                    await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
                    if not answering.done():
                        return
                finally:
                    for task in (answering, leaving):
                        task.cancel()
                    await asyncio.gather(answering, leaving, return_exceptions=True)
                connected, completion = answering.result()
                writer.write(msgspec.json.encode(completion) + b"\n")
                if not connected:
                    return
        finally:
            with contextlib.suppress(*RAISED):
                async with asyncio.timeout(CLOSE_S):
                    await client.close()

    async def _answer(self, client: Client, call: Call, *, connected: bool) -> tuple[bool, Completion]:
        """Return whether the connection can be used again, and what came of the call."""
        if not connected:
            try:
                await client.connect(*self._address())
            except RAISED as error:  # whatever it is, nothing was sent
                return False, Completion(EventType.FAIL, call.value, f"not-connected: {error}")
        try:
            return True, await _invoke(client, call, f"{self._space}/{call.key}")
        except Definite as error:
            return True, Completion(EventType.FAIL, call.value, str(error) or "refused")
        except RAISED as error:  # whatever it is, nobody knows
            return False, unknown(call, f"{type(error).__name__}: {error}")


async def _invoke(client: Client, call: Call, key: str) -> Completion:
    """Return what the client's answer means: of another kind than was asked for it means nothing."""
    match call.f:
        case "read":
            answer = await client.read(key)
            wanted = "neither an integer nor None"
            known = answer is None or (isinstance(answer, int) and not isinstance(answer, bool))
            completion = Completion(EventType.OK, answer)
        case "write":
            answer = await client.write(key, call.value)
            wanted = "and what did not happen is to be raised"
            known = answer is not False
            completion = Completion(EventType.OK, call.value)
        case "cas":
            old, new = call.value
            answer = await client.cas(key, old, new)
            wanted = "neither True nor False"
            known = isinstance(answer, bool)
            completion = (
                Completion(EventType.OK, call.value)
                if answer
                else Completion(EventType.FAIL, call.value, MISMATCH)
            )
        case _:
            raise Definite(f"no operation {call.f}")
    if known:
        return completion
    return unknown(call, UNEXPECTED, unexpected=f"{call.f} returned {_shown(answer)}, {wanted}")


def _shown(answer: Any) -> str:
    """Return an answer for a sentence; somebody's own object may fail at that as well."""
    try:
        return repr(answer)[:SHOWN_CHARS]
    except Exception:  # noqa: BLE001 - as above
        return f"a {type(answer).__name__}"
