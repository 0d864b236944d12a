"""An engine's socket that can go away, with nobody's engine stopped."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

ENGINE = "/var/run/docker.sock"


class Proxy:
    """An engine's socket that can go away: who is connected is cut off, who dials is refused."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._ends: set[asyncio.StreamWriter] = set()
        self._server = self._do(asyncio.start_unix_server(self._serve, path))

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
        self.path.unlink()
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
