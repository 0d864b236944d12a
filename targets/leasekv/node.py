"""One leasekv node as a process: ``python -P -m targets.leasekv.node START.json``.

Puts the parts together and ends when one of them fails. A node that cannot write says why in its log
and is gone: it may have promised what is now lost, so it says nothing more to anyone. The story goes to
standard error, one event a line: node, level, true time, ``event=...`` and ``key=value``.

A node started by a parent does not outlive it: the kernel kills it when the parent dies, and a parent
that died before the kernel was asked is noticed by its pid.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import os
import random
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import msgspec

from targets import trueclock
from targets.cluster import NodeStatus

from . import admin, wal
from .config import ConfigError, build_rules
from .core import Core
from .driver import Driver, TimeService
from .evidence_file import Counted, EvidenceFile
from .network import Sockets
from .place import START_SCHEMA, Start
from .ports import CampaignNow, HandOver, Reconfigure, SetApplyDelay
from .tally import Tally, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

log: Final = logging.getLogger(__name__)

PR_SET_PDEATHSIG: Final = 1

EXIT_USAGE: Final = 64
EXIT_DATA: Final = 65
EXIT_BUG: Final = 70
EXIT_DISK: Final = 74
EXIT_ORPHAN: Final = 77
EXIT_CONFIG: Final = 78


def end(code: int, sentence: str, *, error: BaseException | None = None) -> NoReturn:
    """Say why and be gone at once: no destructor and no other callback runs any more."""
    log.critical("event=end code=%d why=%r", code, sentence, exc_info=error)
    logging.shutdown()
    os._exit(code)


def die_with(parent_pid: int) -> None:
    """Have the kernel kill this process when its parent dies; end now if it already has."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent_pid:
        end(EXIT_ORPHAN, f"the parent {parent_pid} is gone")


def read_start(path: Path) -> Start:
    """Return what this node is started with."""
    start = msgspec.json.decode(path.read_bytes(), type=Start)
    if start.schema != START_SCHEMA:
        raise ConfigError(f"{path}: schema {start.schema} is unknown here; {START_SCHEMA} is known")
    return start


def tell(node: str, now_ns: Callable[[], int]) -> None:
    """Send the story to standard error, stamped with the true clock."""

    class Line(logging.Formatter):
        def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
            return (
                f"node={node} level={record.levelname.lower()} at={now_ns() / 1e9:.6f} {record.message}"
            )

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Line())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.raiseExceptions = False  # a full disk under the log is the log's loss only


