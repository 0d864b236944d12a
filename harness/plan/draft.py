"""A draft: what somebody asked for, each key with the place where they asked.

A draft comes from a plan file, from options, or from both: an option overrides the file. Every value is
checked on its own here, so that what is wrong is named with its line or its option; what several
values mean together is `harness.plan.resolve`'s.
"""

from __future__ import annotations

import difflib
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_origin

import msgspec

from nemesis import FAMILIES
from nemesis.fields import WORDS_MAX, shown
from targets.catalog import every
from targets.sim.weather import Weather

from .document import Document, read
from .errors import PlanError
from .held import wrong_within
from .plan import FIELDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_LISTS: Final = frozenset({"mistake", "keep_rules", "faults", "allow", "require", "containers"})
_NONE: Final = {"faults": "none"}  # how a person says an empty list


class Trust(StrEnum):
    """How far a plan file may decide what on this host is run or touched.

    One's *own* may name containers and compose files, but no code. One that lies in a run directory may
    be a *stranger's* and names nothing here; what an option names is another matter. ``--trust`` lifts
    both. To *look* at a plan, nothing that it names is needed: such a plan is judged by, or shown, and
    never run.
    """

    LOOK = "look"
    OWN = "own"
    STRANGER = "stranger"
    TRUSTED = "trusted"


class Given(msgspec.Struct, frozen=True):
    """One value somebody asked for. ``where`` is ``plan.yaml:12`` or ``--seed``."""

    value: Any
    where: str
    option: bool = False


Draft = dict[str, Given]


def from_file(data: bytes, *, name: str) -> tuple[Draft, Document]:
    """Read a plan file; raise `PlanError` naming the line."""
    document = read(data, name=name)
    if document.value is None:
        return {}, document
    if not isinstance(document.value, dict):
        raise PlanError("a plan is a mapping of keys to values", where=document.where(""))
    return from_values(document.value, document.where), document


def from_values(values: Mapping[str, Any], where: Callable[[str], str]) -> Draft:
    """Take what a plan file holds; ``where`` maps a path in it to its place. Raise `PlanError`."""
    draft: Draft = {}
    for key, value in values.items():
        if key not in FIELDS:
            raise PlanError(unknown(key, "key", FIELDS), where=where(key))
        draft[key] = Given(_checked(key, value, where, said=f"{key}: "), where(key))
    return draft


def option(key: str) -> str:
    """Return the option of the command line that gives a key of a plan."""
    return f"--{key.replace('_', '-')}"


def from_options(options: Mapping[str, Any], called: Callable[[str], str] = option) -> Draft:
    """Take options by their plan keys (``time``, ``mistake``); those that are None were not given.

    What is wrong with one is said of it as it is ``called``.
    """
    draft: Draft = {}
    for key, value in options.items():
        if value is None:
            continue
        if key not in FIELDS:
            raise PlanError(unknown(key, "key", FIELDS))
        where = called(key)
        if wrong := wrong_within(value):  # a file is looked at as it is read
            raise PlanError(wrong, where=where)
        checked = _checked(key, value, lambda _path, where=where: where, said="")
        draft[key] = Given(checked, where, option=True)
    return draft


def _checked(key: str, value: Any, where: Any, *, said: str) -> Any:
    """Return the value as its field has it; ``said`` names the key where its place does not."""
    if key in _LISTS:
        value = _listed(key, value)
    try:
        checked = msgspec.convert(value, FIELDS[key].type, strict=True)
    except msgspec.ValidationError as error:
        sentence, _, path = str(error).partition(" - at `$")
        inner = path.rstrip("`")
        raise PlanError(
            said + _refusal(key, value, sentence, inner), where=where(key + inner)
        ) from error
    known = _known(key)
    if known is not None:
        words = [checked] if isinstance(checked, str) else checked
        for place, word in enumerate(words):
            if word not in known:
                raise PlanError(unknown(word, key, known), where=where(f"{key}[{place}]"))
    if isinstance(checked, Weather) and (crossed := checked.reversed_range):
        least, most = (f"{key}.{inner} {getattr(checked, inner)}" for inner in crossed)
        raise PlanError(f"{least} is above {most}", where=where(f"{key}.{crossed[0]}"))
    if isinstance(checked, tuple) and key in _LISTS and len(set(checked)) < len(checked):
        raise PlanError(f"{said}something comes twice", where=where(key))
    return checked


def _known(key: str) -> tuple[str, ...] | None:
    """Return the words there are for a key, whatever is tested; None if it is not for words."""
    match key:
        case "faults":
            return FAMILIES
        case "mistake":
            return tuple(name for target in every() for name in target.mistakes)
        case "keep_rules":
            return tuple(rule for target in every() for rule in target.rules_off)
        case _:
            return None


def _refusal(key: str, value: Any, sentence: str, inner: str) -> str:
    """Say what is wrong with a value: with the words there are, or what was found in its place."""
    words = choices(FIELDS[key].type)
    if words:
        known = {str(word) for word in words}
        found = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        wrong = next((word for word in found if isinstance(word, str) and word not in known), None)
        if wrong is not None:
            return unknown(wrong, "word", words)
    bounded = "` <" in sentence or "` >" in sentence
    found_here = f", found {str(value)[:40]}" if bounded and not inner else ""
    return f"{sentence[:1].lower()}{sentence[1:]}{found_here}"


def choices(kind: Any) -> tuple[str, ...]:
    """Return the words that a field's type allows, if it allows words; for a list, in the list."""
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return tuple(word.value for word in kind)
    if get_origin(kind) is Literal:
        return tuple(word for word in get_args(kind) if isinstance(word, str))
    inner = [choices(each) for each in get_args(kind) if each is not ...]
    return next((words for words in inner if words), ())


def _listed(key: str, value: Any) -> Any:
    """One word stands for a list of one; commas separate several, as on the command line."""
    if not isinstance(value, str):
        return list(value) if isinstance(value, tuple) else value
    words = [word.strip() for word in value.split(",") if word.strip()]
    return [] if words == [_NONE.get(key)] else words


def unknown(word: object, what: str, known: Iterable[str]) -> str:
    """Return a sentence for a word that is none of those known, with the closest of them."""
    names = list(dict.fromkeys(known))
    close = difflib.get_close_matches(str(word)[:WORDS_MAX], names, n=1)
    there = f"there {'is' if len(names) == 1 else 'are'} {', '.join(names)}"
    hint = f"did you mean '{close[0]}'?" if close else there
    return f"unknown {what} {shown(str(word))}; {hint}"
