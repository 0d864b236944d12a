"""Cases as a summary in Markdown: a table of suites, then whatever did not pass, worst first.

Names and sentences come from histories and files of others, so all that Markdown or HTML would take for
its own is escaped, also within what is set as code.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from harness.outcome import Outcome
from harness.report.escape import plain

from .case import Case, Shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SUITES_MAX: Final = 200
TOLD_MAX: Final = 50
AS_EXPECTED: Final = "every run came to what was expected of it, or to what is known"
_HTML: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
_MEANT: Final = re.compile(r"([\\`*_{}\[\]()#+\-.!|~:@$=^])")


def summary(outcome: Outcome, cases: Sequence[Case], unexpected: Sequence[str] = ()) -> str:
    """Return the summary, at most some hundred lines long; ``unexpected`` are lines of what was."""
    return "\n".join(_lines(outcome, cases, unexpected)) + "\n"


def escaped(text: str) -> str:
    """Return text that reads as it is."""
    return _MEANT.sub(r"\\\1", "".join(_HTML.get(char, char) for char in text))


def _lines(outcome: Outcome, cases: Sequence[Case], unexpected: Sequence[str]) -> Iterator[str]:
    yield f"### Lantern: {outcome.value}"
    yield ""
    surprising = outcome is Outcome.PASS and any(case.outcome is not Outcome.PASS for case in cases)
    exercised = all(case.exercised for case in cases)
    meaning = AS_EXPECTED if surprising else outcome.meaning_where(exercised=exercised)
    yield f"{escaped(meaning)}."
    yield ""
    suites: dict[str, list[Case]] = {}
    for case in cases:
        suites.setdefault(case.title, []).append(case)
    yield "| what | runs | outcomes | known |"
    yield "|---|---:|---|---:|"
    for name, told in list(suites.items())[:SUITES_MAX]:
        counts = Counter(case.outcome.value for case in told if case.runs)
        of_all = dict.fromkeys(case.outcome.value for case in told if not case.runs)
        outcomes = ", ".join([*(f"{count} {word}" for word, count in counts.most_common()), *of_all])
        known = sum(case.shown is Shown.SKIPPED for case in told)
        yield f"| {escaped(name)} | {counts.total()} | {outcomes} | {known or ''} |"
    if len(suites) > SUITES_MAX:
        yield f"| and {len(suites) - SUITES_MAX} more | | | |"
    if unexpected:
        yield ""
        yield "Not as expected:"
        yield ""
        yield from (f"- {escaped(line)}" for line in unexpected)
    failing = [case for case in cases if case.shown in {Shown.FAILURE, Shown.ERROR}]
    failing.sort(key=lambda case: case.counted.rank)
    for case in failing[:TOLD_MAX]:
        yield ""
        yield from _told(case)
    if len(failing) > TOLD_MAX:
        yield ""
        yield f"And {len(failing) - TOLD_MAX} more."


def _told(case: Case) -> Iterator[str]:
    yield f"**{escaped(case.word)}**: {escaped(case.title)}, {escaped(plain(case.name))}"
    yield ""
    _, *more = case.details()
    yield f"> {escaped(case.sentence)}"
    for line in more:
        key, _, value = line.partition(": ")
        yield f"> <br>{key}: <code>{escaped(value)}</code>"