class Node:
    """The parts of one node, on one loop."""

    def __init__(self, start: Start, clocks: trueclock.Clocks, log_file: wal.WalFile) -> None:
        config, place = start.config, start.place
        self._name = config.node
        self._boot = log_file.restored.boot
        self._place = place
        self._log_file = log_file
        self._clocks = clocks
        rng = random.Random(f"{config.seed}/{config.node}/{self._boot}")
        rules = build_rules(config)
        self._core = Core(config, rules, log_file.restored, rng, clocks.stamp().own)
        self._tally = Tally(config.node, kind=kind_of(rules))
        self._policy = config.policy
        self._scraped = clocks.stamp()
        self._sockets = Sockets(place.cluster, config.node, place.peers)
        self._driver = Driver(
            self._core,
            asyncio.get_running_loop(),
            clocks=clocks,
            journal=Counted(EvidenceFile(Path(place.evidence), config.node), self._tally),
            disk=log_file,
            network=self._sockets,
            pulse_ns=config.heartbeat_ns // 10,
            time_service=TimeService(config.sync_ns, config.sync_error_ns) if config.synced else None,
        )

    async def run(self) -> None:
        """Serve until SIGTERM."""
        place, driver = self._place, self._driver
        stopped = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
        await self._sockets.open(
            driver.feed, peer_address=place.peer_address, client_address=place.client_address
        )
        if place.metrics_address is not None:
            from . import metrics, metrics_http  # noqa: F401, PLC0415 - loaded before it would be a stall

            await metrics_http.serve(place.metrics_address, self._metrics, name=self._name)
        driver.start()
        await admin.serve(Path(place.admin), self._answer)
        gc.collect()
        gc.freeze()
        log.info("event=serving boot=%d", self._boot)
        await stopped.wait()
        driver.stop()
        log.info("event=stopped why=%r", "somebody sent SIGTERM")

    def _answer(self, ask: admin.Ask) -> admin.Answer:
        match ask:
            case admin.Status():
                return admin.Told(self._status())
            case admin.Metrics():
                return admin.Scraped(self._metrics())
            case admin.Campaign():
                self._driver.feed(CampaignNow())
            case admin.HandOver(target):
                self._driver.feed(HandOver(target))
            case admin.Reconfigure(voters, learners):
                self._driver.feed(Reconfigure(voters, learners))
            case admin.SetApplyDelay(delay_ns):
                self._driver.feed(SetApplyDelay(delay_ns))
            case admin.SetSyncDelay(delay_ns):
                self._driver.set_sync_delay(delay_ns)
            case admin.SetDiskRoom(room_bytes):
                self._log_file.set_room(room_bytes)
            case admin.SetTimeService(heard):
                self._driver.set_time_service(heard=heard)
        return admin.Done()

    def _metrics(self) -> str:
        """Return the metrics; a node that nobody scrapes never loads what prints them."""
        from .metrics import Sample, exposition  # noqa: PLC0415 - see above

        stamp, before = self._clocks.stamp(), self._scraped
        true_ns = stamp.true_ns[0] - before.true_ns[0]
        ratio = (stamp.own.mono_ns - before.own.mono_ns) / true_ns if true_ns > 0 else 1.0
        self._scraped = stamp
        return exposition(
            Sample(
                self._tally,
                self._core.status(stamp.own),
                self._core.figures(stamp.own),
                rate_ratio=ratio,
                policy=self._policy,
            )
        )

    def _status(self) -> NodeStatus:
        stamp = self._clocks.stamp()
        known = self._core.status(stamp.own)
        return NodeStatus(
            node=self._name,
            role=known.role,
            term=known.term,
            leader=known.leader,
            commit_index=known.commit_index,
            applied_index=known.applied_index,
            lease_remaining_ns=known.lease_remaining_ns,
            own=stamp.own,
            true_ns=stamp.true_ns[0],
            boot=known.boot,
            members=known.members,
            handing_over_to=known.handing_over_to,
        )


def _on_failure(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """End the node on whatever a callback raised: a core that failed half-way may not go on."""
    error, message = context.get("exception"), context.get("message")
    if isinstance(error, OSError) and "socket" in context:
        log.warning(
            "event=socket error=%r message=%r", str(error), message
        )  # no descriptor left to accept
    elif isinstance(error, OSError):
        end(EXIT_DISK, f"the disk failed: {error}")
    else:
        end(EXIT_BUG, str(message), error=error)


async def serve(start: Start, clocks: trueclock.Clocks, log_file: wal.WalFile) -> None:
    """Run a node on this loop."""
    asyncio.get_running_loop().set_exception_handler(_on_failure)
    await Node(start, clocks, log_file).run()


def main(arguments: list[str]) -> int:
    """Start from the file named and serve; return the exit code."""
    if len(arguments) != 1:
        print("usage: python -P -m targets.leasekv.node START.json", file=sys.stderr)  # noqa: T201
        return EXIT_USAGE
    try:
        start = read_start(Path(arguments[0]))
        place = start.place
        true_now_ns = trueclock.open_clock()
        tell(start.config.node, true_now_ns)
        if place.parent_pid is not None:
            die_with(place.parent_pid)
        trueclock.verify(place.spawned_ns, first_ns=true_now_ns())
        log_file = wal.WalFile(Path(place.data_dir) / "wal")
        if log_file.note is not None:
            log.warning("event=cut note=%r", log_file.note)
        asyncio.run(serve(start, trueclock.Clocks(true_now_ns), log_file))
    except wal.WalError as error:
        end(EXIT_DATA, str(error))
    except OSError as error:
        end(EXIT_DISK, f"the disk or a socket failed: {error}")
    except (ConfigError, msgspec.DecodeError, trueclock.ClockError) as error:
        end(EXIT_CONFIG, str(error))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
