"""What three nodes on this host can do, and what a lease is worth: the figures of `make bench`.

Two runs without faults, each a run of its own with everything recorded and judged:

1. as many operations as go: ok operations a second;
2. 2 ms of delay on every link between nodes, one way, and one read in ten through ReadIndex: the median
   of a lease read against that of a quorum read, from the same run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

QUIET = {"faults": "none", "allow": "not-exercised"}
PLANS: dict[str, dict[str, Any]] = {
    "throughput": {**QUIET, "rate": 0, "clients": 32, "keys": 16},
    "lease against readindex": {**QUIET, "peer_delay_ns": 2_000_000, "readindex_one_in": 10},
}


def run(plan: dict[str, Any], place: Path) -> dict[str, Any]:
    """Run one plan; return what ``--json`` said."""
    place.mkdir()
    file = place / "plan.yaml"
    file.write_text(json.dumps(plan), encoding="ascii")  # JSON is YAML
    command = [sys.executable, "-P", "-m", "harness.cli.main", "run", str(file)]
    done = subprocess.run(
        [*command, "--json", "--out", str(place / "run")], stdout=subprocess.PIPE, check=False
    )
    if done.returncode != 0:
        sys.exit(f"the run ended with exit code {done.returncode}: {done.stdout.decode()}")
    return dict(json.loads(done.stdout))


def figures(said: dict[str, dict[str, Any]]) -> list[str]:
    """Return the lines that are worth keeping."""
    fast, slow = said["throughput"], said["lease against readindex"]
    ok = sum(ends.get("ok", 0) for ends in fast["by_outcome"].values())
    lease, quorum = (slow["reads"][path] for path in ("lease", "readindex"))
    return [
        f"throughput: {ok / fast['load_seconds']:.0f} ok operations a second ({ok} in all)",
        f"lease reads: p50 {lease['p50_ns'] / 1e6:.3f} ms ({lease['reads']})",
        f"readindex reads: p50 {quorum['p50_ns'] / 1e6:.3f} ms ({quorum['reads']})",
        f"a lease read takes {lease['p50_ns'] / quorum['p50_ns']:.2f} of a quorum read",
    ]


def main() -> None:
    """Run both and print their figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--time", type=float, default=10.0, help="seconds of load of each run")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as temporary:
        said = {
            name: run(
                {**plan, "time": asked.time, "seed": asked.seed},
                Path(temporary) / name.replace(" ", "-"),
            )
            for name, plan in PLANS.items()
        }
    print("\n".join(figures(said)))


if __name__ == "__main__":
    main()
