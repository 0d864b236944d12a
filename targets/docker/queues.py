"""Directed links that deliver late, by queues of packets in the node's namespace (NFQUEUE).

The kernel hands every packet of a delayed direction to a queue, and the harness lets each go a fixed
time after it came, in order. The other direction is not touched. What is on its way when the delay ends
is let go at once, in order; where the link is cut instead, it is thrown away, and TCP sends it again
after the heal. A harness that dies takes its listeners along: the kernel throws away what was held and
lets all else pass.

This needs the package NetfilterQueue, and iptables, which every engine's host has. Whether it can be
done is found out by doing it once, in a namespace that nobody is in.
"""

from __future__ import annotations

import asyncio
import functools
import subprocess
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Final

from targets.cluster import TargetError

from . import netns, queued
from .packets import Hook

if TYPE_CHECKING:
    from collections.abc import Callable

    from netfilterqueue import NetfilterQueue, Packet

    from .queued import Direction

FIRST_NUMBER: Final = 7700
PACKETS_MAX: Final = 8192
COMMAND_S: Final = 1.5

NO_PACKAGE: Final = (
    "links that the kernel cuts are delayed by its packet queues, for which NetfilterQueue is missing:"
    " pip install 'lantern-chaos[nfqueue]', or take gates (`links: gates` in the plan)"
)


@functools.cache
def obstacle() -> str | None:
    """Return why no packet can be delayed in a queue here, None if one can: tried once a process."""
    try:
        import netfilterqueue  # noqa: F401, PLC0415 - an extra
    except ImportError:
        return NO_PACKAGE
    try:
        netns.alone(_try_out)
    except (TargetError, OSError) as error:
        return f"packets cannot be queued here ({error}): take gates (`links: gates` in the plan)"
    return None


class DelayQueue:
    """One direction at one node, late by ``delay_ns`` from now on."""

    def __init__(self, pid: int, number: int, delay_ns: int) -> None:
        self.delay_ns = delay_ns
        self._loop = asyncio.get_running_loop()
        self._held: deque[tuple[float, Packet]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._queue = netns.enter(pid, functools.partial(_listen, number, self._take))
        self._loop.add_reader(self._queue.get_fd(), self._read)

    def end(self, *, deliver: bool) -> None:
        """Listen no more; let go what is held, in order, or have it thrown away."""
        self._loop.remove_reader(self._queue.get_fd())
        if self._timer is not None:
            self._timer.cancel()
        if deliver:
            self._read()
            for _, packet in self._held:
                packet.accept()
        self._held.clear()
        self._queue.unbind()

    def _read(self) -> None:
        self._queue.run(block=False)

    def _take(self, packet: Packet) -> None:
        due_s = self._loop.time() + self.delay_ns / 1e9
        if self._held:
            due_s = max(due_s, self._held[-1][0])  # none overtakes, though the delay was changed
        self._held.append((due_s, packet))
        if self._timer is None:
            self._timer = self._loop.call_at(due_s, self._let_go)

    def _let_go(self) -> None:
        now_s = self._loop.time()
        while self._held and self._held[0][0] <= now_s:
            self._held.popleft()[1].accept()
        self._timer = self._loop.call_at(self._held[0][0], self._let_go) if self._held else None


class Queues:
    """All the delays of one run, in every namespace where there were any."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._numbers: dict[int, dict[Direction, int]] = {}
        self._queues: dict[tuple[int, Direction], DelayQueue] = {}

    def begin(self, pid: int, direction: Direction, delay_ns: int) -> None:
        """Delay a direction in the namespace of ``pid``, or change by how much."""
        queue = self._queues.get((pid, direction))
        if queue is not None:
            queue.delay_ns = delay_ns
            return
        numbers = self._numbers.setdefault(pid, {})
        if direction not in numbers:
            numbers[direction] = FIRST_NUMBER + len(numbers)
            netns.enter(pid, functools.partial(_lay, self._run, dict(numbers)))
        self._queues[pid, direction] = DelayQueue(pid, numbers[direction], delay_ns)

    def end(self, pid: int, direction: Direction, *, deliver: bool) -> None:
        """Delay it no longer; nothing if it is not delayed."""
        queue = self._queues.pop((pid, direction), None)
        if queue is not None:
            queue.end(deliver=deliver)

    def delay_ns(self, pid: int, direction: Direction) -> int | None:
        """Return by how much a direction is late, None where the kernel has no listener, or no rule."""
        queue = self._queues.get((pid, direction))
        if queue is None:
            return None
        try:
            listing = Path(f"/proc/{pid}/net/netfilter/nfnetlink_queue").read_text()
            saved = netns.enter(pid, _saved)
        except (OSError, netns.NamespaceGoneError):  # the namespace went, and the queue with it
            return None
        number = self._numbers[pid][direction]
        heard = number in queued.listeners(listing) and queued.handed(self._run, number, saved)
        return queue.delay_ns if heard else None

    def leave(self, pid: int) -> None:
        """Let go of a namespace that goes: a queue would keep it."""
        for one, direction in list(self._queues):
            if one == pid:
                self.end(pid, direction, deliver=False)
        self._numbers.pop(pid, None)

    def close(self) -> None:
        """End every delay and leave no rule behind. Idempotent."""
        for pid, direction in list(self._queues):
            self.end(pid, direction, deliver=True)
        pids = list(self._numbers)
        self._numbers.clear()
        for pid in pids:
            undo(self._run, pid)


def undo(run: str, pid: int) -> bool:
    """Remove what is left of a run's rules in a namespace; return whether there was anything."""
    try:
        return netns.enter(pid, functools.partial(_undo, run))
    except netns.NamespaceGoneError:
        return False


def _listen(number: int, take: Callable[[Packet], None]) -> NetfilterQueue:
    """Listen at a queue of the namespace that the thread is in; only heads are copied here."""
    from netfilterqueue import COPY_META, NetfilterQueue  # noqa: PLC0415 - an extra

    queue = NetfilterQueue()
    try:
        queue.bind(number, take, max_len=PACKETS_MAX, mode=COPY_META)
    except OSError as error:
        raise netns.NamespaceError(f"the kernel gives no queue {number}: {error}") from error
    return queue


def _lay(run: str, numbers: dict[Direction, int]) -> None:
    _tables("iptables-restore", "--noflush", said=queued.lay(run, numbers, _saved()))


def _undo(run: str) -> bool:
    script = queued.undo(run, _saved())
    if script is None:
        return False
    _tables("iptables-restore", "--noflush", said=script)
    if queued.empty(_saved()):  # else a table would stay that does nothing and was not there
        netns.nft_here(f"add table ip {queued.TABLE}\ndelete table ip {queued.TABLE}\n")
    return True


def _saved() -> str:
    return _tables("iptables-save", "-t", queued.TABLE)


def _tables(*command: str, said: str = "") -> str:
    """Run an iptables command in the namespace that the thread is in."""
    try:
        done = subprocess.run(  # noqa: S603 - fixed words, and names made of digits and letters
            command, input=said, capture_output=True, check=False, timeout=COMMAND_S, text=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise netns.NamespaceError(f"{command[0]} could not be run: {error}") from error
    if done.returncode:
        raise netns.NamespaceError(f"{command[0]} refused: {' '.join(done.stderr.split())}")
    return done.stdout


def _try_out() -> None:
    run = "lantern-doctor"
    _lay(run, {(Hook.ARRIVING, "127.0.0.1"): FIRST_NUMBER})
    _listen(FIRST_NUMBER, print).unbind()
    assert _undo(run)
