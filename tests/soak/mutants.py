"""Small random edits of the core's rules, each judged by the swarm; docs/track-record.md has the rounds.

An edit flips a comparison, drops a term or an operand, swaps the greater for the lesser, takes a refusal
or a step away. It is made in a throwaway copy and judged there by swarm seeds of the policies that it
can matter to, until one shows a violation. One after which a policy never reads its own way any more is
*idle*: its runs are not exercised, and no pass. What nothing shows is a *survivor*, to be looked at: an
edit that changes nothing that is owed, or something that these seeds cannot see.

    tests/soak/mutants.py --mutants 30 --round 1 --store FILE      go on from what the file has
    tests/soak/mutants.py --table --store FILE
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from harness.plan import Plan

HERE: Final = Path(__file__).resolve()
ROOT: Final = HERE.parents[2]
PACKAGES: Final = ("checker", "harness", "nemesis", "targets")
SEED_CPU_S: Final = 30
"""A drawn run takes well under a second; one that takes this long goes round for ever."""

NODES: Final = 3
LOAD_S_MAX: Final = 10
"""Seeds as small as this are a third of the swarm's, and cost a quarter."""

READS: Final = frozenset({"lease-reads", "readindex-reads", "log-reads"})
RENEW: Final = ("lease-renew", "readindex")
BY_FILE: Final[dict[str, tuple[str, ...]]] = {
    "rules.py": (),  # by the function, see `_policies`
    "moments.py": ("lease-interval", "lease-log", "lease-renew"),
    "membership.py": RENEW,
    "core/promise.py": ("lease-renew", "lease-oneshot", "lease-interval"),
    "core/oneshot.py": ("lease-oneshot",),
    "core/lease.py": ("lease-renew", "lease-oneshot", "lease-interval"),
    "core/log_lease.py": ("lease-log", "lease-log-deferred", "lease-log-inherited"),
    "core/old_leases.py": ("newleader-waits",),
    "core/commit_wait.py": ("lease-interval-commit-wait",),
    "core/reads.py": ("readindex", "lease-renew", "readindex-unbatched"),
    "core/election.py": RENEW,
    "core/roles.py": RENEW,
    "core/transfer.py": ("lease-renew",),
    "core/members.py": RENEW,
    "core/change.py": RENEW,
    "core/follower.py": RENEW,
    "core/replication.py": RENEW,
}
"""Where rules are, and the policies that they matter to."""

ABOUT: Final = {
    "membership.py": "membership",
    "core/members.py": "membership",
    "core/change.py": "membership",
    "core/transfer.py": "transfer",
}
"""The family of faults without which a file's rules are hardly asked."""

FLIPS: Final[dict[type[ast.cmpop], str]] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
How = Literal["violation", "crash", "hang", "idle", "survived"]


class Edit(msgspec.Struct, frozen=True):
    """One edit: what stands from ``at`` to ``end`` in a file, and what takes its place."""

    file: str
    line: int
    at: int
    end: int
    before: str
    after: str
    function: str


class Verdict(msgspec.Struct, frozen=True):
    """What the swarm made of an edit; ``seed`` is the first that showed it, of ``policy``."""

    edit: Edit
    how: How
    seeds: int
    cpu_s: float
    seed: int | None = None
    policy: str | None = None
    reason: str | None = None


# Edits.


def edits(file: str) -> Iterator[Edit]:
    """Yield every edit that a file has room for."""
    source = (ROOT / "targets" / "leasekv" / file).read_text()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for function in _functions(ast.parse(source)):
        for node, after in _changes(function, source):
            assert isinstance(node, ast.expr | ast.stmt)
            at = starts[node.lineno - 1] + node.col_offset
            end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
            yield Edit(file, node.lineno, at, end, source[at:end], after, function.name)


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield node


def _changes(function: ast.FunctionDef, source: str) -> Iterator[tuple[ast.AST, str]]:
    def text(node: ast.AST) -> str:
        return ast.get_source_segment(source, node) or ""

    for statement in function.body:
        for node in ast.walk(statement):
            yield from _of_terms(node, text)
            match node:
                case ast.Call(func=ast.Name(id="max")):
                    yield node, "min" + text(node).removeprefix("max")
                case ast.Call(func=ast.Name(id="min")):
                    yield node, "max" + text(node).removeprefix("min")
                case ast.If(test=test, body=[ast.Return() | ast.Continue()], orelse=[]):
                    yield test, "False"
                case ast.Expr(value=ast.Call()) if not text(node).startswith("state.out.fact"):
                    yield node, "pass"
                case _:
                    pass


def _of_terms(node: ast.AST, text: Callable[[ast.AST], str]) -> Iterator[tuple[ast.AST, str]]:
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in FLIPS:
            yield node, f"({text(left)} {FLIPS[type(op)]} {text(right)})"
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub()):
            yield node, f"({text(left)})"
        case ast.BoolOp(values=[first, *_, last]):
            yield node, f"({text(first)})"
            yield node, f"({text(last)})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, f"({text(operand)})"
        case _:
            pass


def drawn(number: int, count: int) -> list[Edit]:
    """Draw the edits of a round: as many of each file, as far as there are any."""
    rng = Random(f"{number}/mutants")
    left = {file: list(edits(file)) for file in BY_FILE}
    chosen: list[Edit] = []
    while len(chosen) < count and any(left.values()):
        for some in left.values():
            if some and len(chosen) < count:
                chosen.append(some.pop(rng.randrange(len(some))))
    return chosen


def policies_of(edit: Edit) -> tuple[str, ...]:
    """Return the policies whose seeds judge an edit; of a rule those that have it, the first three."""
    if BY_FILE[edit.file]:
        return BY_FILE[edit.file]
    from targets.leasekv.policies import POLICIES

    def has(rules: msgspec.Struct) -> bool:
        values = (getattr(rules, field) for field in rules.__struct_fields__)
        return any(getattr(value, "__name__", None) == edit.function for value in values)

    return tuple(name for name, one in POLICIES.items() if has(one.rules))[:3] or RENEW


