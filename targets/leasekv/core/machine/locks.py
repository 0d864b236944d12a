"""The lock service: sessions, locks with those that wait for them, and a token for every grant.

A lock is held by a *session* and only while that lives. A session begins with the first acquisition it
is named in, is renewed by each later one and by renewals, and ends when it has given back what it held,
or when it expires. Time is no business of a replica: a leader that has seen no renewal for a session's
time to live says so in the log, with the index of the last renewal *it* has seen. If there was a newer
one by the time that entry is applied, it means nothing; so no leader that was deposed or late can end a
session that somebody renewed.

Who waits is served in the order of asking, and looked at again when its turn comes: its session may
have ended meanwhile (K4). The token of a grant is made of the entry that brought it about, which may be
somebody else's release (K3). A lock that nobody holds is forgotten; its next grant is later in the log.

Deterministic and total, as `kv` is: what makes no sense is UNSUPPORTED.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from checker.evidence import Granted, SessionBegan, SessionEnded
from targets.leasekv.fencing import Candidate, Fencing, Grant
from targets.leasekv.messages import Code, Op

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from checker.evidence import Fact
    from targets.leasekv.messages import Entry, Key

TTL_MAX_NS: Final = 24 * 3600 * 1_000_000_000


class Session(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """``renewed`` is the index of the entry that renewed it last."""

    renewed: int
    ttl_ns: int


class Answer(NamedTuple):
    """What the client hears whose entry is at index ``to``."""

    to: int
    code: Code | None
    value: Any = None


@dataclass(slots=True)
class Lock:
    """``waiting`` are sessions, each with the index of the acquisition that waits for an answer."""

    holder: str
    token: int
    waiting: deque[tuple[str, int]] = field(default_factory=deque)


class Locks:
    """All locks and sessions; ``told`` and ``answers`` are taken away by whoever applies entries."""

    __slots__ = ("_fencing", "_locks", "_sessions", "answers", "told")

    def __init__(self, fencing: Fencing) -> None:
        self._fencing = fencing
        self._sessions: dict[str, Session] = {}
        self._locks: dict[Key, Lock] = {}
        self.told: list[Fact] = []
        self.answers: list[Answer] = []

    @property
    def sessions(self) -> Mapping[str, Session]:
        """The sessions that live."""
        return self._sessions

    def snapshot(self) -> Any:
        """Return everything it holds, as a value that never changes again."""
        locks = tuple(
            (name, lock.holder, lock.token, tuple(lock.waiting)) for name, lock in self._locks.items()
        )
        sessions = ((name, each.renewed, each.ttl_ns) for name, each in self._sessions.items())
        return locks, tuple(sessions)

    def restore(self, snapshot: Any) -> None:
        """Hold what another one held when it gave that."""
        locks, sessions = snapshot
        self._locks = {
            name: Lock(holder, token, deque((session, index) for session, index in waiting))
            for name, holder, token, waiting in locks
        }
        self._sessions = {name: Session(renewed, ttl_ns) for name, renewed, ttl_ns in sessions}

    def apply(self, entry: Entry) -> None:
        """Do what an entry of ours says; every answer it brings about is among ``answers``."""
        match entry.op, entry.key, entry.value:
            case Op.ACQUIRE, (str() | int()), [str(session), int(ttl_ns)] if (
                type(ttl_ns) is int and 0 < ttl_ns <= TTL_MAX_NS
            ):
                self._acquire(entry, session, ttl_ns)
            case Op.RENEW, _, str(session):
                self._answer(entry.index, None if self._renew(entry, session) else Code.EXPIRED)
            case Op.RELEASE, _, str(session):
                self._answer(entry.index, None if self._release(entry, session) else Code.NOT_HELD)
            case Op.EXPIRE, _, [str(session), int(renewed)]:
                self._expire(entry, session, renewed)
            case _:
                self._answer(entry.index, Code.UNSUPPORTED)

    def _acquire(self, entry: Entry, session: str, ttl_ns: int) -> None:
        if session not in self._sessions:
            self.told.append(SessionBegan(entry.term, entry.index, session))
        self._sessions[session] = Session(entry.index, ttl_ns)
        lock = self._locks.get(entry.key)
        if lock is None or lock.holder not in self._sessions:
            waiting = deque[tuple[str, int]]() if lock is None else lock.waiting
            self._grant(entry, entry.key, waiting, session, entry.index)
        elif lock.holder == session:
            self._answer(entry.index, None, lock.token)
        else:
            lock.waiting.append((session, entry.index))

    def _renew(self, entry: Entry, session: str) -> bool:
        known = self._sessions.get(session)
        if known is None:
            return False
        self._sessions[session] = Session(entry.index, known.ttl_ns)
        return True

    def _release(self, entry: Entry, session: str) -> bool:
        lock = self._locks.get(entry.key)
        if lock is None or lock.holder != session:
            return False
        self._pass_on(entry, entry.key, lock)
        if session in self._sessions and not any(self._uses(session)):
            self._end(entry, session, expired=False)
        return True

    def _expire(self, entry: Entry, session: str, renewed: int) -> None:
        known = self._sessions.get(session)
        if known is None or known.renewed != renewed:
            return
        self._end(entry, session, expired=True)
        for name in [name for name, lock in self._locks.items() if lock.holder == session]:
            self._pass_on(entry, name, self._locks[name])

    def _uses(self, session: str) -> Iterator[bool]:
        for lock in self._locks.values():
            yield lock.holder == session or any(waits == session for waits, _ in lock.waiting)

    def _end(self, entry: Entry, session: str, *, expired: bool) -> None:
        del self._sessions[session]
        self.told.append(SessionEnded(entry.term, entry.index, session, expired))

    def _pass_on(self, entry: Entry, name: Key, lock: Lock) -> None:
        """Give a lock to the next that waits for it and may have it; else forget it."""
        while lock.waiting:
            session, asked = lock.waiting.popleft()
            if self._fencing.may_hold(Candidate(session, session in self._sessions)):
                self._grant(entry, name, lock.waiting, session, asked)
                return
            self._answer(asked, Code.EXPIRED)
        del self._locks[name]

    def _grant(
        self, entry: Entry, name: Key, waiting: deque[tuple[str, int]], session: str, asked: int
    ) -> None:
        token = self._fencing.token(Grant(entry.index, entry.term))
        self._locks[name] = Lock(session, token, waiting)
        self.told.append(Granted(entry.term, entry.index, name, session, token))
        self._answer(asked, None, token)

    def _answer(self, index: int, code: Code | None, value: Any = None) -> None:
        self.answers.append(Answer(index, code, value))
