"""An engine of a test's own, which it may kill: beside the host's, and nowhere in its way.

Two daemons share nothing here: socket, pid file, data and run-time state lie in a directory of their
own, the containerd is the second daemon's child, and its networks are made in a network namespace of its
own, with no default bridge and no rule of a packet filter. Whoever wants to reach its containers runs in
that namespace too.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Final

from targets.host.disk import unmount_all

START_S: Final = 40.0
STOP_S: Final = 20.0
LOAD_S: Final = 120.0
GROUPS: Final = Path("/sys/fs/cgroup")
IN_ITS_NAMESPACE: Final = 'ip link set lo up && exec dockerd "$@"'


class PrivateEngine:
    """A dockerd that belongs to whoever made it; `close` leaves nothing of it."""

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="lantern-engine-"))
        self.host = f"unix://{self.home}/engine.sock"
        self._log = (self.home / "log").open("wb")
        self._daemon: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, or start it again with what it had; return once it answers."""
        options = {
            "host": self.host,
            "data-root": self.home / "data",
            "exec-root": self.home / "exec",
            "pidfile": self.home / "pid",
            "bridge": "none",
            "iptables": "false",
            "ip6tables": "false",
            "cgroup-parent": f"/{self.home.name}",
        }
        words = [f"--{name}={value}" for name, value in options.items()]
        (self.home / "pid").unlink(missing_ok=True)
        self._daemon = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", IN_ITS_NAMESPACE, "sh", *words],
            stdout=self._log, stderr=self._log, start_new_session=True,
        )  # fmt: skip
        deadline_s = time.monotonic() + START_S
        while self.docker("version", check=False).returncode:
            assert self._daemon.poll() is None, (self.home / "log").read_text()[-2000:]
            assert time.monotonic() < deadline_s, "the second daemon does not answer"
            time.sleep(0.2)

    def load(self, image: str) -> None:
        """Give it an image that the host's engine has."""
        saved = subprocess.Popen(["docker", "save", image], stdout=subprocess.PIPE)
        subprocess.run(
            ["docker", "--host", self.host, "load", "--quiet"],
            stdin=saved.stdout, stdout=subprocess.DEVNULL, check=True, timeout=LOAD_S,
        )  # fmt: skip
        assert saved.stdout is not None
        saved.stdout.close()
        assert saved.wait(LOAD_S) == 0

    def docker(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Ask it something."""
        return subprocess.run(
            ["docker", "--host", self.host, *words],
            capture_output=True, text=True, timeout=30, check=check,
        )  # fmt: skip

    def command(self, *words: str) -> list[str]:
        """Return a command as it has to be run to reach the engine's containers."""
        assert self._daemon is not None
        space = f"--net=/proc/{self._daemon.pid}/ns/net"
        return ["nsenter", space, "env", f"DOCKER_HOST={self.host}", *words]

    def kill(self) -> None:
        """End the daemon and its containerd with SIGKILL, as a crash would; containers live on."""
        assert self._daemon is not None
        pids = [self._daemon.pid, *_children(self._daemon.pid)]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        self._daemon.wait(STOP_S)

    def close(self) -> None:
        """Stop it and remove all that it had."""
        if self._daemon is not None and self._daemon.poll() is None:
            self._daemon.terminate()
            self._daemon.wait(STOP_S)
        self._log.close()
        unmount_all(self.home)  # a daemon that was killed leaves its containers' roots mounted
        shutil.rmtree(self.home)
        for root, _, _ in os.walk(GROUPS, topdown=False):
            if self.home.name in root:
                Path(root).rmdir()


def _children(pid: int) -> list[int]:
    """Return the containerd of a daemon."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().rpartition(")")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(rest.split()[1]) == pid and name.endswith("(containerd"):
            found.append(int(stat.parent.name))
    return found
