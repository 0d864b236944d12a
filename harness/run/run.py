"""One run from a plan to a verdict: set up, drive, heal, stop, judge, write down.

Whatever happens in between, three things happen: what was injected is healed, what was started is
stopped, and what was recorded is judged. Nothing raised on the way stands in for a verdict. The order at
the end is fixed: heal and stop first, because somebody's processes may be frozen; then files, because
they are the proof; then the verdict.

Signals: the first SIGINT, SIGTERM or SIGHUP ends the load, heals, saves and checks what there is; a
second one heals and skips the rest. After the first, none of them kills us half-way through a heal.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import sys
from typing import TYPE_CHECKING

from checker.events import Header
from harness.bugs import traceback_of
from harness.plan.dump import dump, to_yaml
from harness.report.injected import schedule_of
from harness.store import environment
from harness.store import rundir as store
from harness.store.errors import StoreError
from harness.store.files import write_atomic
from harness.store.history import HistoryWriter
from nemesis import means
from nemesis.faults import Standing
from nemesis.machine import InjectionRecord
from targets.cluster import Found, Imaged, Metered, TargetError
from targets.target import Place
from targets.trueclock import raw_ns

from .conclude import conclude, doubts, unharmed
from .drive_asyncio import Drive
from .judge import Hearing, Seen
from .parts import make_conductor, peer_links, peer_state
from .result import RunResult, written
from .simulate import run_simulated
from .stop import UNCHECKED, Stop
from .watch import Watch
from .where import make_client, make_cluster
from .workloads import model_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from harness.plan.plan import Plan
    from harness.store.rundir import RunDir
    from targets.cluster import Cluster

    from .conductor import Conductor
    from .judge import Judgement

    Say = Callable[[str], None]

DESCRIPTORS = 64  # open files of a run as such
DESCRIPTORS_LINK = 6  # the most that a link between two nodes takes, with its gate
DESCRIPTORS_CLIENT = 3  # the same of a client

CAP_LOGS_S = 1.0

log = logging.getLogger(__name__)


def run(
    plan: Plan,
    *,
    store_dir: Path,
    out: Path | None = None,
    say: Say = lambda _line: None,
    cluster_of: Callable[[Plan, RunDir], Cluster] = make_cluster,
) -> RunResult:
    """Run a plan to its verdict. Raises `StoreError` only if no run directory can be made."""
    if plan.on is Place.SIM:
        with Stop() as stop:
            return run_simulated(plan, store_dir=store_dir, out=out, say=say, stop=stop)
    directory = store.create(plan.name, store=store_dir, out=out)
    write_atomic(directory.plan, dump(plan))
    say(f"run {directory.path}")
    with Stop() as stop:
        course = Course(plan, directory, stop=stop, say=say)
        try:
            with contextlib.redirect_stdout(sys.stderr):  # a target's code has no part in the result
                asyncio.run(course.run(cluster_of))
        except Exception as error:
            log.exception("event=run-broke")
            course.seen.failures.append(f"the run broke: {error!r}")
            course.seen.tracebacks.append(traceback_of(error))
        directory.release_reserve()
        directory.cap_logs()
        _save(directory, course)
        course.seen.interrupted = course.seen.interrupted or stop.noted()
        if stop.count > 1:
            say(f"healed; {UNCHECKED}")
            course.seen.notes.append(UNCHECKED)
            course.seen.given_up = f"{stop.name} before it was checked"
            return _end(plan, course, Hearing(plan, course.seen).conclude())
        say("checking")
        return _end(plan, course, _check(plan, course, stop))


class Course:
    """One run under way, and what is known of it afterwards."""

    def __init__(self, plan: Plan, directory: RunDir, *, stop: Stop, say: Say) -> None:
        self.plan = plan
        self.directory = directory
        self.seen = Seen()
        self.record = InjectionRecord()
        self.images: Mapping[str, str] = {}
        self._stop = stop
        self._say = say
        self._conductor: Conductor | None = None

    async def run(self, cluster_of: Callable[[Plan, RunDir], Cluster]) -> None:
        """Set up, drive, heal and stop."""
        loop = asyncio.get_running_loop()
        stopped = asyncio.Event()
        self._stop.wake = lambda: loop.call_soon_threadsafe(stopped.set)
        if self._stop.count:
            stopped.set()
        lack = lacking_descriptors(self.plan)
        if lack is not None:
            self.seen.failures.append(lack)
            return
        try:
            cluster = cluster_of(self.plan, self.directory)
        except (TargetError, OSError, ValueError) as error:  # of files of ours that it is made from
            self.seen.failures.append(f"the cluster cannot be made ready: {error}")
            return
        capping = asyncio.ensure_future(_cap_logs(self.directory))
        try:
            if await self._start(cluster, stopped):
                await self._drive(cluster, stopped)
        except (TargetError, StoreError) as error:
            self.seen.failures.append("\n".join((str(error), *getattr(error, "__notes__", ()))))
        finally:
            await self._heal(cluster)
            if isinstance(cluster, Metered) and self.seen.load_ns is not None and self._stop.count < 2:
                await self._scrape(cluster)
            await self._end_of(cluster)
            capping.cancel()
            self._stop.wake = None

    async def _scrape(self, cluster: Metered) -> None:
        """Keep what each node has counted; metrics that cannot be had change no verdict."""
        for node in self.plan.node_names:
            try:
                text = await cluster.metrics(node)
                if text is not None:
                    self.directory.write_metrics(node, text.encode())
            except (TargetError, StoreError) as error:
                self.seen.notes.append(f"the metrics of {node} could not be kept: {error}")

    async def _end_of(self, cluster: Cluster) -> None:
        """Stop it; what it says if it cannot be stopped comes after what went wrong before that."""
        try:
            await cluster.stop()
        except TargetError as error:
            self.seen.failures.append(str(error))

    async def _start(self, cluster: Cluster, stopped: asyncio.Event) -> bool:
        """Start the cluster; return whether there is something to drive."""
        there = isinstance(cluster, Found)
        self._say(f"{'looking for' if there else 'starting'} {self.plan.nodes} nodes")
        starting = asyncio.ensure_future(cluster.start())
        asked = asyncio.ensure_future(stopped.wait())
        try:
            await asyncio.wait((starting, asked), return_when=asyncio.FIRST_COMPLETED)
            if not starting.done():
                self.seen.interrupted = f"{self._stop.name} while the cluster was starting"
                return False
            starting.result()
        finally:
            for task in (starting, asked):
                task.cancel()
            await asyncio.gather(starting, asked, return_exceptions=True)
        if isinstance(cluster, Found):
            known = ", ".join(f"{node} is {name}" for node, name in cluster.known_as.items())
            self._say(known)
            self.seen.notes.append(known)
        if self.plan.peer_delay_ns:
            for link in peer_links(cluster.nodes):
                cluster.set_link(link, peer_state(self.plan))
        self.images = cluster.images if isinstance(cluster, Imaged) else {}
        return True

    async def _drive(self, cluster: Cluster, stopped: asyncio.Event) -> None:
        plan = self.plan
        client = make_client(plan)
        machine, self._conductor = make_conductor(plan, client.session)
        conductor = self._conductor
        origin_ns = raw_ns()
        header = Header(run=self.directory.name, origin_ns=origin_ns, model=model_of(self.plan))
        history = HistoryWriter(self.directory.history, header)
        watch = Watch(lag_max_ns=plan.election_ns // 2)
        drive = Drive(
            conductor,
            cluster,
            client=client,
            history=history,
            origin_ns=origin_ns,
            peers=peer_state(plan),
            say=self._say,
        )
        self._stop.wake = lambda: drive.signalled(self._stop.count, self._stop.name)
        if stopped.is_set():
            self._stop.wake()
        watch.start()
        try:
            await drive.run()
        finally:
            watch.stop()
            history.close()
            self.record = machine.record
            self._conclude(conductor, history, watch)

    def _conclude(self, conductor: Conductor, history: HistoryWriter, watch: Watch) -> None:
        seen, said = self.seen, self.directory.last_line
        conclude(self.plan, seen, conductor, self.record, last_words=said, stop=self._stop)
        seen.unharmed = unharmed(self.plan, self.record)
        seen.unreliable = watch.unreliable
        if history.broken is not None and not conductor.failures:
            seen.failures.append(f"the history could not be written: {history.broken}")
        seen.notes.append(f"the harness's loop lagged by {watch.lag_ns / 1e6:.0f} ms at most")
        seen.notes.extend(doubts(self.record))

    async def _heal(self, cluster: Cluster) -> None:
        """Undo whatever is not known to be undone; frozen nodes first, for they cannot help."""
        if self._conductor is None:
            return
        for fault in self._conductor.standing.values():
            found = await means.heal(cluster, fault, peers=peer_state(self.plan))
            if found.bug is not None:
                self.seen.failures.append(f"the means of {fault.kind} broke: {found.bug.what}")
                self.seen.tracebacks.append(found.bug.traceback)
            elif found.standing is Standing.UNKNOWN:
                self.seen.notes.append(f"{fault.kind} may not have been healed: {found.reason}")


async def _cap_logs(directory: RunDir) -> None:
    """Keep the logs short while nodes write them, so that one that says a lot fills no disk."""
    while True:
        await asyncio.sleep(CAP_LOGS_S)
        await asyncio.to_thread(directory.cap_logs)


def lacking_descriptors(plan: Plan) -> str | None:
    """Take as many open files as this process may have; return why a run cannot do with them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    want = DESCRIPTORS + DESCRIPTORS_LINK * plan.nodes**2 + DESCRIPTORS_CLIENT * plan.clients
    unlimited = resource.RLIM_INFINITY
    if soft != unlimited and soft < want:
        soft = want if hard == unlimited else min(want, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft != unlimited and soft < want:
        return (
            f"{plan.nodes} nodes and {plan.clients} clients take up to {want} open files, and this"
            f" process may have {soft}: raise the limit (ulimit -n), or ask for fewer clients"
        )
    return None


def _save(directory: RunDir, course: Course) -> None:
    """Write schedule.yaml and what it ran on; a disk that refuses is one more failure, no end."""
    what = schedule_of(directory.name, course.seen.load_ns, course.record)
    try:
        write_atomic(directory.schedule, to_yaml(what))
        write_atomic(directory.environment, environment.encoded("run", images=course.images))
    except StoreError as error:
        course.seen.failures.append(str(error))


def _files(directory: RunDir, course: Course) -> tuple[bytes | None, dict[str, bytes]]:
    """Read back what the run left; what cannot be read is one more failure."""
    history: bytes | None = None
    evidence: dict[str, bytes] = {}
    try:
        if course.seen.load_ns is not None or directory.history.exists():
            history = directory.read_history()
        evidence = directory.read_evidence()
    except StoreError as error:
        course.seen.failures.append(str(error))
    return history, evidence


def _check(plan: Plan, course: Course, stop: Stop) -> Judgement:
    """Hear every judge, or those that were heard until somebody lost patience."""
    hearing = Hearing(plan, course.seen)
    try:
        with stop.giving_up(hearing.hurry):
            hearing.hear_files(*_files(course.directory, course))
    except KeyboardInterrupt:
        course.seen.given_up = f"{stop.name} while checking"
        hearing.notes.append("the check was given up: what it had not reached is not known")
    return hearing.conclude()


def _end(plan: Plan, course: Course, judged: Judgement) -> RunResult:
    return written(plan, judged, course.seen, record=course.record, directory=course.directory)
