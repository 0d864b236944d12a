"""Cases as annotations of GitHub Actions: workflow commands, lines of the log that the runner reads.

The message ends at the end of the line and properties are told apart by commas, so percent signs, line
ends and, in properties, colons and commas are written as the runner's escapes. A step shows ten errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .case import Case, Shown, listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ERRORS_MAX: Final = 10
_MESSAGE: Final = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY: Final = {**_MESSAGE, ":": "%3A", ",": "%2C"}


def annotated(cases: Sequence[Case]) -> Iterator[str]:
    """Yield the commands: an error for what failed, worst first, a warning for what is known."""
    failing = [case for case in cases if case.shown in {Shown.FAILURE, Shown.ERROR}]
    failing.sort(key=lambda case: case.counted.rank)
    shown = failing if len(failing) <= ERRORS_MAX else failing[: ERRORS_MAX - 1]
    for case in shown:
        yield _command("error", f"Lantern: {case.word}: {case.title}", "\n".join(case.details()))
    if len(shown) < len(failing):
        yield _command("error", "Lantern", f"and {len(failing) - len(shown)} more: see the summary")
    known = sum(case.shown is Shown.SKIPPED for case in cases)
    if known:
        rules = sorted({rule for case in cases for rule in case.known})
        yield _command("warning", "Lantern", f"known violations: {known}, of {listed(rules)}")


def _command(word: str, title: str, message: str) -> str:
    return f"::{word} title={_escaped(title, _PROPERTY)}::{_escaped(message, _MESSAGE)}"


def _escaped(text: str, escapes: dict[str, str]) -> str:
    return "".join(escapes.get(char, char) for char in text)
