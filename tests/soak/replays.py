"""How often a saved failure shows again on processes: every aimed mistake that shows there, replayed.

For each mistake one failing run is made, as a user would find it, and ``lantern replay`` runs it again,
aimed by the roles of its plan. Exits with 1 if a mistake shows again in fewer than eight tries of ten.

    tests/soak/replays.py                               ten tries each: about two hours
    tests/soak/replays.py --only role-only-read --tries 5
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from targets.leasekv.mistakes import MISTAKES
from targets.target import Place

NAMES = [name for name, one in MISTAKES.items() if Place.LOCAL in one.places]
AGAIN_SHARE_MIN = 0.8
TRY_S_MAX = 120
SEEDS = 3


def lantern(*arguments: str, place: Path, seconds: float) -> tuple[int, dict[str, Any]]:
    """Run Lantern once in a directory of its own; return its exit code and what it printed."""
    command = [sys.executable, "-P", "-m", "harness.cli.main", *arguments, "--json"]
    try:
        done = subprocess.run(command, cwd=place, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return -1, {"outcome": "hangs"}
    return done.returncode, json.loads(done.stdout) if done.stdout.strip() else {}


def failing(name: str, place: Path, load_s: float) -> Path | None:
    """Return the directory of a run that shows the mistake; None if none of a few seeds does."""
    for seed in range(1, SEEDS + 1):
        out = place / f"{name}-{seed}"
        asked = ("--mistake", name, "--seed", str(seed), "--time", str(load_s), "--out", str(out))
        code, _ = lantern("run", *asked, place=place, seconds=TRY_S_MAX)
        if code == 1:
            return out
    return None


def row(name: str, told: dict[str, Any]) -> str:
    """Return a line of the table."""
    again = told["reproduced"]
    low, high = (round(100 * end) for end in again["interval"])
    ends = Counter("/".join(filter(None, (each["outcome"], each["kind"]))) for each in told["tries"])
    words = ", ".join(f"{count} {word}" for word, count in ends.most_common())
    return f"{name:<26}{again['times']:>3} of {again['of']:<4}{low:>4} to {high:>3} %   {words}"


def main() -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tries", type=int, default=10, help="replays a mistake")
    parser.add_argument("--time", type=float, default=10.0, help="seconds of load")
    parser.add_argument("--only", action="append", choices=NAMES, help="a mistake; may be repeated")
    asked = parser.parse_args()
    bad = []
    with tempfile.TemporaryDirectory(prefix="soak-") as temporary:
        place = Path(temporary)
        print("replayed on processes: the same kind of violation", flush=True)
        for name in asked.only or NAMES:
            run = failing(name, place, asked.time)
            if run is None:
                print(f"{name:<26}never found, so never replayed", flush=True)
                bad.append(name)
                continue
            seconds = TRY_S_MAX * asked.tries
            _, told = lantern(
                "replay", str(run), "--times", str(asked.tries), place=place, seconds=seconds
            )
            if "reproduced" not in told:
                print(f"{name:<26}{told.get('outcome')}: {told.get('error')}", flush=True)
                bad.append(name)
                continue
            print(row(name, told), flush=True)
            again = told["reproduced"]
            for each in told["tries"]:
                if each["outcome"] != "violation":
                    print(f"    {each['outcome']}: {each['reason']}", flush=True)
            bad += [name] if again["times"] < AGAIN_SHARE_MIN * asked.tries else []
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
