"""Every planted mistake in containers: found by its aimed schedule within three tries.

`make test` tries one that needs no clock and one that needs bent ones; `make soak` all of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from harness.outcome import Outcome
from targets.leasekv.mistakes import MISTAKES
from targets.target import Place

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.processes,
    pytest.mark.usefixtures("engine"),
    pytest.mark.timeout(400),
]

TRIES = 3
RUN_S_MAX = 120
IN_MINUTES = {"role-only-read", "no-drift-margin"}
HERE = [
    pytest.param(name, marks=() if name in IN_MINUTES else pytest.mark.soak)
    for name, one in MISTAKES.items()
    if Place.DOCKER in one.places
]


@pytest.mark.parametrize("mistake", HERE)
def test_a_mistake_in_containers_is_proved_by_what_it_breaks(tmp_path: Path, mistake: str) -> None:
    seen: list[Any] = []
    for seed in range(1, TRIES + 1):
        command = [sys.executable, "-P", "-m", "harness.cli.main", "run", "--on", "docker", "--json"]
        done = subprocess.run(
            [*command, "--mistake", mistake, "--seed", str(seed), "--out", f"{seed}"],
            capture_output=True,
            timeout=RUN_S_MAX,
            check=False,
            cwd=tmp_path,
        )
        assert done.stdout, done.stderr.decode()
        said = json.loads(done.stdout)
        seen.append((done.returncode, said.get("violation"), said.get("notes")))
        kind = said["violation"] and said["violation"]["kind"]
        if (done.returncode, kind) == (Outcome.VIOLATION.code, MISTAKES[mistake].shown_by):
            return
    pytest.fail(f"{mistake} was not found in {TRIES} tries: {seen}")
