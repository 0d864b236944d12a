"""What lay in a run directory when its verdict was written: the sums of the files that were judged.

A verdict counts and names what it found, and a history cut at the end of a line is a shorter history
like any other. So the verdict is bound to the bytes: whoever judges them again is told if they are
others. This is against accidents and mix-ups; who can write into the directory can write a verdict, too.

The evidence of nodes that were left running goes on behind the bytes that were judged: there the
beginning counts.
"""

from __future__ import annotations

import contextlib
import hashlib
from typing import TYPE_CHECKING, Final

import msgspec

from .errors import NotARun
from .files import open_regular
from .packing import is_packed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .rundir import RunDir

_PIECE_BYTES: Final = 1 << 20


class Sum(msgspec.Struct, frozen=True):
    """One file, as it was: its length in bytes and the digest of all of them."""

    bytes: int
    sha256: str


def sums_of(run: RunDir) -> dict[str, Sum]:
    """Return the sums of plan, history and evidence, by their names in ``run``."""
    found: dict[str, Sum] = {}
    for name in (run.plan.name, run.history.name, *_evidence(run)):
        with contextlib.suppress(NotARun):  # it was not judged either
            found[name] = _sum(run, name)
    return found


def _evidence(run: RunDir) -> list[str]:
    try:
        return [f"{run.evidence.name}/{node}.jsonl" for node in run.evidence_nodes()]
    except NotARun:
        return []


def differing(run: RunDir, sums: Mapping[str, Sum]) -> Iterator[str]:
    """Yield a sentence for every file that is no more what it was, and for every one that is gone."""
    for name, before in sums.items():
        if not is_packed(name):  # a verdict may come from anybody, and name anything
            continue
        grows = name.startswith(f"{run.evidence.name}/")
        try:
            now = _sum(run, name, bytes_max=before.bytes if grows else None)
        except NotARun as error:
            yield f"what the verdict was written of cannot be read: {error}"
            continue
        if now != before:
            how = (
                f"{now.bytes} bytes, not {before.bytes}" if now.bytes != before.bytes else "other bytes"
            )
            yield f"{run.path / name}: not the file that the verdict was written of ({how})"


def _sum(run: RunDir, name: str, *, bytes_max: int | None = None) -> Sum:
    """Return the sum of a file, or of its first bytes."""
    digest = hashlib.sha256()
    size = 0
    try:
        with open_regular(run.path / name) as file:
            while bytes_max is None or size < bytes_max:
                left = _PIECE_BYTES if bytes_max is None else min(_PIECE_BYTES, bytes_max - size)
                piece = file.read(left)
                if not piece:
                    break
                digest.update(piece)
                size += len(piece)
    except OSError as error:
        raise NotARun(f"{run.path / name}: {error.strerror}") from error
    return Sum(size, digest.hexdigest())
