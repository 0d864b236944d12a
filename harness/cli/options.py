"""Options that several verbs share, and the values that click has no type for."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from harness.dask.address import address_of
from harness.report.escape import plain
from harness.times import seconds_of

if TYPE_CHECKING:
    from enum import StrEnum

    from targets.target import Place

INITIAL_CHARS_SHOWN: Final = 60

FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)
STORE: Final = Path("runs")
"""Where run directories are made and found, if nobody says otherwise."""

COUNT: Final = click.IntRange(min=1)


class Finite(click.FloatRange):
    """A number within bounds that is one: nan compares with nothing, and would be within any."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number; refuse nan and infinities."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is no finite number.", param, ctx)
        return number


POSITIVE: Final = Finite(min=0, min_open=True)
MEGABYTES: Final = click.IntRange(min=1, max=1 << 30)


def _scheduler(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    """Return the address of a scheduler, as Dask takes it."""
    try:
        return None if text is None else address_of(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


scheduler = click.option(
    "--scheduler",
    callback=_scheduler,
    metavar="ADDRESS",
    help="Have the workers of a Dask scheduler do it: of this host, or tls://.",
)
trust = click.option(
    "--trust",
    is_flag=True,
    help="Act on what the saved plan names here: code, containers, compose files.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else.")


def budget(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    """Return a length of time as it was given, once it is known to be one."""
    if text is not None:
        try:
            seconds_of(text)
        except ValueError as error:
            raise click.BadParameter(str(error)) from error
    return text


def words(enum: type[StrEnum]) -> click.Choice[str]:
    """Return the choice of an enum's values."""
    return click.Choice([word.value for word in enum])


def places(*where: Place) -> click.Choice[str]:
    """Return the choice of places, for a verb that knows what to do in these."""
    return click.Choice([place.value for place in where])


def json_value(_: click.Context, __: click.Parameter, text: str) -> Any:
    """Return the value that an option's text means as JSON: ``null``, ``0``, ``[1, 3]``."""
    try:
        return json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(
            f"{plain(text, chars_max=INITIAL_CHARS_SHOWN)!r} is not JSON ({error});"
            " text needs its quotes: '\"a\"'"
        ) from error


def _finite(word: str) -> float:
    number = float(word)
    if math.isinf(number):  # what it is compared with is a number, and nothing would ever equal it
        raise ValueError(f"{word} is more than a number can be")
    return number


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number that JSON knows")
