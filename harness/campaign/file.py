"""Campaign files: a matrix as YAML, read with its lines, and the saved one of a campaign's directory.

Whatever is wrong is said with its line before anything starts, also what only some combination makes
wrong: every one of them is resolved to a plan, once. A campaign file is somebody's own, like a plan
file, and may name containers and compose files, but no code; the one saved in a campaign's directory
may come from a stranger and names nothing of this host. ``--trust`` lifts both.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import msgspec

from harness.plan import FIELDS, PlanError, Trust, from_options
from harness.plan.document import BYTES_MAX, read
from harness.plan.dump import to_yaml
from harness.plan.make import file_bytes
from harness.plan.resolve import OF_THIS_HOST
from harness.times import seconds_of
from targets.catalog import is_file

from .entries import TESTED, Drawn, Entry
from .matrix import Block, Combination, Expected, Matrix, MatrixError, combinations

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from harness.plan.document import Document


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """A campaign file: what it says, the entries it comes to, and the names of what was left out."""

    matrix: Matrix
    entries: tuple[Entry, ...]
    left_out: tuple[str, ...] = ()


def from_file(path: Path, *, on: str | None = None, trust: Trust = Trust.OWN) -> Read:
    """Read a campaign file; raise `PlanError` with the line. ``on`` puts all of its runs elsewhere."""
    matrix, document = _parsed(path, trust)
    return _resolved(matrix if on is None else _moved(matrix, on), document, trust)


def _parsed(path: Path, trust: Trust) -> tuple[Matrix, Document]:
    document = read(file_bytes(path, trust), name=str(path))
    try:
        matrix = msgspec.convert(document.value, Matrix, strict=True)
    except msgspec.ValidationError as error:
        sentence, _, place = str(error).partition(" - at `$.")
        where = document.where(place.rstrip("`"))
        raise PlanError(f"{sentence[:1].lower()}{sentence[1:]}", where=where) from error
    if matrix.budget is not None:
        try:
            seconds_of(matrix.budget)
        except ValueError as error:
            raise PlanError(f"budget: {error}", where=document.where("budget")) from error
    return matrix, document


def saved_matrix(path: Path) -> Matrix:
    """Return the matrix of a campaign's directory, to be looked at only; raise `PlanError`."""
    return _parsed(path, Trust.STRANGER)[0]


def of_matrix(matrix: Matrix) -> tuple[Entry, ...]:
    """Return the entries of a matrix that was made by code."""
    return tuple(each.entry for each in combinations(matrix))


def saved(entries: Iterable[Entry], matrix: Matrix) -> bytes:
    """Return the file of exactly these entries; raise `PlanError` if it could not be read back."""
    blocks = tuple(
        Block(
            name=entry.name,
            expect=msgspec.convert(entry.expected.value, Expected),
            swarm=entry.drawn is Drawn.SWARM,
            plan={key: value for key, value in entry.options.items() if key != "name"},
            known=entry.known,
            seeds=entry.seeds,
        )
        for entry in entries
    )
    whole = msgspec.structs.replace(matrix, runs=blocks, plan={}, known=())
    data = to_yaml(whole)
    if len(data) > BYTES_MAX:
        raise PlanError(
            f"written out, the campaign has {len(data)} bytes, more than the {BYTES_MAX} of a file:"
            " make several campaigns of it"
        )
    return data


def going_on(place: Path | None, entries: Iterable[Entry], matrix: Matrix) -> bytes:
    """Return the file of a campaign, and of what a file in its ``place`` has already.

    Raises `PlanError` if one of its names meant another run when it began.
    """
    was: dict[str, Entry] = {}
    if place is not None and os.path.exists(place):  # noqa: PTH110 - of any name
        was = {entry.name: entry for entry in of_matrix(saved_matrix(place))}
    now = {entry.name: entry for entry in entries}
    for name, entry in now.items():
        before, after = (
            msgspec.structs.replace(each, seeds=None, known=()) for each in (was.get(name, entry), entry)
        )
        if before != after:
            raise PlanError(f"{name} was another run when this campaign began", where=str(place))
    return saved((was | now).values(), matrix)


