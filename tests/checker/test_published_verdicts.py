"""Verdicts that others published, checked as they published them.

The histories are test data beside the repository, never part of it: ``LANTERN_HISTORIES`` or
``../shared``.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from checker import MODELS, Budget, MalformedHistory, Model, Outcome, check, formats

if TYPE_CHECKING:
    from checker.operations import Operation

HOME = Path(os.environ.get("LANTERN_HISTORIES", Path(__file__).parents[3] / "shared" / "histories"))
MANIFEST = HOME / "manifest.jsonl"

pytestmark = pytest.mark.skipif(
    not MANIFEST.exists(),
    reason=f"no published histories at {HOME} (LANTERN_HISTORIES names the folder)",
)

NAMES = {
    "FIFO queue": "fifo-queue",
    "queue": "fifo-queue",
    "stack as vec": "stack",
    "unordered queue": "unordered-queue",
    "any": "register",
}
WANTED = {
    "linearizable": Outcome.PASS.value,
    "not-linearizable": Outcome.VIOLATION.value,
    "malformed": "malformed",
}


class SubsetRegister(Model):
    """put-any stores any subset, get-any reads any subset of the state, get-all the state."""

    name = "subset-register"

    def initial(self, value: Any) -> frozenset[Any]:
        return frozenset(value or ())

    def step(self, state: Any, op: Operation) -> Any:
        told = frozenset(op.value or ())
        if op.f == "put-any":
            subsets: list[frozenset[Any]] = [frozenset()]
            for element in sorted(told):
                subsets += [subset | {element} for subset in subsets]
            return tuple(subsets)
        fits = told <= state if op.f == "get-any" else told == state
        return (state,) if fits else ()

    def readonly(self, op: Operation) -> bool:
        return op.f.startswith("get")


@dataclass(frozen=True)
class Row:
    path: str
    model: str | Model
    initial: Any
    wanted: str
    group: str


def rows() -> list[Row]:
    if not MANIFEST.exists():
        return []
    found = []
    for line in MANIFEST.read_text().splitlines():
        told = json.loads(line)
        if told["verdict"] not in WANTED:
            continue
        text = told["model"]
        initial: Any = None
        if "{:x 0 :y 0}" in text:
            initial = {"x": 0, "y": 0}
        elif "initial " in text:
            initial = read_initial(text.split("initial ", 1)[1])
        name = text.split(",")[0].split(" (")[0].split(" with ")[0].split(" {")[0].split(":")[0]
        model: str | Model = NAMES.get(name, name)
        if name == "non-deterministic register":
            model = SubsetRegister()
        found.append(Row(told["path"], model, initial, WANTED[told["verdict"]], told["group"]))
    return found


def read_initial(text: str) -> Any:
    word = text.partition(";")[0].partition(" ")[0].rstrip(",")
    if word in {"nil", "empty", '""'}:
        return None
    try:
        return json.loads(word)
    except ValueError:
        return word


@pytest.mark.parametrize(
    "row", rows(), ids=lambda row: row.path.removesuffix(".jsonl").replace("/", "-")
)
def test_a_published_verdict_is_ours(row: Row) -> None:
    assert judge(row) == row.wanted


def judge(row: Row) -> str:
    assert not isinstance(row.model, str) or row.model in MODELS
    data = (HOME / row.path).read_bytes()
    try:
        history = formats.read(data, name=row.path)
        report = check(
            history,
            model=row.model,
            initial=row.initial,
            budget=Budget(time_s=30, clock=time.monotonic),
            paranoid=True,
        )
    except MalformedHistory as malformed:
        return (
            "malformed" if (malformed.name, malformed.line is None) == (row.path, False) else "unplaced"
        )
    if report.violation is not None:
        assert report.violation.operations
        assert report.violation.sentence
        assert report.violation.drawing
    return report.outcome.value


def test_the_whole_collection_parses() -> None:
    for line in MANIFEST.read_text().splitlines():
        told = json.loads(line)
        if told["verdict"] in WANTED:
            continue
        data = (HOME / told["path"]).read_bytes()
        if told["path"].endswith(("comments.edn", "long-fork.edn")):
            with pytest.raises(MalformedHistory, match="process"):
                formats.read(data, name=told["path"])
        else:
            assert len(formats.read(data, name=told["path"])) > 0
