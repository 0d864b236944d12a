"""The run directory: made once, filled as the run goes, read back with suspicion.

::

    runs/<time>-<name>/
      plan.yaml  schedule.yaml  history.jsonl  verdict.json  report.html  junit.xml  environment.json
      evidence/<node>.jsonl  logs/<node>.log  metrics/<node>.prom

A simulated run is called by a hash of its plan instead: runs of equal plans are equal, to the byte. Two
runs that would have one name get different ones. Making it takes nothing on trust: a name that
exists in any form is passed over, missing room is said before anything is started. Reading it back
trusts nothing either: sizes are capped, links are not followed, and nothing in it is ever acted on.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any, Final

import msgspec

from .errors import NotARun, Refused, StoreError, StoreFull
from .files import (
    list_real,
    make_directory,
    no_directory,
    open_regular,
    read_bounded,
    shorten,
    taken,
    trouble,
    write_atomic,
)
from .packing import BY_NODE, SINGLE
from .sums import sums_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

VERDICT_SCHEMA: Final = 1
OWN_LOG: Final = "logs/harness.log"
SCHEDULE_SCHEMA: Final = 2
FREE_MIN_BYTES: Final = 64 << 20
RESERVE_BYTES: Final = 4 << 20
HISTORY_MAX_BYTES: Final = 4 << 30
PLAN_MAX_BYTES: Final = 1 << 20
VERDICT_MAX_BYTES: Final = 64 << 20
EVIDENCE_MAX_BYTES: Final = 2 << 30
LOG_MAX_BYTES: Final = 16 << 20
LAST_LINE_BYTES: Final = 2000
LINE_MAX_BYTES: Final = 1 << 20
NAMES_TRIED_MAX: Final = 1000
_MADE: Final = re.compile(r"(\d{8}T\d{6}-.+|[0-9a-f]{12})(-\d+)?")


class RunDir:
    """Where things lie in one run directory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._reserve: int | None = None

    @property
    def name(self) -> str:
        """The run's name: its directory's."""
        return self.path.name

    @property
    def plan(self) -> Path:
        """The resolved plan."""
        return self.path / "plan.yaml"

    @property
    def schedule(self) -> Path:
        """What was really injected."""
        return self.path / "schedule.yaml"

    @property
    def history(self) -> Path:
        """One event a line."""
        return self.path / "history.jsonl"

    @property
    def verdict(self) -> Path:
        """How it ended."""
        return self.path / "verdict.json"

    @property
    def environment(self) -> Path:
        """What it ran on."""
        return self.path / "environment.json"

    @property
    def report(self) -> Path:
        """The report for a person."""
        return self.path / "report.html"

    @property
    def junit(self) -> Path:
        """How it ended, for a CI server."""
        return self.path / "junit.xml"

    @property
    def evidence(self) -> Path:
        """The directory of each node's lease facts."""
        return self.path / "evidence"

    @property
    def logs(self) -> Path:
        """The directory of each node's log."""
        return self.path / "logs"

    @property
    def own_log(self) -> Path:
        """Tracebacks of what broke in the harness, if anything did; no node has this name."""
        return self.path / OWN_LOG

    @property
    def metrics(self) -> Path:
        """The directory of what each node had counted at the end, if its system counts."""
        return self.path / "metrics"

    def write_metrics(self, node: str, data: bytes) -> None:
        """Keep what a node has counted."""
        try:
            if not self.metrics.is_dir():
                make_directory(self.metrics)
        except OSError as error:
            raise trouble(error, self.metrics) from error
        write_atomic(self.metrics / f"{node}.prom", data)

    def reserve(self) -> None:
        """Set some room aside, really allocated, for what must be written even when the disk is full.

        The file has no name: it goes with this process, however that ends.
        """
        with tempfile.TemporaryFile(dir=self.path, buffering=0) as file:
            os.posix_fallocate(file.fileno(), 0, RESERVE_BYTES)
            self._reserve = os.dup(file.fileno())

    def release_reserve(self) -> None:
        """Give back the room that was set aside, so that verdict and schedule fit on a full disk."""
        reserve, self._reserve = self._reserve, None
        if reserve is not None:
            os.close(reserve)

    def discard(self) -> None:
        """Remove a run directory that nothing was written to; what holds something stays."""
        self.release_reserve()
        for path in (self.evidence, self.logs, self.path):
            with contextlib.suppress(OSError):
                path.rmdir()

    @property
    def ours(self) -> bool:
        """Whether this is a run directory that was made here: by its name, and by all that it holds."""
        if self.path.is_symlink() or _MADE.fullmatch(self.name) is None:
            return False
        try:
            found = set(list_real(self.path))
        except OSError:
            return False
        return self.plan.name in found and found <= {*SINGLE, *BY_NODE, self.report.name}

    def thin(self) -> None:
        """Leave what is small of a run that nobody needs whole: plan, schedule and verdict."""
        if self.path.is_symlink():  # what lies elsewhere is somebody else's
            return
        with contextlib.suppress(OSError):
            self.history.unlink(missing_ok=True)
        for path in (self.evidence, self.logs, self.metrics):
            shutil.rmtree(path, ignore_errors=True)

    def remove(self) -> None:
        """Remove a run directory of ours with all that it holds, if it is there."""
        shutil.rmtree(self.path, ignore_errors=True)

    def cap_logs(self) -> None:
        """Cut logs that nobody will read in full to their ends, also while nodes write them."""
        for log in self.logs.glob("*.log"):
            with contextlib.suppress(OSError):
                shorten(log, bytes_max=LOG_MAX_BYTES)  # one that cannot be cut changes no verdict

    def last_line(self, node: str) -> str | None:
        """Return the last line of a node's log, None if there is none to read."""
        try:
            with (self.logs / f"{node}.log").open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - LAST_LINE_BYTES))
                lines = log.read(LAST_LINE_BYTES).decode(errors="replace").split("\n")
        except OSError:
            return None
        return next((line for line in reversed(lines) if line.strip()), None)

    def write_verdict(self, verdict: dict[str, Any]) -> None:
        """Write verdict.json with the sums of the files; what JSON cannot hold is written as text."""
        head = {"schema": VERDICT_SCHEMA, "kind": "lantern-verdict"}
        whole = {**head, **verdict, "files": sums_of(self)}
        write_atomic(self.verdict, msgspec.json.format(msgspec.json.encode(whole, enc_hook=str)) + b"\n")

    def read_plan(self) -> bytes:
        """Return plan.yaml's bytes."""
        return read_bounded(self.plan, bytes_max=PLAN_MAX_BYTES)

    def read_history(self) -> bytes:
        """Return history.jsonl's bytes."""
        return read_bounded(self.history, bytes_max=HISTORY_MAX_BYTES)

    def history_lines(self) -> Iterator[bytes]:
        """Yield the lines of history.jsonl, one too long for any history in pieces."""
        with open_regular(self.history) as file:
            if os.fstat(file.fileno()).st_size > HISTORY_MAX_BYTES:
                raise NotARun(
                    f"{self.history}: larger than {HISTORY_MAX_BYTES} bytes, the most that is read"
                )
            while line := file.readline(LINE_MAX_BYTES):
                yield line

    def evidence_nodes(self) -> list[str]:
        """Return the nodes that left evidence, readable or not, in order of their names."""
        try:
            found = list_real(self.evidence)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise NotARun(f"{self.evidence}: {error.strerror}") from error
        return sorted(name.removesuffix(".jsonl") for name in found if name.endswith(".jsonl"))

    def read_evidence_of(self, node: str) -> bytes:
        """Return one node's evidence."""
        return read_bounded(self.evidence / f"{node}.jsonl", bytes_max=EVIDENCE_MAX_BYTES)

    def read_evidence(self) -> dict[str, bytes]:
        """Return every node's evidence by node, as bytes; nodes in order of their names."""
        return {node: self.read_evidence_of(node) for node in self.evidence_nodes()}

    def read_verdict(self) -> dict[str, Any]:
        """Return verdict.json; a schema that is not known is refused by name."""
        data = read_bounded(self.verdict, bytes_max=VERDICT_MAX_BYTES)
        try:
            verdict = msgspec.json.decode(data, type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise NotARun(f"{self.verdict}: {error}") from error
        schema = verdict.get("schema")
        if schema != VERDICT_SCHEMA:
            raise NotARun(f"{self.verdict}: schema {schema!r} is unknown; {VERDICT_SCHEMA} is known")
        return verdict


def create(name: str, *, store: Path, out: Path | None = None, stamped: bool = True) -> RunDir:
    """Make a run directory under ``store``, or exactly ``out``; raise `StoreError`.

    `Refused` is for a name that no run can have, here or anywhere.

    ``stamped`` puts the time of day before the name.
    """
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime()) + "-" if stamped else ""
    _require_utf8(store if out is None else out)
    path = _create_in(store, f"{stamp}{name}") if out is None else _create_at(out)
    run = RunDir(path)
    try:
        for directory in (run.evidence, run.logs):
            make_directory(directory)
        run.reserve()
    except OSError as error:
        run.discard()
        raise trouble(error, path) from error
    return run


