"""Each rule of the algorithms, broken on purpose, must be caught by the comparison with brute force.

A mutation is a piece of source and what takes its place. The mutant module is compiled beside the real
one and judged on thrown histories; one that is never caught in error would mean that the rule is not
tested, or that it is not needed.
"""

from __future__ import annotations

import importlib
import random
import sys
import types
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from checker import CasRegister
from checker.conventions import Ties
from checker.part import divide
from checker.search import brute
from checker.testing import thrown
from checker.zones.decide import Conflict, Fits

HISTORIES = 20_000


class Mutation(NamedTuple):
    rule: str
    module: str
    was: str
    becomes: str


MUTATIONS = [
    Mutation(
        "a cas to the same value reads",
        "checker.zones.clusters",
        "Code.READ if codes[i] == Code.CAS else Code.NOTHING",
        "Code.NOTHING",
    ),
    Mutation("a value is written once", "checker.zones.clusters", "or lowered.start in where", ""),
    Mutation(
        "uniqueness counts every writer",
        "checker.zones.clusters",
        "if len(where) < len(written) or",
        "if len(where) < len(written) - 1 or",
    ),
    Mutation(
        "nobody reads before the writer",
        "checker.zones.decide",
        "if any(map(lt, read_return, write_call)):",
        "if False:",
    ),
    Mutation(
        "f is the earliest return",
        "checker.zones.decide",
        "list(map(min, clusters.write_return",
        "list(map(max, clusters.write_return",
    ),
    Mutation(
        "s is the latest call",
        "checker.zones.decide",
        "if call > last[cluster]:",
        "if call < last[cluster]:",
    ),
    Mutation(
        "blocks must not cross",
        "checker.zones.decide",
        "if not any(map(lt, returns, tops)):",
        "if True:",
    ),
    Mutation(
        "backward zones sort first",
        "checker.zones.decide",
        "[f + f + 1 if f < s else s + s for",
        "[f + f if f < s else s + s + 1 for",
    ),
    Mutation(
        "zones sort by their lesser stamp",
        "checker.zones.decide",
        "[f + f + 1 if f < s else s + s for",
        "[f + f + 1 for",
    ),
    Mutation(
        "two cas cannot take one value", "checker.zones.decide", "if before in follower:", "if False:"
    ),
    Mutation(
        "cas chains begin somewhere", "checker.zones.decide", "if linked < len(follower):", "if False:"
    ),
    Mutation("what a cas took has happened", "checker.zones.decide", "dead.remove(before)", "pass"),
    Mutation(
        "a chain keeps its order",
        "checker.zones.decide",
        "if clusters.write_return[cluster] < latest or",
        "if",
    ),
    Mutation(
        "a chain's stamps are all its members'",
        "checker.zones.decide",
        "earliest = min(earliest, first[cluster])",
        "pass",
    ),
    Mutation(
        "failed cas are looked at",
        "checker.zones.decide",
        "if failed and not settle(blocks, failed, arrange):",
        "if False:",
    ),
    Mutation(
        "before means before every return",
        "checker.zones.sides",
        "begins(each.cluster) >= each.call",
        "begins(each.cluster) < each.call",
    ),
    Mutation(
        "after means after every call",
        "checker.zones.sides",
        "ends(each.cluster) <= each.back",
        "ends(each.cluster) < each.back - 2",
    ),
    Mutation(
        "after needs something in between", "checker.zones.sides", "if each.back >= ends:", "if True:"
    ),
    Mutation(
        "reads are taken only where they fit",
        "checker.search.register",
        "if sees[at] == state:\n                            taken",
        "if True:\n                            taken",
    ),
    Mutation(
        "failed cas are taken only where they fit",
        "checker.search.register",
        "elif sees[at] != state:",
        "else:\n                        pass\n                    if kind not in (read, write, cas):",
    ),
    Mutation(
        "the soonest return bounds the window",
        "checker.search.register",
        "if back[at] < soonest:",
        "if False:",
    ),
    Mutation(
        "unknown ends may help",
        "checker.search.register",
        "if bits_of and leavable and (wants or differing):",
        "if False:",
    ),
    Mutation(
        "unknown ends may unhold a value",
        "checker.search.register",
        "    if differing:\n        free",
        "    if False:\n        free",
    ),
    Mutation(
        "old values lead to wanted ones",
        "checker.search.register",
        "for each in maybes.wanted(want)",
        "for each in (want,)",
    ),
    Mutation(
        "junk spares no cas",
        "checker.search.register",
        "(old == state or (old == NO_OLD and free is None))",
        "(old == NO_OLD and free is None)",
    ),
    Mutation(
        "a value is left only when nobody needs it",
        "checker.search.register",
        "if needed == 1:",
        "if needed == 0:",
    ),
    Mutation(
        "an operation waits for its call",
        "checker.search.generic",
        "while call[at] <= soonest and at < size:",
        "while at < size:",
    ),
    Mutation("fewer used dominates", "checker.search.generic", "less & used == less", "True"),
    Mutation(
        "unknown ends are tried",
        "checker.search.generic",
        "if position is None or calls[position] > soonest:",
        "if True:",
    ),
]


