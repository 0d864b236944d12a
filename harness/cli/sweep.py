"""``lantern sweep``: one thing varied over its range, and a table of what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
import msgspec

from checker.events import ReadPath
from harness.campaign import drift as drifting
from harness.campaign import lease_length
from harness.outcome import Outcome, worst
from harness.plan.plan import SEED_END
from targets.catalog import DEFAULT, find

from . import options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .output import Output

RowT = TypeVar("RowT")

LEASED: Final = f"{ReadPath.LEASE}-reads"
"""What a policy claims that reads by a lease."""


_LEASED: Final = [name for name, mode in find(DEFAULT).modes.items() if LEASED in mode.claims]

_POLICY = click.option(
    "--policy",
    type=click.Choice(_LEASED),
    default=_LEASED[0],
    help="How reads are served: by a lease, for there is none to measure else.",
)
_SEED = click.option(
    "--seed", type=click.IntRange(min=0, max=SEED_END - 1), default=0, help="What every draw follows."
)


@click.group()
def sweep() -> None:
    """Vary one thing over its range, in virtual time, and print what it does."""


@sweep.command()
@_POLICY
@_SEED
@click.option(
    "--bound", type=options.Finite(min=0.001, max=0.3), default=0.05, help="The declared drift bound."
)
@options.as_json
@click.pass_obj
def drift(output: Output, /, *, policy: str, seed: int, bound: float, as_json: bool) -> Outcome:
    """Bend clocks from well inside the declared bound to well outside, and measure the margin.

    Ends in 1 if a lease overlaps where none may, in 7 if one is not caught where it must.
    """
    cells: list[drifting.Cell] = []
    swept = _told(drifting.drift(policy, seed, round(bound * 1e6)), cells, output, _cell)
    outcome = worst((swept, *(each.counted for each in cells)))
    if as_json:
        rows = [{**msgspec.to_builtins(each), "counted": each.counted.value} for each in cells]
        output.json({"outcome": outcome.value, "bound": bound, "cells": rows})
    else:
        head = (
            f"{'leader':>8}  {'followers':>9}  {'bounds':>6}  {'predicted':>10}  {'measured':>10}  found"
        )
        output.result([head, *map(_cell, cells), outcome.value])
    return outcome


@sweep.command(name="lease-length")
@_POLICY
@_SEED
@options.as_json
@click.pass_obj
def lease_length_(output: Output, /, *, policy: str, seed: int, as_json: bool) -> Outcome:
    """Lengthen the lease, and see what it gives and what it costs when a leader dies."""
    rows: list[lease_length.Length] = []
    swept = _told(lease_length.lengths(policy, seed), rows, output, _length)
    outcome = worst((swept, *(each.outcome for each in rows)))
    if as_json:
        told: list[dict[str, Any]] = [msgspec.to_builtins(each) for each in rows]
        output.json({"outcome": outcome.value, "lengths": told})
    else:
        head = (
            f"{'election':>9}  {'lease':>8}  {'by lease':>8}  {'read p50':>9}  {'read p99':>9}"
            f"  {'deaths':>6}  {'silent p50':>10}  {'silent max':>10}"
        )
        output.result([head, *map(_length, rows), outcome.value])
    return outcome


def _told(
    found: Iterator[RowT], rows: list[RowT], output: Output, line: Callable[[RowT], str]
) -> Outcome:
    """Take and tell row after row; an interruption leaves those that there are."""
    try:
        for row in found:
            rows.append(row)
            output.story(line(row))
    except KeyboardInterrupt:
        return Outcome.INTERRUPTED
    return Outcome.PASS


def _cell(cell: drifting.Cell) -> str:
    return (
        f"{cell.leader_ppm / 1e4:+7.2f}%  {cell.followers_ppm / 1e4:+8.2f}%  {cell.bounds:6.2f}"
        f"  {_ms(cell.predicted_ns):>10}  {_ms(cell.margin_ns):>10}"
        f"  {cell.kind or cell.outcome.value}{'' if cell.counted is Outcome.PASS else ' !'}"
    )


def _length(row: lease_length.Length) -> str:
    return (
        f"{_ms(row.election_ns):>9}  {_ms(row.lease_ns):>8}  {row.lease_share:8.1%}"
        f"  {_ms(row.read_p50_ns):>9}  {_ms(row.read_p99_ns):>9}  {row.deaths:>6}"
        f"  {_ms(row.silent_p50_ns):>10}  {_ms(row.silent_max_ns):>10}"
    )


def _ms(length_ns: int | None) -> str:
    return "-" if length_ns is None else f"{length_ns / 1e6:.1f} ms"
