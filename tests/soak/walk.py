"""From the README alone: what a stranger does on the first day, in containers with nothing in them.

One container is made from a bare Debian, with what the README asks for, a browser, a clone of this
repository and a user who is not root. There Lantern is installed and runs; a campaign of twenty
simulated and four real runs finds a planted mistake; its report is opened in Chromium; what was found is
packed. Another container, which has Lantern and none of those runs, unpacks the packs, replays and
shrinks them. Every command stands in the README, with names in the place of its dots. Wants root, a
Docker engine and the package registries; what it made is in DIR, to be looked at.

    tests/soak/walk.py DIR                  ten minutes; ends in 1 if a step does not end as it should
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

ROOT: Final = Path(__file__).parents[2]
README: Final = (ROOT / "README.md").read_text("utf-8")
BASE: Final = "debian:bookworm-slim"
NAME: Final = f"lantern-walk-{os.getpid()}"
PLACE: Final = "/home/reader/lantern"
DEBS: Final = ("ca-certificates", "make", "python3", "python3-venv")
BROWSER: Final = ("chromium", "fonts-dejavu-core")
STEP_S_MAX: Final = 900
CAMPAIGN: Final = """\
schema: 1
plan: {rate: 100, time: 10, allow: not-exercised}
runs:
  - name: right
    matrix: {policy: [lease-renew, readindex], faults: [[clock, pause], [partition, crash]]}
    plan: {on: sim}
    seeds: 4
  - name: planted
    plan: {on: sim, mistake: role-only-read}
    seeds: 4
  - name: real
    matrix: {policy: [lease-renew, readindex]}
    plan: {on: local}
    seeds: 2
"""
RUNS: Final = {"right": 16, "planted": 4, "real": 4}


class Stumbled(Exception):  # noqa: N818 - what happened
    """A step did not end as it should; the message is one sentence."""


def docker(*arguments: str, data: bytes | None = None) -> str:
    """Run docker; return what it printed."""
    done = subprocess.run(
        ["docker", *arguments], input=data, capture_output=True, timeout=STEP_S_MAX, check=False
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise Stumbled(f"docker {arguments[0]}: {said[-600:]}")
    return done.stdout.decode(errors="replace")


@dataclass
class Machine:
    """A container that stands for somebody's computer."""

    name: str
    image: str

    def __enter__(self) -> Self:
        docker("run", "-d", "--init", "--name", self.name, self.image, "sleep", "infinity")
        return self

    def __exit__(self, *_: object) -> None:
        docker("rm", "-f", "-v", self.name)

    def root(self, *words: str) -> str:
        """Do something as root; return what it printed."""
        return docker("exec", "-e", "DEBIAN_FRONTEND=noninteractive", self.name, *words)

    def step(self, written: str, names: str = "", *, ends: int = 0, made: str = "") -> str:
        """Run a line of the README as the reader; return what it printed.

        ``written`` is how the line begins there, up to what stands for a name; ``names`` follows it.
        """
        if written not in README:
            raise Stumbled(f"the README does not say {written!r}")
        return self.do(f"{written}{names}", ends=ends, made=made)

    def do(self, line: str, *, ends: int = 0, made: str = "") -> str:
        """Run a line as the reader; it must end in this code and have made this file, if any."""
        began_s = time.monotonic()
        done = subprocess.run(
            ["docker", "exec", "-u", "reader", "-w", PLACE, self.name, "bash", "-c", line],
            capture_output=True, timeout=STEP_S_MAX, check=False,
        )  # fmt: skip
        said = done.stderr.decode(errors="replace")
        print(
            f"{time.monotonic() - began_s:7.1f} s  exit {done.returncode}  {self.name}$ {line}",
            flush=True,
        )
        if done.returncode != ends or "Traceback" in said:
            raise Stumbled(f"{line}: exit {done.returncode}, where {ends} was due: {said[-1500:]}")
        if made:
            self.root("test", "-s", f"{PLACE}/{made}")
        return done.stdout.decode(errors="replace")

    def take(self, path: str, to: Path) -> None:
        """Copy a file out of the reader's clone."""
        docker("cp", f"{self.name}:{PLACE}/{path}", str(to))


