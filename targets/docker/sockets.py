"""Abort TCP connections inside a node's network namespace, as the kernel lets an administrator do.

A packet filter resets a connection when its next packet comes; one that is idle would go on as if
nothing had been cut. Aborting resets it now, at both ends: the kernel sends the other side a reset.
A kernel built without this refuses, and then the filter's own resets are all there is.

The netlink protocol of ``sock_diag(7)``: dump all, destroy one by its identity. The caller has entered
the namespace.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import socket
import struct
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NETLINK_SOCK_DIAG: Final = 4
SOCK_DIAG_BY_FAMILY: Final = 20
SOCK_DESTROY: Final = 21
NLM_F_REQUEST: Final = 0x01
NLM_F_ACK: Final = 0x04
NLM_F_DUMP: Final = 0x300
NLMSG_ERROR: Final = 2
NLMSG_DONE: Final = 3

# Established, or on the way there or out of it; neither listening nor waiting for the clock alone.
STATES: Final = sum(1 << state for state in (1, 2, 3, 4, 5, 8, 9, 11))

_HEADER: Final = struct.Struct("=IHHII")  # length, type, flags, sequence, port
_REQUEST: Final = struct.Struct("=BBBBI")  # family, protocol, extensions, padding, states
_IDENTITY: Final = struct.Struct("!HH16s16s")  # ports and addresses of both ends, network order
_REST: Final = 12  # interface and cookie
_REPLY_FRONT: Final = 4  # family, state, timer, retransmissions


class Connection(msgspec.Struct, frozen=True):
    """A connection as its namespace sees it; addresses in IPv4 form where they are such."""

    local_port: int
    peer: str
    peer_port: int


def abort(wanted: Callable[[Connection], bool]) -> int:
    """Abort every connection that is ``wanted``; return how many were."""
    aborted = 0
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as diag:
        diag.settimeout(1.0)
        for family in (socket.AF_INET, socket.AF_INET6):
            for connection, identity in list(_dump(diag, family)):
                if wanted(connection):
                    with contextlib.suppress(OSError):  # ended meanwhile, or the kernel cannot do it
                        _destroy(diag, family, identity)
                        aborted += 1
    return aborted


def _dump(diag: socket.socket, family: int) -> Iterator[tuple[Connection, bytes]]:
    ask = _REQUEST.pack(family, socket.IPPROTO_TCP, 0, 0, STATES) + bytes(_IDENTITY.size + _REST)
    diag.send(_message(SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, ask))
    while True:
        for kind, body in _messages(diag.recv(1 << 16)):
            if kind == NLMSG_DONE:
                return
            if kind == NLMSG_ERROR:
                raise OSError(-struct.unpack_from("=i", body)[0], "the kernel refused to list sockets")
            identity = body[_REPLY_FRONT : _REPLY_FRONT + _IDENTITY.size + _REST]
            local_port, peer_port, _local, peer = _IDENTITY.unpack_from(identity)
            yield Connection(local_port, _text(family, peer), peer_port), identity


def _destroy(diag: socket.socket, family: int, identity: bytes) -> None:
    ask = _REQUEST.pack(family, socket.IPPROTO_TCP, 0, 0, STATES) + identity
    diag.send(_message(SOCK_DESTROY, NLM_F_REQUEST | NLM_F_ACK, ask))
    for _kind, body in _messages(diag.recv(1 << 16)):
        (error,) = struct.unpack_from("=i", body)
        if error:
            raise OSError(-error, os.strerror(-error))


def _message(kind: int, flags: int, body: bytes) -> bytes:
    return _HEADER.pack(_HEADER.size + len(body), kind, flags, 1, 0) + body


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + _HEADER.size <= len(data):
        length, kind, *_ = _HEADER.unpack_from(data, at)
        yield kind, data[at + _HEADER.size : at + length]
        at += (length + 3) & ~3


def _text(family: int, address: bytes) -> str:
    if family == socket.AF_INET:
        return str(ipaddress.IPv4Address(address[:4]))
    six = ipaddress.IPv6Address(address)
    return str(six.ipv4_mapped or six)
