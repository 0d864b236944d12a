"""Dumb judges: what must hold of every run, checked the slow and obvious way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from checker.evidence import Checked, RoleChanged
from targets.cluster import Role

if TYPE_CHECKING:
    from sim_lab import Lab

    from targets.leasekv.messages import Entry
    from targets.sim.node import SimNode


@dataclass
class Invariants:
    """Raft's safety properties and one lease at a time, looked at after every step of every node."""

    lab: Lab
    committed: dict[int, Entry] = field(default_factory=dict)
    """By index, as first seen. What is committed and compacted within one step is never seen."""
    terms: dict[int, int] = field(default_factory=dict)
    """By index, a term that the commit is not later than."""
    leaders: dict[int, str] = field(default_factory=dict)
    commits: dict[tuple[str, int], int] = field(default_factory=dict)
    one_lease: bool = True
    """Whether the policy forbids two leases at one instant."""
    seen: int = 0
    caught_up: int = 0
    """How often a snapshot brought a running node what it lacked."""

    def __call__(self, node: SimNode) -> None:
        assert node.core is not None
        state = node.core._state
        log = state.log
        assert state.applied_index <= state.commit_index <= log.last_index
        before = self.commits.get((node.name, node.disk.boot), 0)
        assert state.commit_index >= before, f"{node.name}: the commit index went back"
        self.caught_up += 0 < before < log.offset
        for index in range(max(before, log.offset) + 1, state.commit_index + 1):
            entry = log.entry(index)
            seen = self.committed.setdefault(index, entry)
            assert seen == entry, f"{node.name}: another entry at {index}"
            self.terms.setdefault(index, state.term)
        last = self.committed.get(log.offset)
        assert last is None or last.term == log.offset_term, "a snapshot of something else"
        self.commits[node.name, node.disk.boot] = state.commit_index
        for line in self.lab.lines[self.seen :]:
            match line.what:
                case RoleChanged(term, Role.LEADER.value):
                    assert self.leaders.setdefault(term, line.node) == line.node, "two leaders a term"
                    for index in range(log.offset + 1, max(self.committed, default=0) + 1):
                        if self.terms.get(index, term) < term:  # of later terms it owes nothing
                            agreed = self.committed[index]
                            assert log.term_at(index) == agreed.term, "a leader lacks what is committed"
                case Checked(granted=True) if self.one_lease:
                    assert self.lab.holders() in ([], [line.node]), "two leases at one instant"
        self.seen = len(self.lab.lines)

    def logs_match(self) -> None:
        """Log matching: where two logs agree on a term, they agree up to there."""
        cores = [self.lab.cluster.look(name).core for name in self.lab.nodes]
        assert None not in cores, "every node is back"
        logs = [core._state.log for core in cores if core is not None]
        for a in logs:
            for b in logs:
                first = max(a.offset, b.offset)
                pairs = list(zip(a.after(first), b.after(first), strict=False))
                last = max((i for i, (x, y) in enumerate(pairs) if x.term == y.term), default=-1)
                assert all(x == y for x, y in pairs[: last + 1])


@dataclass
class Operation:
    """An interval; ``end_ns`` None is open for ever. A failed operation never gets here."""

    f: str
    value: Any
    start_ns: int
    end_ns: int | None = None


def linearizable(operations: list[Operation]) -> bool:
    """One register, absent is None: try every order that the intervals allow, remembering dead ends.

    ``f`` is read (``value`` was read), write, delete, cas (``value`` is the pair; it matched) or miss
    (a cas that did not match).
    """
    ordered = sorted(operations, key=lambda op: op.start_ns)
    ends = [1 << 80 if op.end_ns is None else op.end_ns for op in ordered]
    must = sum(1 << i for i, op in enumerate(ordered) if op.end_ns is not None)
    dead: set[tuple[int, Any]] = set()
    stack: list[tuple[int, Any]] = [(0, None)]
    while stack:
        done, value = stack.pop()
        if done & must == must:
            return True
        if (done, value) in dead:
            continue
        dead.add((done, value))
        open_ = [i for i in range(len(ordered)) if not done >> i & 1]
        first_end = min(ends[i] for i in open_)
        for i in open_:
            op = ordered[i]
            if op.start_ns > first_end:
                break
            legal, after = _apply(op, value)
            if legal:
                stack.append((done | 1 << i, after))
    return False


def _apply(op: Operation, value: Any) -> tuple[bool, Any]:
    match op.f:
        case "read":
            return op.value == value, value
        case "write":
            return True, op.value
        case "delete":
            return True, None
        case "cas":
            # One that nobody heard of may have missed, too.
            if op.value[0] == value:
                return True, op.value[1]
            return op.end_ns is None, value
        case "miss":
            return op.value[0] != value, value
    raise AssertionError(op.f)
