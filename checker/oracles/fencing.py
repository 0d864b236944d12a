"""Oracle 5: what was written under a lock kept the order in which the lock was granted.

That two clients believe in one lock at a time is no violation: one of them may have been stopped, and
nobody can tell it so. It is counted, as information. What must never be, by lock and resource of one
name:

* the storage accepts a token lower than one that it accepted before, or one that nobody was granted;
* a grant has no greater token than the grant before it;
* a lock is granted to a session that has ended.

Two witnesses, each on its own. The *history*: an operation that ended before another was invoked comes
before it, so of two accepted writes (or reads that saw them) in that order the later one has no lower
token. The *evidence*: nodes tell what each entry of their log brought about, and its index is its place.
All nodes apply one log, so they are heard together; one that forgot what it had accepted says so itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from checker.events import EventType
from checker.evidence import Granted, SessionBegan, SessionEnded, Stored
from checker.oracles.result import Finding, OracleResult, judged
from checker.values import show, tag

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from checker.operations import Operation
    from checker.timeline import Timelines

NAME: Final = "fencing"
KIND: Final = "fencing"
REFUSED: Final = "FENCED"
"""The code of a write that the storage did not accept for its token."""


def fencing(operations: Iterable[Operation], timelines: Timelines) -> OracleResult | None:
    """Judge a run; None if no lock was asked for."""
    operations = list(operations)
    names = {tag(operation.key) for operation in operations if operation.f == "acquire"}
    ours = [operation for operation in operations if tag(operation.key) in names]
    told = list(_told(timelines))
    if not (names or told):
        return None
    findings = [*_by_time(ours), *_by_index(told)]
    figures: dict[str, int | float] = {**counts(ours, timelines), "held_by_two": _held_by_two(ours)}
    return judged(NAME, KIND, findings, figures)


def counts(operations: Iterable[Operation], timelines: Timelines) -> dict[str, int]:
    """Return what a run exercised of fencing, under the names of `checker.exercised`."""
    operations = list(operations)
    ended = {fact for _, _, fact in _told(timelines) if isinstance(fact, SessionEnded) and fact.expired}
    return {
        "grants": sum(each.f == "acquire" and each.known for each in operations),
        "expiries": len(ended),
        "refused-tokens": sum(
            each.outcome is EventType.FAIL and each.error == REFUSED for each in operations
        ),
    }


# What clients saw.


def token_of(operation: Operation) -> int | None:
    """Return the token that an operation's value shows; None if it shows none."""
    value = operation.value
    shown = value[0] if isinstance(value, list | tuple) and len(value) == 2 else value
    return shown if type(shown) is int else None


def _by_time(operations: Sequence[Operation]) -> Iterator[Finding]:
    accepted = [each for each in operations if each.f in {"write", "read"} and each.known]
    acquired = [each for each in operations if each.f == "acquire" and each.known]
    yield from _falls(accepted, lambda token, before: token < before, "was accepted")
    yield from _falls(acquired, lambda token, before: token <= before, "was granted")
    granted = {(tag(each.key), token_of(each)) for each in acquired}
    for each in accepted:
        token = token_of(each)
        if each.f == "write" and token is not None and (tag(each.key), token) not in granted:
            sentence = f"token {token} of {show(each.key)} was accepted (process {each.process}, {each})"
            yield Finding(
                sentence=f"{sentence}, and no acquisition was ever told of it", operations=(each,)
            )