# Judging.


def judge_here(policies: Sequence[str], seeds: int, about: str | None) -> dict[str, object]:
    """Run cheap swarm seeds of the code on the path, the policies in turn, until one shows something."""
    from harness.outcome import Outcome
    from harness.run.simulate import judge_recording, simulate

    signal.signal(signal.SIGPROF, _too_long)
    exercised: Counter[tuple[str, str]] = Counter()
    for tried, (seed, policy, plan) in enumerate(islice(_plans(policies, about), seeds), 1):
        signal.setitimer(signal.ITIMER_PROF, SEED_CPU_S)
        try:
            recording = simulate(plan)
            judged = judge_recording(recording)
        except TimeoutError:
            return _shown("hang", tried, seed, policy, "it goes round for ever")
        except Exception as error:  # noqa: BLE001 - a core that cannot even be made
            return _shown("crash", tried, seed, policy, repr(error))
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        if judged.outcome is Outcome.VIOLATION:
            return _shown("violation", tried, seed, policy, judged.reason)
        if recording.last_words:
            return _shown("crash", tried, seed, policy, next(iter(recording.last_words.values())))
        for claim in READS & judged.exercised.keys():
            exercised[policy, claim] += judged.exercised[claim]
    for (policy, claim), many in sorted(exercised.items()):
        if not many:
            return {"how": "idle", "seeds": seeds, "reason": f"no {claim} under {policy}"}
    return {"how": "survived", "seeds": seeds}


def _plans(policies: Sequence[str], about: str | None) -> Iterator[tuple[int, str, Plan]]:
    """Yield the plans of small seeds, those with a family of faults if one is named."""
    from harness.campaign.swarm import swarm_plan
    from harness.plan import plan_from

    for seed in count():
        for policy in policies:
            plan = swarm_plan(plan_from(None, {"on": "sim", "policy": policy, "seed": seed}))
            small = plan.nodes == NODES and plan.time_s <= LOAD_S_MAX
            if small and (about is None or about in plan.faults):
                yield seed, policy, plan


def _shown(how: How, tried: int, seed: int, policy: str, reason: str | None) -> dict[str, object]:
    return {"how": how, "seeds": tried, "seed": seed, "policy": policy, "reason": reason}


def _too_long(*_: object) -> None:
    raise TimeoutError


def judged(edit: Edit, copy: Path, seeds: int) -> Verdict:
    """Judge one edit in a copy, which is as it was afterwards."""
    path = copy / "targets" / "leasekv" / edit.file
    source = path.read_text()
    path.write_text(source[: edit.at] + edit.after + source[edit.end :])
    command = [sys.executable, "-B", str(HERE), "--seeds", str(seeds), "--judge", *policies_of(edit)]
    if edit.file in ABOUT:
        command += ["--about", ABOUT[edit.file]]
    env = {**os.environ, "PYTHONPATH": str(copy)}
    began_s = os.times().children_user
    try:
        told = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    finally:
        path.write_text(source)
    spent_s = round(os.times().children_user - began_s, 1)
    if told.returncode:
        last = told.stderr.strip().splitlines()[-1:]
        return Verdict(edit, "crash", 1, spent_s, 0, None, " ".join(last))
    return msgspec.convert({**json.loads(told.stdout), "edit": edit, "cpu_s": spent_s}, Verdict)


# The round.


def table(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield what came of every edit."""
    yield "| where | edit | caught | seeds | CPU s |"
    yield "|---|---|---|---|---|"
    for one in verdicts:
        edit = one.edit
        what = f"`{_short(edit.before)}` → `{_short(edit.after)}`"
        how = one.how if one.seed is None else f"{one.how}, seed {one.seed} of {one.policy}"
        yield f"| {edit.file} `{edit.function}` | {what} | {how} | {one.seeds} | {one.cpu_s} |"
    caught = sum(one.how != "survived" for one in verdicts)
    yield f"\n{caught} of {len(verdicts)} caught"


def _short(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def main() -> int:
    """Go on with a round; return 0."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mutants", type=int, default=34, help="edits of the round")
    parser.add_argument("--round", type=int, default=1, help="what the edits are drawn from")
    parser.add_argument("--seeds", type=int, default=100, help="swarm seeds an edit, at most")
    parser.add_argument("--store", type=Path, help="a file of what was found, gone on with")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin nothing after this")
    parser.add_argument("--table", action="store_true", help="print what the store has")
    parser.add_argument("--about", metavar="FAMILY", help=argparse.SUPPRESS)
    parser.add_argument("--judge", nargs="+", metavar="POLICY", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.judge:
        print(json.dumps(judge_here(asked.judge, asked.seeds, asked.about)))
        return 0
    began_s = time.monotonic()
    known: list[Verdict] = []
    if asked.store is not None and asked.store.exists():
        known = [
            msgspec.json.decode(line, type=Verdict) for line in asked.store.read_bytes().splitlines()
        ]
    chosen = [] if asked.table else drawn(asked.round, asked.mutants)
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place)
        for package in PACKAGES:
            shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
        for edit in chosen:
            if any(one.edit == edit for one in known) or time.monotonic() > began_s + 60 * asked.minutes:
                continue
            one = judged(edit, copy, asked.seeds)
            known.append(one)
            if asked.store is not None:
                with asked.store.open("ab") as file:
                    file.write(msgspec.json.encode(one) + b"\n")
            print(f"{edit.file}:{edit.line} {one.how} after {one.seeds}", file=sys.stderr, flush=True)
    print(*table(known), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
