"""How what takes long tells of itself: a bar on a terminal, or a line now and then."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from harness.report.escape import plain
from harness.words import many

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from harness.campaign import campaign

    from .output import Output

    Say = Callable[[str], None]
    Show = Callable[[campaign.Progress], None]

TOLD_EVERY_S: Final = 5.0


@contextmanager
def following(output: Output) -> Iterator[tuple[Say, Show]]:
    """Give the two ways in which a campaign tells: a sentence, and how far it is."""
    if sys.stderr is None or not sys.stderr.isatty():
        tell = now_and_then(output.story)
        yield output.story, lambda told: tell(f"{told.seconds:6.0f} s  {told_in_words(told)}")
        return
    columns = (BarColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def say(line: str) -> None:
            bar.console.print(plain(line, chars_max=4000), markup=False, highlight=False)

        def show(told: campaign.Progress) -> None:
            done, total = _share(told)
            bar.update(task, description=told_in_words(told), completed=done, total=total)

        yield say, show


def _share(told: campaign.Progress) -> tuple[float, float | None]:
    """Return how much of the whole is done: of the budget where that ends it, else of the runs."""
    if told.budget_s is not None and told.runs_max is None:
        return min(told.seconds, told.budget_s), told.budget_s
    return told.runs, told.runs_max


def told_in_words(told: campaign.Progress) -> str:
    """Return how far it is."""
    runs = many(told.runs, "run")
    if told.runs_max is not None:
        runs = f"{told.runs} of at most {many(told.runs_max, 'run')}"
    found = f", {told.found} of {told.sought} found" if told.sought else ""
    wrong = f", {told.unexpected} unexpected" if told.unexpected else ""
    return f"{runs}{found}{wrong}"


def now_and_then(say: Say) -> Say:
    """Return what says a line if some seconds have passed since it last did, or was made."""
    said_s = time.monotonic()

    def perhaps(line: str) -> None:
        nonlocal said_s
        if time.monotonic() >= said_s + TOLD_EVERY_S:
            said_s = time.monotonic()
            say(line)

    return perhaps
