"""An engine's socket that can go away, or that is reached by TCP, with nobody's engine touched."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

ENGINE = "/var/run/docker.sock"


class Proxy:
    """An engine's socket that can go away: who is connected is cut off, who dials is refused.

    At ``path``, or without one at a port of loopback; ``host`` is what DOCKER_HOST has to be.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._ends: set[asyncio.StreamWriter] = set()
        if path is None:
            self._server = self._do(asyncio.start_server(self._serve, "127.0.0.1", 0))
            self.host = f"tcp://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        else:
            self._server = self._do(asyncio.start_unix_server(self._serve, path))
            self.host = f"unix://{path}"

    def stop(self) -> None:
        """Go away; twice is nothing."""
        if self._thread.is_alive():
            self._do(self._stop())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _do(self, work: object) -> asyncio.Server:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)  # type: ignore[arg-type]

    async def _stop(self) -> None:
        self._server.close()
        if self._path is not None:
            self._path.unlink()
        for end in self._ends:
            end.transport.abort()
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        if rest:
            await asyncio.wait(rest, timeout=5)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, onward = await asyncio.open_unix_connection(ENGINE)
        self._ends |= {writer, onward}
        await asyncio.gather(_pass(reader, onward), _pass(there, writer))


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()