def mutant(mutation: Mutation) -> types.ModuleType:
    module = importlib.import_module(mutation.module)
    assert module.__file__ is not None
    source = Path(module.__file__).read_text()
    assert source.count(mutation.was) >= 1, f"{mutation.rule}: the source has changed"
    changed = types.ModuleType(f"{module.__name__}_mutant")
    changed.__file__ = module.__file__
    sys.modules[changed.__name__] = changed
    try:
        exec(
            compile(source.replace(mutation.was, mutation.becomes, 1), "mutant", "exec"),
            changed.__dict__,
        )
    finally:
        del sys.modules[changed.__name__]
    return changed


def caught(mutation: Mutation) -> bool:
    changed = mutant(mutation)
    decide_module = importlib.import_module("checker.zones.decide")
    name = changed.__name__.removesuffix("_mutant")
    if name == "checker.zones.decide":
        decide = changed.decide
    elif name in {"checker.zones.clusters", "checker.zones.sides"}:
        decide = _with(decide_module, changed)
    else:
        return _caught_searching(changed)
    dice = random.Random(mutation.rule)
    for _ in range(HISTORIES):
        history = thrown(dice)
        (share,) = divide(history, CasRegister(), None, history.spans(Ties.CONCURRENT))
        part = share.part()
        truth = brute.linearizable(part.model, part.operations, part.start, part.calls, part.returns)
        try:
            answer = decide(share.lowered()[0])
        except (KeyError, IndexError, AssertionError, TypeError, ValueError, StopIteration):
            return True
        name = type(answer).__name__
        if (name == Fits.__name__ and not truth) or (name == Conflict.__name__ and truth):
            return True
    return False


def _with(decide_module: types.ModuleType, changed: types.ModuleType) -> Any:
    """Return ``decide`` of a copy of its module that uses the mutant's functions."""
    assert decide_module.__file__ is not None
    copy = types.ModuleType("checker.zones.decide_mutant")
    copy.__file__ = decide_module.__file__
    sys.modules[copy.__name__] = copy
    try:
        exec(compile(Path(decide_module.__file__).read_text(), "copy", "exec"), copy.__dict__)
    finally:
        del sys.modules[copy.__name__]
    for used in ("gather", "assign", "settle", "Failed", "Sides"):
        if hasattr(changed, used):
            setattr(copy, used, getattr(changed, used))
    return copy.decide


def _caught_searching(changed: types.ModuleType) -> bool:
    dice = random.Random("searches")
    for _ in range(HISTORIES):
        history = thrown(dice, repeats=0.6)
        (share,) = divide(history, CasRegister(), None, history.spans(Ties.CONCURRENT))
        part = share.part()
        args = (part.operations, part.start, part.calls, part.returns)
        truth = brute.linearizable(part.model, *args)
        generic = changed.__name__.startswith("checker.search.generic")
        searching = changed.search(part.model, *args) if generic else changed.search(share.lowered()[0])
        try:
            while True:
                next(searching)
        except StopIteration as done:
            if (done.value.order is not None) is not truth:
                return True
        except (KeyError, IndexError, AssertionError):
            return True
    return False


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.rule.replace(" ", "-"))
def test_a_broken_rule_is_caught(mutation: Mutation) -> None:
    assert caught(mutation), f"nobody noticed that {mutation.rule!r} was broken"
