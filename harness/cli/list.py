"""``lantern list``: the names that other verbs take, read from the parts that own them."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final

import click

from checker.formats import FORMATS
from checker.models import MODELS
from harness.outcome import Outcome
from harness.report.escape import plain
from harness.report.fold import folded
from harness.run.workloads import WORKLOADS
from nemesis.drawn.families import DRAWN
from targets.catalog import every

from . import options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .output import Output

Rows = list[dict[str, Any]]
UNSAID: Final = frozenset({"name", "about", "rule"})
"""Keys that a row's lines have said, or say with another: ``rule`` is the first of ``rules``."""
WORDS: Final = {"also_off": "also off", "environments": "can be shown on"}
"""Keys as a person reads them, where they say something else."""


def _targets() -> Rows:
    return [
        {"name": target.name, "about": target.about, "on": list(target.places)} for target in every()
    ]


def _faults() -> Rows:
    return [{"name": name, "about": family.about} for name, family in DRAWN.items()]


def _workloads() -> Rows:
    return [{"name": name, "about": each.about} for name, each in WORKLOADS.items()]


def _policies() -> Rows:
    return [
        {"name": mode.name, "about": mode.about, "target": target.name, "claims": list(mode.claims)}
        for target in every()
        for mode in target.modes.values()
    ]


def _mistakes() -> Rows:
    return [
        {
            "name": mistake.id,
            "about": mistake.sentence,
            "policy": mistake.policy,
            "rule": mistake.rule,
            "rules": list(mistake.rules),
            "also_off": list(mistake.also_off),
            "nodes": mistake.nodes,
            "needs": [need.value for need in mistake.needs],
            "environments": [place.value for place in mistake.places],
        }
        for target in every()
        for mistake in target.mistakes.values()
    ]


def _models() -> Rows:
    return [{"name": name, "about": _first_line(model)} for name, model in MODELS.items()]


def _formats() -> Rows:
    return [{"name": name, "about": _first_line(module)} for name, module in FORMATS.items()]


def _first_line(thing: object) -> str:
    """Return what its docstring begins with, in plain text."""
    return (inspect.getdoc(thing) or "").partition("\n")[0].replace("`", "")


TOPICS: Final[dict[str, Callable[[], Rows]]] = {
    "targets": _targets,
    "policies": _policies,
    "mistakes": _mistakes,
    "faults": _faults,
    "workloads": _workloads,
    "models": _models,
    "formats": _formats,
}


@click.command("list")
@click.argument("topic", type=click.Choice(list(TOPICS)))
@options.as_json
@click.pass_obj
def list_(output: Output, /, topic: str, *, as_json: bool) -> Outcome:
    """List what there is, with what each is about."""
    rows = TOPICS[topic]()
    if as_json:
        output.json({topic: rows})
    else:
        output.result(_lines(rows))
    return Outcome.PASS


def _lines(rows: Rows) -> Iterator[str]:
    name_chars = max(len(row["name"]) for row in rows) + 2
    for row in rows:
        name = f"{row['name']:<{name_chars}}"
        yield from folded(plain(row["about"]), first=name, rest=" " * name_chars)
        more = [
            f"{WORDS.get(key, key)} {_told(value)}" for key, value in row.items() if key not in UNSAID
        ]
        if more:
            yield from folded("; ".join(more), first=" " * name_chars, rest=" " * name_chars)


def _told(value: object) -> str:
    return ", ".join(value) or "none" if isinstance(value, list) else str(value)
