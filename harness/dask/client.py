"""A client of a Dask scheduler, and who is there to work for it.

A worker is one of ours only if it has the same Lantern. Dask is an extra, and imported once somebody
asks for it.
"""

from __future__ import annotations

import logging
import time
from pkgutil import resolve_name
from typing import Any, Final

from harness.store.environment import DISTRIBUTION

EXTRA: Final = "dask.distributed is not installed: pip install 'lantern-chaos[dask]'"
CONNECT_S: Final = 15.0
FIRST_WORKER_S: Final = 30.0
WORKERLESS_S: Final = 60.0
TICK_S: Final = 2.0
LOGGING: Final = ("distributed", "tornado")


class Gone(Exception):  # noqa: N818 - what happened
    """Nobody is left to work; the message is one sentence."""


def version() -> str:
    """Return the version of Lantern that is installed here."""
    from importlib import metadata  # noqa: PLC0415 - of the worker that is asked

    return metadata.version(DISTRIBUTION)


def connected(address: str) -> Any:
    """Return a client of the scheduler at an `address_of`; raise `Gone` if nobody there can work."""
    try:
        client_of, security_of = map(resolve_name, ("distributed:Client", "distributed:Security"))
    except ImportError as error:
        raise Gone(EXTRA) from error
    quiet()
    security = security_of(require_encryption=True) if address.startswith("tls://") else None
    try:
        client = client_of(address, timeout=CONNECT_S, security=security, set_as_default=False)
    except (OSError, TypeError, ValueError, RuntimeError) as error:
        raise Gone(f"no scheduler answers at {address}: {error}") from error
    try:
        client.wait_for_workers(1, timeout=FIRST_WORKER_S)
        versions = client.run(version)
    except Exception as error:
        client.close()
        raise Gone(f"nobody at {address} can run Lantern: {error}") from error
    mine = version()
    for worker, theirs in versions.items():
        if theirs != mine:
            client.close()
            raise Gone(f"the worker {worker} has Lantern {theirs}, and this is {mine}")
    return client


def quiet() -> None:
    """Have the libraries log nothing to standard error: what happens there is a `Gone`, in one sentence.

    They log each try to come back to a scheduler that was killed, with its tracebacks.
    """
    for name in [*logging.root.manager.loggerDict]:
        if name.partition(".")[0] in LOGGING:
            logger = logging.getLogger(name)
            logger.handlers = [logging.NullHandler()]


class Presence:
    """Who is there to work: ``threads``, as somebody last looked."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.threads = 0
        self._worked_s = time.monotonic()
        self._looked_s = self._worked_s - TICK_S
        self.look()

    def look(self) -> None:
        """Look again, but not all the time; raise `Gone` if the scheduler is, or its workers are."""
        now_s = time.monotonic()
        if now_s < self._looked_s + TICK_S:
            return
        self._looked_s = now_s
        try:
            self.threads = sum(self.client.nthreads().values())
        except Exception as error:
            raise Gone(f"the scheduler is gone: {error}") from error
        if self.threads:
            self._worked_s = now_s
        elif now_s > self._worked_s + WORKERLESS_S:
            raise Gone(f"for {WORKERLESS_S:.0f} s the scheduler had no worker")
