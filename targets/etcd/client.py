"""What the harness needs to be a client of etcd: sessions, and bytes for their messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from targets.http import Reader, encode
from targets.request import RequestSession

from .speech import EtcdSpeech

if TYPE_CHECKING:
    from targets.http import HttpRequest


class EtcdClient:
    """Makes everything that belongs to a connection, in one read mode."""

    def __init__(self, reads: str, *, timeout_ns: int) -> None:
        self._speech = EtcdSpeech(reads)
        self._timeout_ns = timeout_ns

    def session(self) -> RequestSession:
        """Return the client of a new process."""
        return RequestSession(
            self._speech, read_timeout_ns=self._timeout_ns, write_timeout_ns=self._timeout_ns
        )

    def reader(self) -> Reader:
        """Return what reads one connection."""
        return Reader()

    def encode(self, message: HttpRequest) -> bytes:
        """Return a request's bytes."""
        return encode(message)
