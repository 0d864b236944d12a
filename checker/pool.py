"""The one module that starts processes: work that is forked off, and killed at the deadline.

Two reasons to fork. Several keys can be searched at once, on several cores; the columns of the history
are shared with the children as they are. And a model of the caller's may be slow or never return from
one step: no deadline of ours is looked at meanwhile, but a process can be killed.

A child sends its answer once and ends. One that dies without an answer (killed for its memory, say) is
reported as what it is, and says nothing about the others.
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from multiprocessing.context import ForkProcess

Task = TypeVar("Task")
Answer = TypeVar("Answer")

_GRACE_S: Final = 0.3
"""How much longer than its deadline a child may take to say for itself that it ran out of time."""


class Died(NamedTuple):
    """A child that gave no answer: how it ended, in words."""

    how: str


class _Child(NamedTuple, Generic[Task]):
    task: Task
    process: ForkProcess


def run(
    tasks: Sequence[Task],
    work: Callable[[Task], Answer],
    *,
    jobs: int,
    remaining_s: Callable[[], float | None],
) -> Generator[tuple[Task, Answer | Died], None, None]:
    """Yield every task with what ``work`` returned for it in a child, as they come, ``jobs`` at a time.

    What is not done at the deadline is killed and yielded as `Died`. An exception in a child is raised
    here. Closing the iterator kills what still runs.
    """
    context = multiprocessing.get_context("fork")
    waiting = deque(tasks)
    running: dict[Connection, _Child[Task]] = {}
    try:
        while waiting or running:
            left = remaining_s()
            while waiting and len(running) < jobs and (left is None or left > 0):
                task = waiting.popleft()
                mine, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_child, args=(work, task, theirs), daemon=True)
                process.start()
                theirs.close()
                running[mine] = _Child(task, process)
            ready = wait(list(running), None if left is None else left + _GRACE_S) if running else []
            for connection in ready:
                assert isinstance(connection, Connection)
                child = running.pop(connection)
                yield child.task, _receive(connection, child.process)
            if not ready:
                for child in running.values():
                    child.process.kill()
                yield from ((child.task, Died("the time limit")) for child in running.values())
                yield from ((task, Died("the time limit")) for task in waiting)
                return
    finally:
        for connection, child in running.items():
            child.process.kill()
            child.process.join()
            connection.close()


def _child(work: Callable[[Task], Answer], task: Task, out: Connection) -> None:
    """Send what ``work`` returns, or raises."""
    try:
        out.send((True, work(task)))
    except Exception as error:  # noqa: BLE001 - the edge of a process: the parent raises it
        out.send((False, error))


def _receive(connection: Connection, process: ForkProcess) -> Answer | Died:
    try:
        worked, answer = connection.recv()
    except EOFError:
        process.join()
        return Died(f"its process, which ended with code {process.exitcode}")
    finally:
        connection.close()
    process.join()
    if not worked:
        raise answer
    return answer  # type: ignore[no-any-return]