def furnish(machine: Machine, work: Path) -> None:
    """Give a bare machine what the README asks for, a browser, a user and a clone."""
    machine.root("apt-get", "update", "-qq")
    machine.root("apt-get", "install", "-y", "-qq", "--no-install-recommends", *DEBS, *BROWSER)
    machine.root("useradd", "--create-home", "--shell", "/bin/bash", "reader")
    clone = work / "lantern"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True, timeout=60)
    docker("cp", str(clone), f"{machine.name}:/home/reader/")
    machine.root("chown", "-R", "reader:reader", PLACE)


def first(machine: Machine, out: Path) -> list[str]:
    """Walk the first machine's way; return the packs that were made, copied into ``out``."""
    print(machine.step("make run"))
    machine.step(".venv/bin/lantern run --mistake role-only-read", " --out runs/real", ends=1)
    machine.root("bash", "-c", f"printf %s {shlex.quote(CAMPAIGN)} > {PLACE}/walk.yaml")
    print(machine.step(".venv/bin/lantern campaign ", "walk.yaml --resume campaigns/walk"))
    machine.take("campaigns/walk/rows.jsonl", out)
    rows = [json.loads(line) for line in (out / "rows.jsonl").read_text().splitlines()]
    counts = {name: sum(row["name"].startswith(name) for row in rows) for name in RUNS}
    if counts != RUNS:
        raise Stumbled(f"the campaign's runs: {counts}, where {RUNS} was due")
    (kept,) = (
        row["run"] for row in rows if row["name"] == "planted" and row["run"] and row["seed"] == 0
    )
    runs = {"simulated": f"campaigns/walk/{kept}", "real": "runs/real"}
    packs = []
    for name, run in runs.items():
        machine.step(".venv/bin/lantern report ", run, made=f"{run}/report.html")
        look(machine, f"{run}/report.html", out / f"{name}.png")
        machine.step(".venv/bin/lantern pack ", f"{run} {name}.lantern.zip", made=f"{name}.lantern.zip")
        machine.take(f"{name}.lantern.zip", out)
        packs.append(name)
    return packs


def look(machine: Machine, page: str, to: Path) -> None:
    """Open a page in Chromium, without a window, and keep what it shows."""
    machine.do(
        "chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --window-size=1280,1500"
        f" --virtual-time-budget=6000 --screenshot=shown.png file://{PLACE}/{page}",
        made="shown.png",
    )
    machine.take("shown.png", to)


def elsewhere(machine: Machine, packs: list[str], out: Path) -> None:
    """Walk the way of somebody who was sent the packs."""
    for name in packs:
        docker("cp", str(out / f"{name}.lantern.zip"), f"{machine.name}:{PLACE}/")
        machine.do(
            f".venv/bin/lantern unpack {name}.lantern.zip runs/{name}", made=f"runs/{name}/plan.yaml"
        )
        print(machine.step(".venv/bin/lantern replay ", f"runs/{name}", ends=1))
        print(machine.step(".venv/bin/lantern shrink ", f"runs/{name} --out runs/{name}-small"))
        print(machine.step(".venv/bin/lantern replay ", f"runs/{name}-small", ends=1))


def main() -> int:
    """Walk; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", metavar="DIR", type=Path, help="what was made goes here")
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    installed = f"{NAME}:installed"
    try:
        with tempfile.TemporaryDirectory(prefix="walk-") as work, Machine(f"{NAME}-here", BASE) as here:
            furnish(here, Path(work))
            here.step("make run", ' ARGS="--on sim --time 2 --allow not-exercised"')
            docker("commit", here.name, installed)
            packs = first(here, out)
        with Machine(f"{NAME}-elsewhere", installed) as there:
            elsewhere(there, packs, out)
    except (Stumbled, subprocess.SubprocessError) as error:
        print(f"stumbled: {error}", file=sys.stderr)
        return 1
    finally:
        subprocess.run(["docker", "rmi", "-f", installed], capture_output=True, check=False, timeout=60)
    print(f"walked to the end; look at {out}/*.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
