"""Reading plain objects (as YAML gives them) with the path of every value at hand.

A `Fields` is one mapping being taken apart: each key is asked for once, and what is left over at the
end is an unknown key. Every refusal is a `ScheduleError` that names the place.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final, TypeVar

from .schedule import RATES, Rate, RateUnit, ScheduleError, Span, TimeUnit

if TYPE_CHECKING:
    from collections.abc import Mapping
    from enum import StrEnum

NUMBER: Final = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
SPAN: Final = re.compile(rf"({NUMBER})\s*(E)?")
RATE: Final = re.compile(rf"({NUMBER})\s*(rho)?")
SPAN_MAX: Final = 86_400.0
WORDS_MAX: Final = 200

Name = TypeVar("Name", bound="StrEnum")


class Fields:
    """A mapping with its path; ask for each key once, then call `end`."""

    def __init__(self, value: object, path: str) -> None:
        if not isinstance(value, dict):
            raise ScheduleError(path, f"expected a mapping, found {shown(value)}")
        for key in value:
            if not isinstance(key, str):
                raise ScheduleError(path, f"keys are words, not {shown(key)}")
        self.path = path
        self._left: dict[str, Any] = dict(value)

    def __contains__(self, key: str) -> bool:
        return key in self._left

    def at(self, key: str) -> str:
        """Return the path of a key."""
        return f"{self.path}.{key}"

    def take(self, key: str) -> Any:
        """Return the value of a key, None if it is not there."""
        return self._left.pop(key, None)

    def need(self, key: str) -> Any:
        """Return the value of a key that must be there."""
        if key not in self._left:
            raise ScheduleError(self.path, f"{key!r} is missing")
        return self._left.pop(key)

    def one_of(self, *keys: str) -> str | None:
        """Return which one of these keys is there; two of them contradict each other."""
        there = [key for key in keys if key in self._left]
        if len(there) > 1:
            raise ScheduleError(
                self.at(there[1]), f"contradicts {there[0]!r}: only one of them can hold"
            )
        return there[0] if there else None

    def end(self) -> None:
        """Refuse what nobody asked for."""
        for key in self._left:
            raise ScheduleError(self.at(key), "is not a known key here")


def shown(value: object) -> str:
    """Return a value as it may appear in a message: quoted and short."""
    words = repr(value)
    return words if len(words) <= WORDS_MAX else f"{words[:WORDS_MAX]}..."


def span(value: object, path: str, *, signed: bool = False) -> Span:
    """Read seconds (a number) or election timeouts (``"0.05E"``)."""
    amount, unit = _amount(value, path, SPAN, "seconds such as 0.5 or election timeouts such as 0.05E")
    if amount < 0 and not signed:
        raise ScheduleError(path, f"a time cannot be negative, and {shown(value)} is")
    if abs(amount) > SPAN_MAX:
        raise ScheduleError(path, f"{shown(value)} is more than a day")
    return Span(amount, TimeUnit.ELECTIONS if unit else TimeUnit.SECONDS)


def rate(value: object, path: str) -> Rate:
    """Read a fraction (``-0.05``) or a multiple of the declared drift bound (``"-1rho"``)."""
    amount, unit = _amount(value, path, RATE, "a fraction such as -0.05 or drift bounds such as -1rho")
    if unit:  # what that comes to is known with the plan: see `nemesis.validate`
        return Rate(amount, RateUnit.BOUNDS)
    bend = Rate(amount)
    if not bend.possible(0):
        raise ScheduleError(path, f"a clock cannot be bent by {shown(value)}: {RATES}")
    return bend


def _amount(value: object, path: str, form: re.Pattern[str], wanted: str) -> tuple[float, str | None]:
    """Read a number with an optional unit."""
    match value:
        case bool():
            pass
        case int() | float() if math.isfinite(value):
            return float(value), None
        case str() if (found := form.fullmatch(value.strip())) and math.isfinite(float(found[1])):
            return float(found[1]), found[2]
        case _:
            pass
    raise ScheduleError(path, f"expected {wanted}, found {shown(value)}")


def choice(value: object, names: type[Name], path: str, *, what: str) -> Name:
    """Read one of the names of an enumeration."""
    for name in names:
        if value == name.value:
            return name
    known = ", ".join(name.value for name in names)
    raise ScheduleError(path, f"{shown(value)} is no {what}: there are {known}")


def whole(value: object, path: str, *, least: int, most: int) -> int:
    """Read a whole number between two bounds."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ScheduleError(
            path, f"expected a whole number from {least} to {most}, found {shown(value)}"
        )
    return value


def word(value: object, path: str) -> str:
    """Read a non-empty string."""
    if not isinstance(value, str) or not value or len(value) > WORDS_MAX:
        raise ScheduleError(path, f"expected a name, found {shown(value)}")
    return value


def words(value: object, path: str) -> tuple[str, ...]:
    """Read one name, or a list of them."""
    if isinstance(value, list):
        if not value:
            raise ScheduleError(path, "names nobody")
        return tuple(word(each, f"{path}[{place}]") for place, each in enumerate(value))
    return (word(value, path),)


def listed(value: object, path: str, *, most: int) -> list[Any]:
    """Read a list that is not too long."""
    if not isinstance(value, list):
        raise ScheduleError(path, f"expected a list, found {shown(value)}")
    if len(value) > most:
        raise ScheduleError(path, f"has {len(value)} entries; at most {most} are taken")
    return value


def plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping without the keys whose value is None."""
    return {key: each for key, each in value.items() if each is not None}


def names(value: tuple[str, ...]) -> Any:
    """Return what `words` reads: one name as itself, several as a list."""
    return value[0] if len(value) == 1 else list(value)


def amount(value: Span | Rate) -> float | str:
    """Return what `span` and `rate` read: a number, or a number with its unit."""
    return f"{value.amount!r}{value.unit.value}" if value.unit.value else value.amount