def require_place(*, store: Path, out: Path | None = None) -> None:
    """Raise `StoreError` if no run directory could be made now; for whoever makes one after long work.

    The place is taken, cannot be written to, or has too little room.
    """
    where = store if out is None else out.parent
    _require_utf8(where if out is None else out)
    try:
        where.mkdir(parents=True, exist_ok=True)
        if out is not None and taken(out):
            raise Refused(f"{out}: is there already and is not an empty directory")
        _require_room(where)
        with tempfile.TemporaryFile(dir=where, buffering=0) as file:
            os.posix_fallocate(file.fileno(), 0, RESERVE_BYTES)
    except OSError as error:
        raise no_directory(error, where) from error


def saved(plan: Path) -> bool:
    """Tell whether a plan file is the one of a run directory, which may come from anybody."""
    run = RunDir(plan.parent)
    return plan.name == run.plan.name and any(
        path.exists() for path in (run.history, run.schedule, run.verdict)
    )


def existing(path: Path) -> RunDir:
    """Return the run directory at ``path``; raise `NotARun` if it does not look like one."""
    run = RunDir(path)
    if not os.path.isdir(path):  # noqa: PTH112 - false, too, of a name that no file can have
        raise NotARun(f"{path}: not a directory")
    if not any(map(os.path.isfile, (run.plan, run.history))):
        raise NotARun(f"{path}: holds neither plan.yaml nor history.jsonl")
    return run


