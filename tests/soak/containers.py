"""What containers find and what they leave in peace: the figures of the track record on Docker.

Every run is `lantern run ... --json` in a process of its own, as a user would start it. What came of it
is kept in the store as it ends, so that the whole may be done in slices: a run that is there is not done
again. Exits with 1 if a figure misses what is promised, with 3 if a slice ended before all was done.
What is promised to be clean may not have been exercised in some runs, but in one at least it was: the
table tells both apart.

    tests/soak/containers.py --store DIR                 everything: about three hours
    tests/soak/containers.py --store DIR --jobs 1        one after the other: slower, and quieter
    tests/soak/containers.py --store DIR --slice 220     what fits into 220 seconds; again for the rest
    tests/soak/containers.py --store DIR --only right --only drift-inside
    tests/soak/containers.py --store DIR --only right/readindex --tries 3
    tests/soak/containers.py --store DIR --table         the table of what is there
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.outcome import Outcome
from targets.leasekv.mistakes import MISTAKES
from targets.leasekv.policies import POLICIES
from targets.target import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

RUN_S_MAX = 240
JOBS = 3
UNFINISHED = 3
SCHEDULES = Path(__file__).parents[2] / "nemesis/schedules"
AIMED = ("--schedule", str(SCHEDULES / "etcd-20418.yaml"), "--time", "24")
SPARSE = ("--rate", "6", "--clients", "6", "--keys", "1")
LATE = ("--faults", "late", "--time", "60")
DRIFT = 0.1
OUTSIDE = 3.5
"""How many times the declared bound the clocks of `drift-outside` are bent."""

FOUND, CLEAN = "found", "clean"


@dataclass(frozen=True)
class Part:
    """Runs of one configuration, and how many of them are to end how."""

    name: str
    arguments: tuple[str, ...]
    wanted: str
    runs: int
    share: float = 1.0
    until_found: bool = False
    """One proof is enough: the rest is not run then."""
    kinds: frozenset[str] = frozenset({"history"})
    """The kinds of violation that prove what is wanted."""

    def good(self, said: dict[str, Any]) -> bool:
        """Tell whether one run ended as wanted; clean is also what was not exercised."""
        if self.wanted == CLEAN:
            return said["code"] in {Outcome.PASS.code, Outcome.NOT_EXERCISED.code}
        return bool(said["code"] == 1 and said["kind"] in self.kinds)

    def over(self, seen: list[dict[str, Any]]) -> bool:
        """Tell whether nothing is left to be run."""
        return len(seen) >= self.runs or (self.until_found and any(map(self.good, seen)))

    def kept(self, seen: list[dict[str, Any]]) -> bool:
        """Tell whether what is promised was kept. Clean, but not exercised once, is no figure at all."""
        good = sum(map(self.good, seen))
        if self.until_found:
            return good >= 1
        exercised = self.wanted != CLEAN or any(one["outcome"] == Outcome.PASS for one in seen)
        return exercised and good >= self.share * len(seen)


def parts(store: Path) -> Iterator[Part]:
    """Yield everything there is to run, the dearest last."""
    docker = ("--on", "docker")
    for policy in POLICIES:
        yield Part(f"right/{policy}", (*docker, "--policy", policy), CLEAN, 20)
    for name, one in MISTAKES.items():
        if Place.DOCKER in one.places:
            kinds = frozenset({one.shown_by})
            arguments = (*docker, "--mistake", name)
            yield Part(f"mistake/{name}", arguments, FOUND, 3, until_found=True, kinds=kinds)
    overlaps = frozenset({"history", "lease-overlap"})
    for name, times, wanted in (("drift-inside", 1.0, CLEAN), ("drift-outside", OUTSIDE, FOUND)):
        plan = _drift(store, name, times)
        yield Part(name, (*docker, str(plan)), wanted, 5, kinds=overlaps)
    for policy, wanted in (("serializable", FOUND), ("linearizable", CLEAN)):
        yield Part(f"etcd/{policy}", ("--target", "etcd", "--policy", policy), wanted, 5)
    yield Part("etcd/20418-aimed", ("--target", "etcd", *AIMED, *SPARSE), FOUND, 10, share=0.8)
    yield Part("etcd/20418-random", ("--target", "etcd", *LATE, *SPARSE), FOUND, 10, until_found=True)
    yield Part("etcd-current/aimed", ("--target", "etcd-current", *AIMED, *SPARSE), CLEAN, 10)
    yield Part("etcd-current/random", ("--target", "etcd-current", *LATE, *SPARSE), CLEAN, 10)


def _drift(store: Path, name: str, times: float) -> Path:
    """Write a plan of the right policy under clocks bent so many times the declared bound."""
    aimed = (SCHEDULES / "no-drift-margin.yaml").read_text()
    schedule = aimed.partition("schedule:\n")[2].replace("1rho", f"{times:g}rho")
    path = store / f"{name}.yaml"
    head = f"policy: lease-renew\ntime: 10\nclock: rate\ndrift_ppm: {round(DRIFT * 1e6)}\n"
    path.write_text(f"{head}schedule:\n{schedule}")
    return path


def run(part: Part, seed: int, store: Path) -> dict[str, Any]:
    """Run Lantern once; a run that hangs is a failure of its own."""
    command = [sys.executable, "-P", "-m", "harness.cli.main", "run", *part.arguments, "--json"]
    place = store / f"{part.name.replace('/', '-')}-{seed}"
    start_s = time.monotonic()
    try:
        done = subprocess.run(
            [*command, "--seed", str(seed), "--out", str(place)],
            capture_output=True, timeout=RUN_S_MAX, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"code": -1, "outcome": "hangs", "kind": None, "stale_ms": 0, "seconds": RUN_S_MAX}
    said = json.loads(done.stdout) if done.stdout.strip() else {}
    violation = said.get("violation") or {}
    return {
        "code": done.returncode,
        "outcome": said.get("outcome", f"exit {done.returncode}"),
        "kind": violation.get("kind"),
        "stale_ms": (violation.get("staleness") or {}).get("stale_ns", 0) / 1e6,
        "reason": said.get("reason") or done.stderr.decode(errors="replace")[-300:],
        "seconds": round(time.monotonic() - start_s, 1),
    }


class Results:
    """What came of every run so far, one line each in the store."""

    def __init__(self, store: Path) -> None:
        self._file = store / "results.jsonl"
        lines = self._file.read_text().splitlines() if self._file.exists() else []
        self._all = {(one["part"], one["seed"]): one for one in map(json.loads, lines)}

    def of(self, part: Part) -> list[dict[str, Any]]:
        """Return what there is of a part, by seed, as far as the part goes."""
        found = (self._all.get((part.name, seed)) for seed in range(1, part.runs + 1))
        return [one for one in found if one is not None]

    def missing(self, part: Part, under_way: Sequence[int]) -> int | None:
        """Return the next seed to be run; whether the part is over is asked again each time."""
        if part.over(self.of(part)) or (part.until_found and under_way):
            return None
        seeds = range(1, part.runs + 1)
        left = (one for one in seeds if (part.name, one) not in self._all and one not in under_way)
        return next(left, None)

    def add(self, part: Part, seed: int, said: dict[str, Any]) -> None:
        """Keep what came of one run."""
        line = {"part": part.name, "seed": seed, **said}
        self._all[part.name, seed] = line
        with self._file.open("a") as file:
            file.write(json.dumps(line) + "\n")


def work(
    wanted: Sequence[Part],
    results: Results,
    *,
    jobs: int,
    begin: Callable[[Part, int], dict[str, Any]],
    may_begin: Callable[[Part], bool],
) -> bool:
    """Run what is missing, ``jobs`` runs side by side; return whether nothing is left to be run.

    Of a part for which one proof is enough, one run is under way at a time.
    """
    under_way: dict[Future[dict[str, Any]], tuple[Part, int]] = {}

    def first() -> tuple[Part, int] | None:
        for part in wanted:
            seeds = [seed for one, seed in under_way.values() if one == part]
            if (seed := results.missing(part, seeds)) is not None:
                return part, seed
        return None

    with ThreadPoolExecutor(jobs) as pool:
        stopped = False
        while True:
            while not stopped and len(under_way) < jobs and (one := first()) is not None:
                if may_begin(one[0]):
                    under_way[pool.submit(begin, *one)] = one
                else:
                    stopped = True
            if not under_way:
                return not stopped
            for done in wait(under_way, return_when=FIRST_COMPLETED).done:
                results.add(*under_way.pop(done), done.result())


TOLD = (Outcome.PASS, Outcome.NOT_EXERCISED, Outcome.UNKNOWN)
"""What has a column of its own in the table, even where there is none of it."""


def table(wanted: Iterable[Part], results: Results) -> Iterator[str]:
    """Yield a line for each part of which there is something, below one that names the columns."""
    yield f"{'part':<28}{'as wanted':>10} {'':<6}{''.join(f'{one:>14}' for one in TOLD)}{'time':>8}"
    for part in wanted:
        seen = results.of(part)
        if not seen:
            continue
        words = Counter(
            f"{one['outcome']}/{one['kind']}" if one["kind"] else one["outcome"] for one in seen
        )
        columns = "".join(f"{words.pop(one.value, 0):>14}" for one in TOLD)
        told = "".join(f"  {count} {word}" for word, count in words.most_common())
        stale_ms = max(one["stale_ms"] for one in seen)
        after = f"  stale by up to {stale_ms:.0f} ms" if stale_ms else ""
        seconds = sum(one["seconds"] for one in seen)
        good = f"{sum(map(part.good, seen))} of {len(seen)}"
        mark = "" if part.kept(seen) else "  MISSED"
        rest = "" if part.over(seen) else f"  (of {part.runs} to be run)"
        head = f"{part.name:<28}{good:>10} {part.wanted:<6}{columns}{seconds:>6.0f} s"
        yield f"{head}{told}{after}{rest}{mark}"


def main() -> int:
    """Run what is missing, print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--store", type=Path, required=True, help="where runs and results are kept")
    parser.add_argument(
        "--only", action="append", help="a part or the first word of some; may be repeated"
    )
    parser.add_argument("--tries", type=int, help="at most so many runs a part")
    parser.add_argument("--jobs", type=int, default=JOBS, help=f"runs side by side, {JOBS} by default")
    parser.add_argument("--slice", type=float, help="begin no run that would end after so many seconds")
    parser.add_argument("--table", action="store_true", help="run nothing")
    asked = parser.parse_args()
    if asked.jobs < 1:
        parser.error(f"--jobs {asked.jobs}: at least one run at a time")
    asked.store.mkdir(parents=True, exist_ok=True)
    names = asked.only or [""]
    chosen = [one for one in parts(asked.store) if any(_named(one.name, name) for name in names)]
    results = Results(asked.store)
    begun_s = time.monotonic()

    def may_begin(part: Part) -> bool:
        ends_s = time.monotonic() - begun_s + _last_s(results, part)
        return asked.slice is None or ends_s <= asked.slice

    tries = sys.maxsize if asked.tries is None else asked.tries
    done = asked.table or work(
        [replace(one, runs=min(one.runs, tries)) for one in chosen],
        results,
        jobs=asked.jobs,
        begin=lambda part, seed: run(part, seed, asked.store),
        may_begin=may_begin,
    )
    print(*table(chosen, results), sep="\n")
    if not done:
        return UNFINISHED
    return 0 if all(part.kept(results.of(part)) for part in chosen if results.of(part)) else 1


def _named(name: str, wanted: str) -> bool:
    return not wanted or name == wanted or name.startswith(f"{wanted}/")


def _last_s(results: Results, part: Part) -> float:
    """Return how long a run of this part takes, as far as that is known."""
    return max((float(one["seconds"]) for one in results.of(part)), default=30.0)


if __name__ == "__main__":
    sys.exit(main())
