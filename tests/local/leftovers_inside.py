"""Run ``lantern run`` as the only thing in a namespace of its own, and tell what is left after it.

Started by `test_leftovers.py` as process 1 of new pid, mount and network namespaces: whatever is there
afterwards, the run has left. ``argv``: a directory to work in, the way out, a patch of Python for the
run. Prints one JSON object.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

WAIT_S = 60.0
SIOCSIFFLAGS = 0x8914
IFF_UP = 1
START = "from harness.cli.main import entry\nentry()\n"


def main() -> None:
    place, way, patch = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    temporary = place / "tmp"
    temporary.mkdir()
    for where in ("/dev/shm", str(temporary)):
        subprocess.run(["mount", "-t", "tmpfs", "none", where], check=True)
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
    told = leave(way, place, patch, temporary)
    if way == "harness-killed":
        told |= leave("end", place, "", temporary)
    sys.stdout.write(json.dumps({**told, **left(temporary)}))


def leave(way: str, place: Path, patch: str, temporary: Path) -> dict[str, object]:
    """Run until it is over, by the way out named; return how it ended and what it said."""
    options = ("--faults", "clock,crash", "--time", "2.5", "--seed", "3", "--json", "--out", place / way)
    run = subprocess.Popen(
        [sys.executable, "-P", "-c", f"{patch}\n{START}", "run", *options],
        env={**os.environ, "TMPDIR": str(temporary), "XDG_RUNTIME_DIR": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert run.stderr is not None
    story = []
    for line in run.stderr:
        story.append(line)
        word, signals = ACTS.get(way, ("", []))
        if word and word in line:
            whoms = {"harness": run.pid, "node": a_node() if way.startswith("node") else 0}
            for number, whom in signals:
                with suppress(ProcessLookupError):  # the first of two has been enough
                    os.kill(whoms[whom], number)
    assert run.stdout is not None
    said = run.stdout.read()
    code = run.wait(WAIT_S)
    answer = json.loads(said) if said else {}
    return {"code": code, "reason": answer.get("reason"), "notes": answer.get("notes"), "story": story}


ACTS: dict[str, tuple[str, list[tuple[signal.Signals, str]]]] = {
    "interrupted": ("  load", [(signal.SIGINT, "harness")]),
    "interrupted-twice": ("  load", [(signal.SIGINT, "harness"), (signal.SIGINT, "harness")]),
    "terminated-at-start": ("starting 3 nodes", [(signal.SIGTERM, "harness")]),
    "harness-killed": ("  load", [(signal.SIGKILL, "harness")]),
    "node-killed": ("  load", [(signal.SIGKILL, "node")]),
    "node-killed-twice": ("  load", [(signal.SIGKILL, "node"), (signal.SIGKILL, "node")]),
    "node-terminated": ("  load", [(signal.SIGTERM, "node"), (signal.SIGTERM, "node")]),
    "node-stopped": ("  load", [(signal.SIGSTOP, "node"), (signal.SIGSTOP, "node")]),
}


def a_node() -> int:
    """Return the pid of n2."""
    for pid in pids():
        command = (Path("/proc") / str(pid) / "cmdline").read_bytes().split(b"\0")
        if any(word.endswith(b"/n2.json") for word in command):
            return pid
    raise AssertionError("n2 is not there")


def pids() -> list[int]:
    return [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]


def left(temporary: Path) -> dict[str, list[str]]:
    """Return everything there is besides this process; what has ended is reaped first."""
    deadline_s = time.monotonic() + 5
    while pids() != [os.getpid()] and time.monotonic() < deadline_s:
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            break
        time.sleep(0.01)
    processes = [
        (Path("/proc") / str(pid) / "cmdline").read_text().replace("\0", " ")
        for pid in pids()
        if pid != os.getpid()
    ]
    sockets = [
        line
        for table in ("tcp", "tcp6")
        for line in (Path("/proc/net") / table).read_text().splitlines()[1:]
        if line.split()[3] != "06"  # TIME_WAIT is nobody's
    ]
    sockets += [line for line in Path("/proc/net/unix").read_text().splitlines()[1:] if "/" in line]
    files = [str(path) for where in (Path("/dev/shm"), temporary) for path in where.rglob("*")]
    return {"processes": processes, "sockets": sockets, "files": files}


if __name__ == "__main__":
    main()
