"""A run as a case of a CI server: how it ended, what that counts as, and how to run it again.

A CI server knows passed, failed, error and skipped. A *failure* says something of the target: a
violation, or one that was expected and not found. An *error* is a run without a verdict on the target:
it was unknown, nothing was exercised, the history was malformed, the harness failed, somebody
interrupted it. None of those is a pass, and none is spoken of as the target's. A violation that is
known is skipped: it is seen, and fails nothing.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from harness.outcome import Outcome
from harness.report.claims import fully_exercised
from harness.report.escape import plain, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

SENTENCE_CHARS_MAX = 2000


class Shown(StrEnum):
    """What a CI server shows."""

    PASSED = "passed"
    FAILURE = "failure"
    ERROR = "error"
    SKIPPED = "skipped"


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One case. ``suite`` and ``name`` say what was run, ``seconds`` how long that took.

    ``counted`` is what the outcome means where it may have been expected; ``known`` are rules that are
    known to be broken, where nothing else was, and ``why_not_known`` says of others what else was.
    ``exercised`` is whether a pass had exercised what it had to, or was allowed not to. ``runs`` is 0
    of what is said of several, or of none.
    """

    suite: str
    name: str
    outcome: Outcome
    counted: Outcome
    reason: str | None = None
    kind: str | None = None
    rules: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    why_not_known: str | None = None
    exercised: bool = True
    seconds: float = 0.0
    replay: str | None = None
    directory: str | None = None
    runs: int = 1

    @property
    def title(self) -> str:
        """What was run, safe to show on one line."""
        return plain(self.suite)

    @property
    def shown(self) -> Shown:
        """What a CI server is to show."""
        match self.counted:
            case Outcome.PASS:
                return Shown.SKIPPED if self.known else Shown.PASSED
            case Outcome.VIOLATION | Outcome.EXPECTATION_MISSED:
                return Shown.FAILURE
            case _:
                return Shown.ERROR

    @property
    def word(self) -> str:
        """The outcome, and of a violation its kind."""
        return f"{self.outcome.value}: {plain(self.kind)}" if self.kind else self.outcome.value

    @property
    def meaning(self) -> str:
        """What the outcome says, for a person."""
        return self.outcome.meaning_where(exercised=self.exercised)

    @property
    def sentence(self) -> str:
        """What happened, safe to show on one line."""
        return plain(self.reason or self.meaning, chars_max=SENTENCE_CHARS_MAX)

    def details(self) -> Iterator[str]:
        """Yield what there is to be said, line by line, safe to show."""
        yield f"{self.word}: {self.sentence}"
        if self.rules:
            yield f"rules: {listed(self.rules)}"
        if self.known:
            yield f"known: {listed(self.known)}"
        if self.why_not_known is not None:
            yield f"why not known: {plain(self.why_not_known)}"
        if self.directory is not None:
            yield f"run: {plain(self.directory)}"
        if self.replay is not None:
            yield f"replay: {whole(self.replay)}"


def listed(rules: Iterable[str]) -> str:
    """Return ids of rules on one line, safe to show: a journal of others may have any text for one."""
    return plain(", ".join(rules))


def of_run(told: Mapping[str, Any], *, suite: str, name: str, seconds: float | None = None) -> Case:
    """Return the case of a single run, from the object that ``lantern run --json`` prints."""
    outcome = Outcome(told["outcome"])
    violation = told["violation"]
    return Case(
        suite=suite,
        name=name,
        outcome=outcome,
        counted=outcome,
        reason=told["reason"],
        kind=violation["kind"] if outcome is Outcome.VIOLATION and violation else None,
        rules=tuple(told["rules"]),
        exercised=fully_exercised(told["exercised"], told["notes"]),
        seconds=told["load_seconds"] if seconds is None else seconds,
        replay=told["replay"],
        directory=told["run"],
    )
