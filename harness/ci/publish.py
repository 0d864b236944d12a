"""Telling the CI server that this process runs under, if it runs under one that wants to be told.

GitHub Actions says so in the environment: ``GITHUB_ACTIONS`` is true, and ``GITHUB_STEP_SUMMARY`` names
the file that a step's summary is appended to. What cannot be told changes no outcome.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .annotations import annotated
from .markdown import summary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from harness.outcome import Outcome

    from .case import Case

SUMMARY: Final = "GITHUB_STEP_SUMMARY"
ACTIONS: Final = "GITHUB_ACTIONS"


def publish(
    outcome: Outcome,
    cases: Sequence[Case],
    *,
    unexpected: Sequence[str] = (),
    say: Callable[[str], None],
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Tell how it ended; ``unexpected`` are lines of what was, ``say`` takes those of the log."""
    if environ.get(ACTIONS) == "true":
        for line in annotated(cases):
            say(line)
    file = environ.get(SUMMARY)
    if file:
        try:
            with Path(file).open("a", encoding="utf-8", errors="backslashreplace") as stream:
                stream.write(summary(outcome, cases, unexpected))
        except OSError as error:
            say(f"the summary could not be written: {file}: {error.strerror}")