def _falls(
    operations: Sequence[Operation], wrong: Callable[[int, int], bool], verb: str
) -> Iterator[Finding]:
    """Yield each operation whose token is wrong after one that had ended when it was invoked."""
    ends = sorted(
        (each.return_ns, each.index, each, token)
        for each in operations
        if each.return_ns is not None and (token := token_of(each)) is not None
    )
    newest: dict[Hashable, tuple[int, Operation]] = {}
    at = 0
    for each in sorted(operations, key=lambda each: each.call_ns):
        while at < len(ends) and ends[at][0] < each.call_ns:
            _, _, ended, token = ends[at]
            at += 1
            key = tag(ended.key)
            if key not in newest or token > newest[key][0]:
                newest[key] = (token, ended)
        shown, before = token_of(each), newest.get(tag(each.key))
        if shown is not None and before is not None and wrong(shown, before[0]):
            yield Finding(
                sentence=(
                    f"token {shown} of {show(each.key)} {verb} (process {each.process}, {each}) after"
                    f" token {before[0]} (process {before[1].process}, {before[1]})"
                ),
                nodes=(each.node,) if each.node is not None else (),
                operations=(before[1], each),
            )


def _held_by_two(operations: Sequence[Operation]) -> int:
    """Count the grants at which somebody else still believed in the lock.

    A process believes from the answer to its acquisition until it asks for the release, or until what
    it does with its token ends otherwise than *ok*.
    """
    marks: list[tuple[int, bool, Operation]] = []
    for each in operations:
        if each.f == "acquire" and each.known and each.return_ns is not None:
            marks.append((each.return_ns, True, each))
        elif each.f == "release":
            marks.append((each.call_ns, False, each))
        elif each.f in {"write", "renew"} and not each.known and each.return_ns is not None:
            marks.append((each.return_ns, False, each))
    believers: dict[Hashable, set[int | str]] = {}
    overlaps = 0
    for _, begins, each in sorted(marks, key=lambda mark: mark[:2]):
        mine = believers.setdefault(tag(each.key), set())
        mine.discard(each.process)
        if begins:
            overlaps += bool(mine)
            mine.add(each.process)
    return overlaps


# What nodes told.

_Told = tuple[int, tuple[str, int], SessionBegan | SessionEnded | Granted | Stored]
"""The index of an entry, the node that tells of it and the place of its line, what it brought about."""

_RANK: Final = {SessionEnded: 0, SessionBegan: 1, Granted: 2, Stored: 3}
"""In which order the facts of one entry are taken; only an expiry both ends a session and grants."""


def _told(timelines: Timelines) -> Iterator[_Told]:
    """Yield what was told of each entry, once, in the order of the log."""
    seen: dict[tuple[int, int, Any], _Told] = {}
    for node, timeline in timelines.items():
        for place in timeline.turns(SessionBegan, SessionEnded, Granted, Stored):
            fact = timeline.lines[place].what
            assert isinstance(fact, SessionBegan | SessionEnded | Granted | Stored)
            seen.setdefault((fact.index, _RANK[type(fact)], fact), (fact.index, (node, place), fact))
    yield from (seen[at] for at in sorted(seen, key=lambda at: at[:2]))


def _by_index(told: Sequence[_Told]) -> Iterator[Finding]:
    newest: dict[Hashable, tuple[int, int]] = {}
    last: dict[Hashable, tuple[int, int]] = {}
    ended: set[str] = set()
    for index, (node, _), fact in told:
        sentence = None
        match fact:
            case SessionBegan(session=session):
                ended.discard(session)
            case SessionEnded(session=session):
                ended.add(session)
            case Granted(session=session, token=token):
                key = tag(fact.key)
                before = last.get(key, (0, 0))
                if session in ended:
                    sentence = f"{show(fact.key)} was granted to session {session}, which had ended"
                elif token <= before[0]:
                    sentence = f"token {token} of {show(fact.key)} was granted after token {before[0]}"
                    sentence = f"{sentence} at index {before[1]}"
                last[key] = (token, index)
            case Stored(token=token):
                key = tag(fact.key)
                before = newest.get(key, (0, 0))
                if token < before[0]:
                    sentence = f"{node} accepted token {token} for {show(fact.key)}"
                    sentence = f"{sentence} after token {before[0]} at index {before[1]}"
                newest[key] = max(before, (token, index))
        if sentence is not None:
            yield Finding(sentence=f"{sentence}, at index {index}", nodes=(node,), terms=(fact.term,))
