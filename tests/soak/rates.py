"""How often planted mistakes are found, and that right policies stay clean: the figures of `make soak`.

Every run is `lantern run ... --json` in a process of its own, as a user would start it. After each, the
host is looked at for what it may have left behind. Exits with 1 if a mistake is found in fewer than nine
tries of ten, a right policy is accused, a run fails, or anything is left.

    tests/soak/rates.py                        everything: about an hour and a half
    tests/soak/rates.py --tries 3 --runs 0     the mistakes only, three tries each
    tests/soak/rates.py --only role-only-read --only readindex
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nemesis import FAMILIES
from targets.leasekv.mistakes import MISTAKES as EVERY
from targets.leasekv.policies import POLICIES
from targets.target import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

MISTAKES = [name for name, one in EVERY.items() if Place.LOCAL in one.places]
RUN_S_MAX = 300
FOUND_SHARE_MIN = 0.9
MEMORY = Path("/dev/shm")  # where nodes keep their data, and libfaketime its start


@dataclass(frozen=True)
class Ended:
    """One run: its exit code, what it printed, and how long it took."""

    code: int
    said: dict[str, Any]
    seconds: float

    @property
    def word(self) -> str:
        """The outcome, with the kind of a violation."""
        outcome = self.said.get("outcome", f"exit {self.code}")
        violation = self.said.get("violation")
        return f"{outcome}/{violation['kind']}" if violation else str(outcome)

    @property
    def proved(self) -> bool:
        """Whether the history itself proves it."""
        return self.code == 1 and self.word == "violation/history"


def lantern(*arguments: str, seed: int, place: Path, runtime: Path) -> Ended:
    """Run Lantern once; a run that hangs is a failure of its own.

    All it keeps besides its run directory goes to ``runtime``, so that what is left can be told from
    what other runs of this host are doing.
    """
    command = [sys.executable, "-P", "-m", "harness.cli.main", "run", *arguments]
    command += ["--seed", str(seed), "--json", "--out", str(place)]
    env = {**os.environ, "XDG_RUNTIME_DIR": str(runtime), "TMPDIR": str(runtime)}
    start_s = time.monotonic()
    try:
        done = subprocess.run(command, env=env, capture_output=True, timeout=RUN_S_MAX, check=False)
    except subprocess.TimeoutExpired:
        return Ended(-1, {"outcome": "hangs"}, time.monotonic() - start_s)
    said = json.loads(done.stdout) if done.stdout.strip() else {}
    return Ended(done.returncode, said, time.monotonic() - start_s)


def leftovers(runtime: Path, shared_before: set[str]) -> list[str]:
    """Return what runs left: files, nodes, and the ports that those listen on."""
    shared = sorted(path for path in _of_dead_processes() if path not in shared_before)
    return [*map(str, sorted(runtime.iterdir())), *_nodes(runtime), *shared]


def _of_dead_processes() -> set[str]:
    """Return libfaketime's files whose process is gone."""
    files = [*MEMORY.glob("faketime_shm_*"), *MEMORY.glob("sem.faketime_sem_*")]
    return {str(path) for path in files if not Path("/proc", path.name.rpartition("_")[2]).exists()}


def _nodes(runtime: Path) -> Iterator[str]:
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(runtime).encode() in (entry / "cmdline").read_bytes():
                ports = ", ".join(map(str, _ports(entry))) or "none"
                yield f"process {entry.name} (listening on {ports})"
        except OSError:  # it ended while we looked
            continue


def _ports(process: Path) -> Iterator[int]:
    sockets = {str(file.readlink()) for file in (process / "fd").iterdir()}
    for line in (process / "net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
            yield int(fields[1].partition(":")[2], 16)


class Soak:
    """Runs of one configuration after another, and where they are kept."""

    def __init__(self, store: Path, runtime: Path, jobs: int) -> None:
        self.store = store
        self.runtime = runtime
        self.jobs = jobs

    def runs(self, name: str, *arguments: str, count: int) -> list[Ended]:
        """Run one configuration with the seeds 1 to ``count``."""

        def one(seed: int) -> Ended:
            place = self.store / f"{name}-{seed}"
            return lantern(*arguments, seed=seed, place=place, runtime=self.runtime)

        with ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(one, range(1, count + 1)))


def row(name: str, ended: list[Ended], *, good: int) -> str:
    """Return a line of the table."""
    words = ", ".join(
        f"{count} {word}" for word, count in Counter(end.word for end in ended).most_common()
    )
    mean_s = sum(end.seconds for end in ended) / len(ended)
    return f"{name:<24}{good:>3} of {len(ended):<4}{mean_s:>6.1f} s each   {words}"


def main() -> int:
    """Print the two tables; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tries", type=int, default=10, help="tries a mistake")
    parser.add_argument("--runs", type=int, default=30, help="runs a right policy")
    parser.add_argument(
        "--jobs", type=int, default=1, help="runs at a time; more than one disturbs timing"
    )
    parser.add_argument("--only", action="append", help="a mistake or a policy; may be repeated")
    parser.add_argument("--store", type=Path, help="where runs are kept; else a temporary directory")
    asked = parser.parse_args()
    wanted = set(asked.only or [*MISTAKES, *POLICIES])
    memory = MEMORY if MEMORY.is_dir() else None
    with (
        tempfile.TemporaryDirectory(prefix="soak-") as temporary,
        tempfile.TemporaryDirectory(prefix="soak-", dir=memory) as runtime,
    ):
        store = asked.store or Path(temporary)
        store.mkdir(parents=True, exist_ok=True)
        shared_before = _of_dead_processes()
        soak = Soak(store, Path(runtime), asked.jobs)
        bad = []
        print("mistakes: found by a proof in the history", flush=True)
        for name in MISTAKES if asked.tries else ():
            if name in wanted:
                ended = soak.runs(name, "--mistake", name, count=asked.tries)
                found = sum(end.proved for end in ended)
                print(row(name, ended, good=found), flush=True)
                bad += [name] if found < FOUND_SHARE_MIN * len(ended) else []
        print("right policies: all faults, not accused", flush=True)
        for name in POLICIES if asked.runs else ():
            if name in wanted:
                faults = ("--policy", name, "--faults", ",".join(FAMILIES))
                ended = soak.runs(name, *faults, count=asked.runs)
                clean = sum(end.code in {0, 4} for end in ended)
                print(row(name, ended, good=clean), flush=True)
                bad += [name] if clean < len(ended) else []
        left = leftovers(Path(runtime), shared_before)
        print(f"left behind: {', '.join(left) or 'nothing'}")
    return 1 if bad or left else 0


if __name__ == "__main__":
    sys.exit(main())
