"""The Docker engine, held at arm's length: every call has a deadline and none blocks the loop.

The engine's client library is synchronous, and a daemon that hangs would hang the harness with it
while clients are being recorded. So each call runs in a thread of its own (a daemon thread: a pool's
threads are joined at exit, a stuck one would keep the interpreter alive) and is given up when its
deadline has passed. A call that was given up is neither done nor undone: `EngineSilentError` says so,
and whoever called re-reads the state instead of assuming one.

    TargetError
    ├── EngineAbsentError   nothing answers: said before anything is changed
    ├── EngineSilentError   no answer in time, or none that makes sense: nobody knows
    └── EngineRefusedError  it said no, or that it is broken

Only `docker.errors.NotFound` is an answer, and raised as it is.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import threading
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

import docker
import requests

from targets.cluster import TargetError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

Client = Any  # docker.DockerClient: its stubs leave half of its calls untyped

SSH_LIBRARY: Final = "paramiko"

CALL_S: Final = 20.0
"""How long a call may take before it is given up; building an image takes a longer one of its own."""


class EngineAbsentError(TargetError):
    """No engine answers at the address that the environment names."""


class EngineSilentError(TargetError):
    """The engine did not answer in time: what was asked may or may not have happened."""


class EngineRefusedError(TargetError):
    """The engine would not do what was asked; ``explanation`` is its own."""

    def __init__(self, what: str, error: docker.errors.APIError) -> None:
        self.explanation = " ".join(str(error.explanation or error).split())
        super().__init__(f"the Docker engine did not {what}: {self.explanation}")


NONSENSE: Final = (KeyError, IndexError, TypeError, AttributeError)
"""What becomes of reading an answer that is of another kind than the engine's are."""


class Engine:
    """One connection to one engine. ``client`` is only used inside `call`."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.host = host_of(os.environ.get("DOCKER_HOST", ""))
        """The host that it is reached at; None where that is a socket of this one."""

    @classmethod
    async def connect(cls, *, deadline_s: float = 5.0) -> Engine:
        """Return an engine that has answered; raise `EngineAbsentError` with what to do."""
        where = os.environ.get("DOCKER_HOST") or "the default socket"
        if where.startswith("ssh:") and importlib.util.find_spec(SSH_LIBRARY) is None:
            raise _absent(where, "ssh:// takes `pip install 'docker[ssh]'`")
        try:
            client = await _in_thread(lambda: docker.from_env(timeout=int(CALL_S)), deadline_s)
            engine = cls(client)
        except TimeoutError as error:
            raise EngineAbsentError(f"the Docker engine at {where} is silent: restart it") from error
        except (
            *(docker.errors.DockerException, requests.RequestException, OSError, ValueError),
            *NONSENSE,
        ) as error:
            raise _absent(where, _brief(error)) from error
        try:
            await engine.call("answer a ping", lambda c: c.ping(), deadline_s=deadline_s)
        except (TargetError, docker.errors.DockerException) as error:
            engine.close()
            raise _absent(where, str(error).partition("\n")[0]) from error
        return engine

    async def call(self, what: str, action: Callable[[Client], T], *, deadline_s: float = CALL_S) -> T:
        """Run ``action`` on the client in a thread. ``what`` completes "the engine did not ..."."""
        try:
            return await _in_thread(lambda: action(self._client), deadline_s)
        except TimeoutError as error:
            raise EngineSilentError(
                f"the Docker engine did not {what} within {deadline_s:g} s"
            ) from error
        except docker.errors.NotFound:
            raise  # an answer, though requests counts it among its own failures
        except docker.errors.APIError as error:
            raise EngineRefusedError(what, error) from error
        except NONSENSE as error:
            raise EngineSilentError(
                f"the Docker engine did not {what}: its answer makes no sense ({error!r})"
            ) from error
        except (requests.RequestException, ConnectionError) as error:
            raise EngineSilentError(f"the Docker engine did not {what}: {_brief(error)}") from error

    def close(self) -> None:
        """Drop the connection. Idempotent."""
        self._client.close()


def _absent(where: str, reason: str) -> EngineAbsentError:
    return EngineAbsentError(
        f"no Docker engine answers at {where} ({reason}): start one, or say in DOCKER_HOST where one is"
    )


def host_of(address: str) -> str | None:
    """Return the host in an engine's address, ``tcp://..`` or ``ssh://..``; None for a local socket."""
    return urlsplit(address).hostname if address.startswith(("tcp:", "ssh:", "http")) else None


async def _in_thread(action: Callable[[], T], deadline_s: float) -> T:
    """Run ``action`` in a daemon thread; raise TimeoutError if it is not done in time."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if outcome.done():
            return
        if error is not None:
            outcome.set_exception(error)
        else:
            outcome.set_result(result)  # type: ignore[arg-type]  # T may itself be None

    def work() -> None:
        result: T | None = None
        failure: BaseException | None = None
        try:
            result = action()
        except BaseException as error:  # noqa: BLE001 - carried over to the waiting task
            failure = error
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=work, name="engine-call", daemon=True).start()
    return await asyncio.wait_for(outcome, deadline_s)


def _brief(error: BaseException) -> str:
    """Return the last cause's first line: the library wraps a refused socket four times over."""
    while error.__cause__ is not None or error.__context__ is not None:
        error = error.__cause__ or error.__context__ or error
    return (str(error).splitlines() or [type(error).__name__])[0]
