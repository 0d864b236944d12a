"""What lies in a store: its runs and its campaigns, found afresh at every look.

A store is a directory of run directories, or one that holds ``runs/`` and ``campaigns/``. Whatever a
name in a URL says is looked up among what was found here and never joined to a path, so nothing outside
the store can be asked for. Runs may come from strangers: links are not followed, files are read bounded,
and a run of which nothing can be read is shown as just that.

A list shows few words of a run, so of its plan only the lines of those words are looked at.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from harness.campaign.journal import CAMPAIGN, ROWS, SUMMARY
from harness.report.tone import NO_VERDICT
from harness.store.errors import StoreError
from harness.store.files import open_regular
from harness.store.rundir import RunDir

from .campaigns import NOT_ENDED, campaign_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .campaigns import Campaign

RUNS: Final = "runs"
CAMPAIGNS: Final = "campaigns"
ENTRIES_MAX: Final = 20_000
PLAN_HEAD_BYTES: Final = 4096
_WORD: Final = re.compile(rb"^'?(target|policy|on|seed)'?: *'?([^'\n]{1,200})'?$", re.MULTILINE)
_MISTAKES: Final = re.compile(rb"^mistake:\n((?:- [^\n]{1,100}\n)+)", re.MULTILINE)


class _Violation(msgspec.Struct):
    kind: str | None = None


class _Verdict(msgspec.Struct):
    """The few words of a verdict that a list shows."""

    outcome: str
    reason: str | None = None
    violation: _Violation | None = None
    rules: list[str] = []


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """One run in a list. ``name`` is its place in the store; "" is what is not known of it."""

    name: str
    outcome: str
    kind: str
    reason: str
    rules: tuple[str, ...]
    target: str
    policy: str
    mistakes: tuple[str, ...]
    on: str
    seed: str
    changed_ns: int

    @property
    def word(self) -> str:
        """The outcome, with the kind of a violation."""
        return f"{self.outcome}/{self.kind}" if self.kind else self.outcome


class Shelf:
    """The store at ``place``. What was read of it is kept for as long as its files do not change."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._read: dict[Path, tuple[tuple[int, int], Shown]] = {}
        self._reckoned: dict[Path, tuple[tuple[int, ...], Campaign]] = {}

    def runs(self) -> dict[str, Shown]:
        """Return every run by its name, the newest first."""
        found = [self._shown(path) for path in self._places() if _is_run(path)]
        found.sort(key=lambda run: (-run.changed_ns, run.name))
        self._read = {path: kept for path, kept in self._read.items() if os.path.isdir(path)}  # noqa: PTH112
        return {run.name: run for run in found}

    def campaigns(self) -> dict[str, Campaign]:
        """Return every campaign by its name, the newest first."""
        found = [self._campaign(path) for path in self._places() if _is_campaign(path)]
        found.sort(key=lambda campaign: (-campaign.changed_ns, campaign.name))
        self._reckoned = {path: kept for path, kept in self._reckoned.items() if os.path.isdir(path)}  # noqa: PTH112
        return {campaign.name: campaign for campaign in found}

    def directory(self, name: str) -> RunDir | None:
        """Return the run of this name, None if there is none among those that are here."""
        for path in self._places():
            if self._name(path) == name and _is_run(path):
                return RunDir(path)
        return None

    def _name(self, path: Path) -> str:
        return path.relative_to(self.place).as_posix()

    def _places(self) -> Iterator[Path]:
        """Yield each directory that may be a run or a campaign, no more than so many."""
        left = ENTRIES_MAX
        waiting = [self.place, self.place / RUNS, self.place / CAMPAIGNS]
        while waiting and left:
            folder = waiting.pop(0)
            for path in _directories(folder):
                if path.name in {RUNS, CAMPAIGNS} and folder == self.place:
                    continue
                left -= 1
                if not left:
                    return
                yield path
                if _is_campaign(path):
                    waiting.append(path)

    def _shown(self, path: Path) -> Shown:
        run = RunDir(path)
        stamp = (_changed_ns(run.verdict), _changed_ns(run.plan))
        kept = self._read.get(path)
        if kept is None or kept[0] != stamp:
            kept = stamp, _read(self._name(path), run, changed_ns=max(stamp))
            self._read[path] = kept
        return kept[1]

    def _campaign(self, path: Path) -> Campaign:
        stamp = tuple(_changed_ns(path / file) for file in (ROWS, CAMPAIGN, SUMMARY))
        kept = self._reckoned.get(path)
        if kept is None or kept[0] != stamp:
            kept = stamp, campaign_of(path, name=self._name(path), changed_ns=stamp[0])
            self._reckoned[path] = kept
        return kept[1]


def _directories(folder: Path) -> list[Path]:
    """Return the directories in one, links left out, in order of their names."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return [folder / name for name in sorted(names) if not name.startswith(".") and _is_text(name)]


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # a name that is no UTF-8 could not be asked for
        return False
    return True


def _is_run(path: Path) -> bool:
    return not _is_campaign(path) and (_is_file(path / "plan.yaml") or _is_file(path / "history.jsonl"))


def _is_campaign(path: Path) -> bool:
    return _is_file(path / ROWS) or _is_file(path / CAMPAIGN)


def _is_file(path: Path) -> bool:
    """Tell whether there is a file; no of a place that may not be looked into, as somebody else's."""
    return os.path.isfile(path)  # noqa: PTH113 - the other one raises there


def _changed_ns(path: Path) -> int:
    try:
        return path.stat(follow_symlinks=False).st_mtime_ns
    except OSError:
        return 0


def _read(name: str, run: RunDir, *, changed_ns: int) -> Shown:
    words, mistakes = _planned(run.plan)
    said = _said(run)
    violation = said.violation
    return Shown(
        name=name,
        outcome=said.outcome,
        kind="" if violation is None else violation.kind or "",
        reason=said.reason or "",
        rules=tuple(said.rules),
        target=words.get("target", ""),
        policy=words.get("policy", ""),
        mistakes=mistakes,
        on=words.get("on", ""),
        seed=words.get("seed", ""),
        changed_ns=changed_ns,
    )


def _said(run: RunDir) -> _Verdict:
    if not os.path.lexists(run.verdict):
        return _Verdict(NO_VERDICT, reason=NOT_ENDED)
    try:
        return msgspec.convert(run.read_verdict(), _Verdict)
    except (StoreError, msgspec.ValidationError) as error:
        return _Verdict(NO_VERDICT, reason=str(error))


def _planned(plan: Path) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return what the first lines of a plan, as Lantern writes it, say of the target."""
    try:
        with open_regular(plan) as file:
            head = file.read(PLAN_HEAD_BYTES)
    except (StoreError, OSError):
        return {}, ()
    words = {found[1].decode(): found[2].decode(errors="replace") for found in _WORD.finditer(head)}
    planted = _MISTAKES.search(head)
    if planted is None:
        return words, ()
    return words, tuple(line[2:] for line in planted[1].decode(errors="replace").splitlines())


def details(run: RunDir) -> dict[str, Any]:
    """Return a run's verdict as it is; empty if it has none that can be read."""
    try:
        return run.read_verdict()
    except StoreError:
        return {}
