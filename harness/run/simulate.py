"""A run in virtual time: the same parts, driven on a heap; from one plan the same run, to the byte.

`simulate` touches no file, no socket and no clock: it turns a plan into a `Recording`. `run_simulated`
is what `harness.run.run` is on processes: it also writes the run directory, whose name is the hash of
its plan, and judges what it wrote. A campaign judges recordings as they are and keeps few.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

import msgspec

from checker import evidence_lines, formats
from checker.events import Event, Header
from checker.evidence import EvidenceLine
from checker.uncollected import uncollected
from harness.plan.dump import dump, to_yaml
from harness.plan.plan import Plan
from harness.report.injected import schedule_of
from harness.store import environment
from harness.store import rundir as store
from harness.store.errors import StoreError
from harness.store.files import write_atomic
from nemesis.machine import InjectionRecord
from targets.sim.guard import outside, sealed
from targets.sim.heap import Heap

from .conclude import conclude
from .drive_heap import Drive
from .judge import Hearing, Judgement, Seen
from .parts import make_conductor, peer_links, peer_state
from .result import RunResult, put, result_of, written
from .stop import UNCHECKED, Stop
from .where import make_client, make_simulated
from .workloads import model_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from checker.operations import History
    from harness.store.rundir import RunDir


LEFT_ALONE_E: Final = 5
"""So many election timeouts the nodes go on, where one ended by itself and the run with it."""


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """What a simulated run left, in memory. ``virtual_ns`` is how long it lasted in its own time.

    ``last_words`` are those of nodes that ended by themselves.
    """

    plan: Plan
    name: str
    events: list[Event]
    evidence: dict[str, list[EvidenceLine]]
    record: InjectionRecord
    seen: Seen
    virtual_ns: int
    last_words: dict[str, str]

    @property
    def header(self) -> Header:
        """The history's first line."""
        return Header(run=self.name, origin_ns=0, model=model_of(self.plan))

    @property
    def history(self) -> History:
        """The history as the checker takes it."""
        return formats.from_events(self.events, name="history.jsonl", header=self.header)


def name_of(plan: Plan) -> str:
    """Return the name of a plan's simulated run: equal plans have equal names."""
    return hashlib.sha256(dump(plan)).hexdigest()[:12]


def simulate(
    plan: Plan, *, say: Callable[[str], None] = lambda _line: None, stop: Stop | None = None
) -> Recording:
    """Run a plan in virtual time; a signal that ``stop`` takes ends it early, at the instant it is."""

    def aloud(line: str) -> None:
        with outside():  # whoever listens writes to a real stream, and may find it full
            say(line)

    name = name_of(plan)
    heap = Heap()
    cluster = make_simulated(plan, heap)
    machine, conductor = make_conductor(plan, make_client(plan).session)
    drive = Drive(conductor, cluster, heap, peers=peer_state(plan), say=aloud)
    if stop is not None:
        stop.wake = lambda: drive.signalled(stop.count, stop.name)
        if stop.count:
            stop.wake()
    with sealed():
        if plan.peer_delay_ns:
            for link in peer_links(cluster.nodes):
                cluster.set_link(link, peer_state(plan))
        cluster.start()
        drive.run()
        if cluster.last_words():  # what the others make of it is evidence of what that one knew
            heap.run_until(heap.now_ns + LEFT_ALONE_E * plan.election_ns)
    if stop is not None:
        stop.wake = None
    seen, last_words = Seen(), cluster.last_words()
    conclude(plan, seen, conductor, machine.record, last_words=last_words.get, stop=stop)
    return Recording(
        plan=plan,
        name=name,
        events=drive.events,
        evidence=cluster.evidence(),
        record=machine.record,
        seen=seen,
        virtual_ns=heap.now_ns,
        last_words=last_words,
    )


def judge_recording(recording: Recording) -> Judgement:
    """Hear every judge of a simulated run."""
    hearing = Hearing(recording.plan, recording.seen)
    with uncollected():
        _hear(hearing, recording)
    return hearing.conclude()


def _hear(hearing: Hearing, recording: Recording) -> None:
    lines = (line for lines in recording.evidence.values() for line in lines)
    hearing.hear_recorded(recording.history, lines)


def run_simulated(
    plan: Plan,
    *,
    store_dir: Path,
    out: Path | None = None,
    say: Callable[[str], None] = lambda _line: None,
    stop: Stop,
) -> RunResult:
    """Run a plan in virtual time to its verdict, and write its run directory.

    Signals mean what they mean on processes: the first ends the load, heals, saves and checks what
    there is; the second ends the simulation where it is, and nothing is checked.
    """
    directory = store.create(name_of(plan), store=store_dir, out=out, stamped=False)
    say(f"run {directory.path}")
    try:
        recording = simulate(plan, say=say, stop=stop)
    except BaseException:
        directory.discard()
        raise
    seen = recording.seen
    try:
        _write(directory, recording)
    except StoreError as error:
        seen.failures.append(str(error))
    seen.interrupted = seen.interrupted or stop.noted()
    hearing = Hearing(plan, seen)
    if stop.count > 1:
        say(UNCHECKED)
        hearing.notes.append(UNCHECKED)
        seen.given_up = f"{stop.name} before it was checked"
    else:
        say("checking")
        try:
            with stop.giving_up(hearing.hurry):
                _hear(hearing, recording)
        except KeyboardInterrupt:
            seen.given_up = f"{stop.name} while checking"
    return written(plan, hearing.conclude(), seen, record=recording.record, directory=directory)


def keep(
    recording: Recording,
    judged: Judgement,
    *,
    store_dir: Path,
    out: Path | None = None,
    say: Callable[[str], None] = lambda _line: None,
) -> RunResult:
    """Write the run directory of a simulated run; raise `StoreError` if that cannot be done."""
    directory = store.create(recording.name, store=store_dir, out=out, stamped=False)
    say(f"run {directory.path}")
    _write(directory, recording)
    plan, seen = recording.plan, recording.seen
    result = result_of(plan, judged, seen, record=recording.record, directory=directory.path)
    put(directory, plan, result, seen)
    return result


def history_bytes(recording: Recording) -> bytes:
    """Return history.jsonl."""
    encode = msgspec.json.Encoder().encode
    lines = [encode(msgspec.structs.asdict(recording.header)), *map(encode, recording.events), b""]
    return b"\n".join(lines)


def _write(directory: RunDir, recording: Recording) -> None:
    write_atomic(directory.plan, dump(recording.plan))
    write_atomic(directory.history, history_bytes(recording))
    for node, lines in recording.evidence.items():
        data = evidence_lines.header(node) + evidence_lines.encode(lines)
        write_atomic(directory.evidence / f"{node}.jsonl", data)
    for node, words in recording.last_words.items():
        write_atomic(directory.logs / f"{node}.log", f"event=end why={words!r}\n".encode())
    directory.release_reserve()
    load_ns = recording.seen.load_ns
    what = schedule_of(recording.name, load_ns, recording.record)
    write_atomic(directory.schedule, to_yaml(what))
    write_atomic(directory.environment, environment.encoded("run"))
