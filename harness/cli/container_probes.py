"""What this host can do with containers, found out by trying; see `harness.cli.probes`."""

from __future__ import annotations

import asyncio
import errno
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from targets.cluster import TargetError
from targets.docker import netns, queues
from targets.docker.engine import Engine, EngineAbsentError
from targets.docker.project import SYSCTLS
from targets.docker.template import compose_file, parse
from targets.host.disk import Disk

from .probes import Finding, Standing

if TYPE_CHECKING:
    from collections.abc import Callable

BASE: Final = "debian:bookworm-slim"
TRY_S: Final = 5.0
FAR: Final = "our own store, cuts, delays, clocks and full disks are not possible there"
QUEUES: Final = "apt-get install libnetfilter-queue-dev; pip install 'lantern-chaos[nfqueue]'"


def engine() -> Finding:
    """Ask the Docker engine."""

    async def version() -> tuple[str, str | None]:
        found = await Engine.connect()
        try:
            said = await found.call("say its version", lambda client: client.version()["Version"])
            return str(said), found.host
        finally:
            found.close()

    try:
        said, host = asyncio.run(version())
    except EngineAbsentError as error:
        remedy = "start the daemon, and let your user at its socket"
        return Finding("engine", Standing.BROKEN, str(error), remedy)
    if host is not None:
        seen = f"engine {said} answers at {host}: if that is another machine, {FAR}"
        return Finding("engine", Standing.LIMITED, seen, "for the rest run Lantern there")
    return Finding("engine", Standing.OK, f"engine {said} answers")


def template() -> Finding:
    """Read the compose file that containers are made from."""
    try:
        services = parse(compose_file().read_text())
    except (OSError, TargetError) as error:
        return Finding("compose-file", Standing.BROKEN, str(error), "install Lantern anew")
    return Finding("compose-file", Standing.OK, f"{compose_file()} has {', '.join(services)}")


def images() -> Finding:
    """Look whether the images are there, or what they are built from."""

    async def tags() -> set[str]:
        found = await Engine.connect()
        try:
            listed = await found.call("list its images", lambda client: client.api.images())
        finally:
            found.close()
        return {tag for one in listed for tag in one["RepoTags"] or ()}

    there = asyncio.run(tags())
    if BASE in there:
        return Finding("images", Standing.OK, f"{BASE} is there, and images are built from it")
    seen = f"{BASE} is not there; the engine will try to pull it"
    return Finding("images", Standing.LIMITED, seen, "without a registry: .ci/base-image.sh makes one")


def cuts() -> Finding:
    """Make a packet filter table in a fresh network namespace, and read it back."""
    remedy = "run as root, with the package nftables; else links are not cut and clients not reset"
    reason = netns.obstacle()
    if reason is None:
        try:
            netns.try_out()
        except TargetError as error:
            reason = str(error)
    if reason is not None:
        return Finding("cuts", Standing.LIMITED, reason, remedy)
    return Finding("cuts", Standing.OK, "links are cut inside a node's namespace, and counted there")


def netem() -> str | None:
    """Return why the kernel cannot delay packets, None if it can: tried in a namespace of its own."""
    queue = ["tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"]
    try:
        done = subprocess.run(  # noqa: S603 - fixed words
            ["unshare", "--net", *queue],  # noqa: S607 - wherever this host has it
            capture_output=True,
            check=False,
            timeout=TRY_S,
            text=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"netem could not be tried ({error})"
    said = " ".join(done.stderr.split())
    return f"this kernel has no netem ({said})" if done.returncode else None


def delays() -> Finding:
    """Say what delays links: gates, packet queues, and why not netem."""
    name = "delays"
    if (reason := netns.obstacle()) is not None:
        return Finding(name, Standing.LIMITED, f"links cannot be delayed: {reason}", "run as root")
    kernel = (
        netem() or "the kernel's netem is there but delays all that leaves a device, so it is not used"
    )
    gates, rest = (
        "gates delay the links of clusters made here",
        "`links: packets` and of your own containers",
    )
    if (reason := queues.obstacle()) is not None:
        seen = f"{gates}; those of {rest} are not delayed: {reason}; {kernel}"
        return Finding(name, Standing.LIMITED, seen, QUEUES)
    return Finding(name, Standing.OK, f"{gates}; packet queues (NFQUEUE) those of {rest}; {kernel}")


def full_disk() -> Finding:
    """Mount a disk as nodes have one, and make it full."""
    with tempfile.TemporaryDirectory(prefix="lantern-doctor-") as place:
        try:
            disk = Disk(Path(place))
        except OSError as error:
            seen = (
                f"no file system can be mounted for a node ({error.strerror}), so no disk is ever full"
            )
            return Finding(
                "full-disk", Standing.LIMITED, seen, "run as root; else such faults are skipped"
            )
        try:
            (Path(place) / "some").write_bytes(b"\0")
            disk.set_room(0)
            (Path(place) / "more").write_bytes(b"\0")
        except OSError as error:
            full = error.errno == errno.ENOSPC
        else:
            full = False
        finally:
            disk.remove()
    if not full:
        seen = "a file system without room took another byte"
        return Finding("full-disk", Standing.LIMITED, seen, "disk faults cannot be trusted here")
    return Finding("full-disk", Standing.OK, "a node's disk can be full: the kernel refuses with ENOSPC")


def back_off() -> Finding:
    """Look whether held bytes are sent again soon after a heal."""
    missing = [name for name in SYSCTLS if not (Path("/proc/sys") / name.replace(".", "/")).exists()]
    if missing:
        seen = (
            f"this kernel has no {', '.join(missing)}: after a long hold TCP waits before it sends again"
        )
        return Finding("back-off", Standing.LIMITED, seen, "take gates: `links: gates` in the plan")
    return Finding("back-off", Standing.OK, "held bytes are sent again within a second of a heal")


PROBES: Final[dict[str, Callable[[], Finding]]] = {
    "compose-file": template,
    "engine": engine,
    "images": images,
    "cuts": cuts,
    "delays": delays,
    "full-disk": full_disk,
    "back-off": back_off,
}
