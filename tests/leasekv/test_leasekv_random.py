from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from leasekv_judge import Operation, linearizable
from leasekv_storm import Storm

from checker.evidence import RoleChanged
from targets.leasekv.policies import POLICIES

SEEDS = 10  # of each policy
APART = 10  # from one to the next, so that one more policy leaves the others theirs


@pytest.mark.parametrize("policy", POLICIES)
def test_random_runs_keep_the_invariants_and_are_linearizable(policy: str) -> None:
    count: Counter[str] = Counter()
    leaders = caught_up = 0
    first = list(POLICIES).index(policy)
    for seed in range(first, first + SEEDS * APART, APART):
        storm = Storm(seed, policy=policy, nodes=5 if seed % 10 == 0 else 3)
        lab = storm.run()
        storm.judge()
        count += storm.count
        caught_up += storm.invariants.caught_up
        leaders += sum(fact.role == "leader" for fact in lab.facts(RoleChanged))
    served = {
        "lease-renew": "lease",
        "newleader-waits": "lease",
        "lease-oneshot": "lease",
        "lease-interval": "lease",
        "lease-interval-commit-wait": "lease",
        "lease-log": "lease",
        "lease-log-deferred": "lease",
        "lease-log-inherited": "lease",
        "readindex": "readindex",
        "readindex-unbatched": "readindex",
        "log-read": "log",
    }[policy]
    assert count[f"path-{served}"] > 100, count
    assert leaders > SEEDS, "hardly a leader ever changed"
    assert caught_up > 0, "hardly a snapshot was ever needed"
    assert count["write"] > 500, count
    assert count["HandOver"] > 0 < count["Reconfigure"], count


def test_equal_seeds_give_byte_identical_runs() -> None:
    assert digest(7) == digest(7)
    assert digest(7) != digest(8)


def test_equal_seeds_give_byte_identical_runs_whatever_the_hash_seed() -> None:
    code = "import test_leasekv_random as t; print(t.digest(7))"
    tests = Path(__file__).parents[1]
    path = os.pathsep.join(map(str, (tests / "leasekv", tests / "sim", tests.parent)))
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
            timeout=50,
        ).stdout.strip()
        for hash_seed in ("1", "2")
    }
    assert digests == {digest(7)}


def digest(seed: int) -> str:
    storm = Storm(seed)
    steps = storm.lab.steps = []
    storm.run()
    return hashlib.sha256("\n".join(map(repr, steps)).encode()).hexdigest()


def test_the_checker_and_the_dumb_judge_agree_on_a_policy_that_is_wrong() -> None:
    found = 0
    for seed in range(5):
        storm = Storm(seed, mistakes=("fallback-stale",))
        storm.run()
        stale = sorted(key for key, operations in storm.history.items() if not linearizable(operations))
        assert storm.violations() == stale
        found += len(stale)
    assert found > 0


def test_the_dumb_judge_sees_a_stale_read() -> None:
    w1, w2 = Operation("write", 1, 0, 1), Operation("write", 2, 2, 5)
    assert linearizable([w1, w2, Operation("read", 1, 3, 6)])
    assert not linearizable([w1, w2, Operation("read", 1, 6, 7)])
    assert not linearizable([w1, w2, Operation("read", 2, 3, 3), Operation("read", 1, 4, 4)])
    assert linearizable([w1, Operation("write", 2, 2), Operation("read", 1, 6, 7)])
    assert not linearizable([w1, Operation("miss", (1, 2), 2, 3)])
