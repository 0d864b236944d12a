"""Equal plans give equal bytes: the history and every node's evidence.

From the command line and under pytest, whatever the hash seed, the order of imports and the Python. The
plan is one of the swarm's, for those draw the most.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from checker import evidence_lines
from harness.campaign.swarm import swarm_plan
from harness.plan import plan_from
from harness.plan.dump import dump
from harness.run.simulate import Recording, history_bytes, simulate
from targets.leasekv.policies import POLICIES

if TYPE_CHECKING:
    from harness.plan.plan import Plan

ROOT = Path(__file__).parents[2]
SEED = 5
NEEDED = "import click, jinja2, msgspec, rich, yaml"

DIGEST = """
import sys
if "backwards" in sys.argv:
    import checker.judging, nemesis.means, harness.report.summary, targets.local.cluster
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from harness.plan import plan_from
from harness.run.simulate import simulate
from test_determinism import digest
print(digest(simulate(plan_from(Path(sys.argv[2]), {}))))
"""


def digest(recording: Recording) -> str:
    """Return the digest of the files that a run directory of this recording holds."""
    files = {"history.jsonl": history_bytes(recording)}
    for node, lines in recording.evidence.items():
        files[f"{node}.jsonl"] = evidence_lines.header(node) + evidence_lines.encode(lines)
    return digest_of(files)


def digest_of(files: dict[str, bytes]) -> str:
    every = hashlib.sha256()
    for name in sorted(files):
        every.update(name.encode() + b"\0" + files[name])
    return every.hexdigest()


def pythons() -> list[str]:
    """Return this Python and every other on the path that has what Lantern needs."""
    found = {f"3.{sys.version_info.minor}": sys.executable}
    for minor in range(11, 20):
        other = shutil.which(f"python3.{minor}")
        if other is not None and f"3.{minor}" not in found:
            ended = subprocess.run([other, "-c", NEEDED], capture_output=True, timeout=50, check=False)
            if ended.returncode == 0:
                found[f"3.{minor}"] = other
    return list(found.values())


def drawn(policy: str, seed: int) -> Plan:
    return swarm_plan(plan_from(None, {"on": "sim", "policy": policy, "seed": seed}))


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """A plan, in a file."""
    file = tmp_path / "plan.yaml"
    file.write_bytes(dump(drawn("lease-renew", SEED)))
    return file


def environment(hash_seed: str) -> dict[str, str]:
    return {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}


@pytest.mark.parametrize("python", pythons())
@pytest.mark.parametrize(("order", "hash_seed"), [("forwards", "0"), ("backwards", "77")])
def test_equal_plans_give_equal_bytes_in_fresh_interpreters(
    plan: Path, python: str, order: str, hash_seed: str
) -> None:
    command = [python, "-c", DIGEST, str(Path(__file__).parent), str(plan), order]
    ended = subprocess.run(
        command, env=environment(hash_seed), capture_output=True, text=True, timeout=50, check=True
    )
    assert ended.stdout.strip() == digest(simulate(plan_from(plan, {}))), "as under pytest"


@pytest.mark.parametrize("hash_seed", ["1", "4242"])
def test_the_command_line_writes_the_bytes_that_pytest_sees(
    plan: Path, tmp_path: Path, hash_seed: str
) -> None:
    out = tmp_path / "run"
    command = [sys.executable, "-P", "-m", "harness.cli.main", "run", str(plan), "--out", str(out)]
    ended = subprocess.run(
        command, env=environment(hash_seed), cwd=tmp_path, capture_output=True, timeout=50, check=False
    )
    written = [out / "history.jsonl", *(out / "evidence").iterdir()]
    assert len(written) > 1, ended.stderr.decode()
    files = {file.name: file.read_bytes() for file in written}
    assert digest_of(files) == digest(simulate(plan_from(plan, {})))


@pytest.mark.parametrize("policy", POLICIES)
def test_a_simulation_leaves_nothing_behind_that_the_next_one_could_see(policy: str) -> None:
    plan = drawn(policy, SEED)
    first = digest(simulate(plan))
    assert digest(simulate(drawn(policy, SEED + 1))) != first
    assert digest(simulate(plan)) == first