def _create_in(store: Path, name: str) -> Path:
    try:
        store.mkdir(mode=0o755, parents=True, exist_ok=True)
        _require_room(store)
        for attempt in range(1, NAMES_TRIED_MAX):
            path = store / (name if attempt == 1 else f"{name}-{attempt}")
            try:
                make_directory(path)
            except FileExistsError:
                continue
            return path
    except OSError as error:
        raise no_directory(error, store) from error
    raise StoreError(f"{store}: {NAMES_TRIED_MAX} runs of this name are there already")


def _create_at(out: Path) -> Path:
    """Take the directory a person named: new, or there and empty."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        _require_room(out.parent)
        try:
            make_directory(out)
        except FileExistsError:
            if taken(out):
                raise Refused(f"{out}: is there already and is not an empty directory") from None
    except OSError as error:
        raise no_directory(error, out) from error
    return out


def _require_utf8(path: Path) -> None:
    """Refuse a path that the files of a run, which are UTF-8, could not name."""
    try:
        str(path.absolute()).encode()
    except UnicodeEncodeError:
        wrong = "the path of a run directory has to be UTF-8 text"
        with contextlib.suppress(UnicodeDecodeError):
            os.fsencode(path.absolute()).decode()
            encoding = sys.getfilesystemencoding()
            wrong = f"a locale of {encoding} cannot name it: use one of UTF-8, or set PYTHONUTF8=1"
        raise Refused(f"{path}: {wrong}") from None


def _require_room(where: Path) -> None:
    free = shutil.disk_usage(where).free
    if free < FREE_MIN_BYTES:
        raise StoreFull(f"{where}: {free >> 20} MB free; a run wants at least {FREE_MIN_BYTES >> 20} MB")
