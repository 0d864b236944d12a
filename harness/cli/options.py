"""Options that several verbs share, and the values that click has no type for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

if TYPE_CHECKING:
    from enum import StrEnum

FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)
POSITIVE: Final = click.FloatRange(min=0, min_open=True)
COUNT: Final = click.IntRange(min=1)

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else.")


def words(enum: type[StrEnum]) -> click.Choice[str]:
    """Return the choice of an enum's values."""
    return click.Choice([word.value for word in enum])


def json_value(_: click.Context, __: click.Parameter, text: str) -> Any:
    """Return the value that an option's text means as JSON: ``null``, ``0``, ``[1, 3]``."""
    try:
        return json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(
            f"{text!r} is not JSON ({error}); text needs its quotes: '\"a\"'"
        ) from error


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number that JSON knows")