def _moved(matrix: Matrix, on: str) -> Matrix:
    """Return the matrix with all of its runs in one place."""

    def elsewhere(block: Block) -> Block:
        axes = {key: values for key, values in block.matrix.items() if key != "on"}
        plan = block.plan if block.swarm else {**block.plan, "on": on}
        return msgspec.structs.replace(block, matrix=axes, plan=plan)

    return msgspec.structs.replace(matrix, runs=tuple(map(elsewhere, matrix.runs)))


def _resolved(matrix: Matrix, document: Document, trust: Trust) -> Read:
    """Return what every combination comes to; each value is looked at by itself first."""
    entries: dict[str, Entry] = {}
    left_out: list[str] = []
    try:
        every = combinations(matrix)
        for path, key, value in _values(matrix):
            try:
                from_options({key: value})
            except PlanError as error:
                raise PlanError(error.sentence, where=document.where(path)) from error
        for each in every:
            block, entry = matrix.runs[each.block], each.entry
            _allowed(each, matrix, document, trust)
            try:
                entry.plan(0)
            except PlanError as error:
                if block.unfit == "refuse":
                    raise _at_its_line(error, each, matrix, document) from error
                left_out.append(entry.name)
                continue
            if entry.name in entries:
                sentence = f"two runs have the name {entry.name}: give their blocks names"
                raise PlanError(sentence, where=document.where(f"runs[{each.block}]"))
            entries[entry.name] = entry
    except MatrixError as error:
        raise PlanError(error.sentence, where=document.where(error.path)) from error
    if not entries:
        raise PlanError("no combination makes a plan: all were left out", where=document.where("runs"))
    return Read(matrix=matrix, entries=tuple(entries.values()), left_out=tuple(left_out))


def _values(matrix: Matrix) -> Iterator[tuple[str, str, Any]]:
    """Yield every value of a plan key that stands in a matrix: its path, its key and itself."""
    yield from ((f"plan.{key}", key, value) for key, value in matrix.plan.items())
    for number, block in enumerate(matrix.runs):
        path = f"runs[{number}]"
        yield from ((f"{path}.plan.{key}", key, value) for key, value in block.plan.items())
        for key, values in block.matrix.items():
            for place, value in enumerate(values):
                if key in FIELDS and (key, value) != ("mistake", "none"):
                    yield f"{path}.matrix.{key}[{place}]", key, value


def _allowed(each: Combination, matrix: Matrix, document: Document, trust: Trust) -> None:
    """Refuse what a file may not have run, and what a swarm would ignore."""
    options = each.entry.options
    if trust is not Trust.TRUSTED and is_file(str(options.get("target"))):
        sentence = "a Python file is code, and no campaign file may have it run without --trust"
        raise PlanError(sentence, where=document.where(_path(each, matrix, "target")))
    if trust is Trust.STRANGER:
        for key in OF_THIS_HOST:
            if options.get(key):
                sentence = f"{key} of a saved campaign is of this host: not touched without --trust"
                raise PlanError(sentence, where=document.where(_path(each, matrix, key)))
    if each.entry.drawn is Drawn.SWARM:
        for key in options:
            if key not in (*TESTED, "name"):
                sentence = f"a swarm draws {key} itself; it is told {', '.join(TESTED)} only"
                raise PlanError(sentence, where=document.where(_path(each, matrix, key)))


def _at_its_line(error: PlanError, each: Combination, matrix: Matrix, document: Document) -> PlanError:
    """Return the error of a combination with the line of the value that is to blame."""
    place = (error.where or "").removeprefix("--").replace("-", "_")
    key = re.split(r"[.\[]", place, maxsplit=1)[0]
    path = _path(each, matrix, key) + place[len(key) :]
    sentence = f"{each.entry.name}: {error.sentence}" if each.at else error.sentence
    return PlanError(sentence, where=document.where(path))


def _path(each: Combination, matrix: Matrix, key: str) -> str:
    """Return where a combination has the value of a key from."""
    path, block = f"runs[{each.block}]", matrix.runs[each.block]
    if key in each.at:
        return f"{path}.matrix.{key}[{each.at[key]}]"
    if key in matrix.plan and key not in block.plan:
        return f"plan.{key}"
    return f"{path}.plan.{key}"
