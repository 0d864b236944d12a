"""What a plan for somebody's own cluster has to say, and what it may not. No engine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "docs/examples/etcd_client.py"


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ("{}", "say which containers"),
        ("containers: [a, b]\nnodes: 3", "2 containers"),
    ],
)
def test_a_plan_that_does_not_say_which_containers_is_bad_usage(
    tmp_path: Path, plan: str, said: str
) -> None:
    (tmp_path / "docker-compose.yml").write_text("services: {}")
    (tmp_path / "plan.yaml").write_text(plan)
    command = [sys.executable, "-P", "-m", "harness.cli.main", "run", "plan.yaml", "--json"]
    done = subprocess.run(
        [*command, "--target", str(EXAMPLE)],
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2, done
    assert said in json.loads(done.stdout)["error"]
    assert not (tmp_path / "runs").exists()
