"""Act inside a node's network namespace, from this process.

A network namespace belongs to a thread, so a short-lived thread enters the node's and acts there:
nothing is needed in the image, nothing is started, and a cut takes under a millisecond where `nsenter`
and `nft` take fifteen. A socket made there stays there when the thread is gone. Entering needs root
(CAP_SYS_ADMIN) and the node's pid on this host: `obstacle` says what is missing.

The namespace is named by the pid of a process in it, and a pid alone proves nothing: whoever calls has
checked that the process is the container's.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import os
import queue
import threading
from typing import TYPE_CHECKING, Any, Final, TypeVar

from targets.cluster import TargetError

from .packets import Hook, PacketCut, Way, add, declare, read, table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")

CLONE_NEWNET: Final = 0x40000000
JSON_OUTPUT: Final = 1 << 4
PATIENCE_S: Final = 2.0


class NamespaceError(TargetError):
    """The namespace could not be entered, or refused what it was told."""


class NamespaceGoneError(NamespaceError):
    """There is no such process any more: its namespace, and every rule in it, went with it."""


def obstacle() -> str | None:
    """Return why nothing can be done inside other namespaces, None if it can."""
    if os.geteuid() != 0:
        return "entering a node's network namespace needs root"
    if _library() is None:
        return "libnftables is missing: install the package nftables"
    return None


def enter(pid: int, action: Callable[[], T]) -> T:
    """Run ``action`` in a thread inside the network namespace of ``pid``; wait a bounded time."""
    return _begin(pid, action)()


def _begin(pid: int, action: Callable[[], T]) -> Callable[[], T]:
    """Start it in the namespace of ``pid``, and return what waits for it."""
    return _run(f"netns-{pid}", functools.partial(_set_namespace, pid), action)


def _run(name: str, move: Callable[[], None], action: Callable[[], T]) -> Callable[[], T]:
    """Start a thread that moves into a namespace and acts there; return what waits for it."""
    outcome: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def work() -> None:
        try:
            move()
            outcome.put((action(), None))
        except BaseException as error:  # noqa: BLE001 - carried over to the caller
            outcome.put((None, error))

    def wait() -> T:
        try:
            result, failure = outcome.get(timeout=PATIENCE_S)
        except queue.Empty:
            raise NamespaceError(f"the network namespace of {name} did not answer in time") from None
        if failure is not None:
            raise failure
        return result  # type: ignore[return-value]  # T may itself be None

    threading.Thread(target=work, name=name, daemon=True).start()
    return wait


def nft(scripts: Mapping[int, str]) -> set[int]:
    """Run a packet filter transaction in the namespace of each pid, at once; return the pids gone.

    A transaction is made whole or not at all. Side by side, because one that takes something away
    waits for the kernel's grace period, and all of them can share it.
    """
    waiting = {pid: _begin(pid, functools.partial(_nft, text, 0)) for pid, text in scripts.items()}
    gone = set()
    for pid, wait in waiting.items():
        try:
            wait()
        except NamespaceGoneError:
            gone.add(pid)
    return gone


def nft_list(pid: int, table: str) -> str | None:
    """Return nft's JSON listing of a table, None if there is no such table.

    A listing that failed for any other reason raises: a failure to read is not an absence.
    """
    try:
        return enter(pid, functools.partial(_nft, f"list table inet {table}", JSON_OUTPUT))
    except NamespaceGoneError:
        raise
    except NamespaceError as error:
        if "No such file or directory" in str(error):
            return None
        raise


def nft_here(script: str) -> str:
    """Run a transaction in the namespace that the calling thread is in; return what it printed."""
    return _nft(script, 0)


def try_out() -> None:
    """Make and read back a table in a namespace of our own that nobody else is in; raise what fails."""
    alone(_try_out)


def alone(action: Callable[[], T]) -> T:
    """Run ``action`` in a thread inside a fresh network namespace; wait a bounded time."""
    return _run("netns-alone", _unshare, action)()


def _try_out() -> None:
    run = "lantern-doctor"
    cut = PacketCut(Hook.ARRIVING, Way.HOLD, "127.0.0.1")
    _nft(declare(run) + add(run, [cut], timeout_s=60), 0)
    (seen,) = read(_nft(f"list table inet {table(run)}", JSON_OUTPUT))
    assert seen == cut, seen


def _unshare() -> None:
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        reason = os.strerror(ctypes.get_errno())
        raise NamespaceError(f"no network namespace can be made: {reason}")


def _set_namespace(pid: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        descriptor = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, ProcessLookupError) as error:
        raise NamespaceGoneError(f"pid {pid} is gone, and its network namespace with it") from error
    except PermissionError as error:
        raise NamespaceError("entering a node's network namespace needs root") from error
    try:
        if libc.setns(descriptor, CLONE_NEWNET) != 0:
            reason = os.strerror(ctypes.get_errno())
            raise NamespaceError(f"the network namespace of pid {pid} cannot be entered: {reason}")
    finally:
        os.close(descriptor)


def _nft(script: str, output: int) -> str:
    library = _library()
    assert library is not None, "whoever cuts has asked for obstacles"
    context = library.nft_ctx_new(0)
    try:
        library.nft_ctx_output_set_flags(context, output)
        library.nft_ctx_buffer_output(context)
        library.nft_ctx_buffer_error(context)
        if library.nft_run_cmd_from_buffer(context, script.encode()) != 0:
            said = (library.nft_ctx_get_error_buffer(context) or b"").decode(errors="replace")
            raise NamespaceError(f"the packet filter refused: {said.strip()}")
        return bytes(library.nft_ctx_get_output_buffer(context) or b"").decode()
    finally:
        library.nft_ctx_free(context)


@functools.cache
def _library() -> Any:
    name = ctypes.util.find_library("nftables")
    if name is None:
        return None
    library = ctypes.CDLL(name)
    library.nft_ctx_new.restype = ctypes.c_void_p
    library.nft_ctx_new.argtypes = [ctypes.c_uint32]
    library.nft_run_cmd_from_buffer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    for buffered in ("nft_ctx_buffer_output", "nft_ctx_buffer_error", "nft_ctx_free"):
        getattr(library, buffered).argtypes = [ctypes.c_void_p]
    for text in ("nft_ctx_get_output_buffer", "nft_ctx_get_error_buffer"):
        getattr(library, text).argtypes = [ctypes.c_void_p]
        getattr(library, text).restype = ctypes.c_char_p
    library.nft_ctx_output_set_flags.argtypes = [ctypes.c_void_p, ctypes.c_uint]
    return library
