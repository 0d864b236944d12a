"""A matrix: axes of plan keys multiplied out into entries, each with what is expected of it.

A *block* has keys that all of its runs share (``plan``) and axes (``matrix``): a plan key with the
values it takes. Every combination is one entry. It is named after its block and after the values of
those axes that have more than one; what is expected of it follows from what is planted in it, unless the
block says otherwise, for all of its combinations or for some (``except``).

Combinations that make no plan (a mistake under another policy than its own, say) are refused, or left
out where the block says ``unfit: leave-out``; that is the reader's, which knows their lines. Here
everything is plain data: a matrix can be made by code as well as read from a file, and the `catalog` is
one that is.
"""

from __future__ import annotations

import re
from itertools import chain, product
from math import prod
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec

from harness.outcome import Outcome
from harness.plan import FIELDS
from harness.plan.draft import unknown
from harness.plan.plan import SEED_END
from harness.report.rulebook import SAYS

from .entries import Drawn, Entry, Many, Seed, Seeds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

COMBINATIONS_MAX: Final = 2000
LISTED_MAX: Final = 100_000
"""Seeds written out one by one, in all entries: the saved file has each of them."""

WHEN_MAX: Final = 1000
PLAIN_AXES: Final = frozenset({"target", "policy", "mistake", "faults", "on"})
"""Axes whose values speak for themselves in a name."""

NO_AXES: Final = frozenset({"schema", "name", "seed", "schedule_from"})
"""Keys of a plan that a campaign decides."""

RULE: Final = re.compile("|".join(SAYS))
"""The rules that there are: one that is misspelt would be known to nobody."""

Rule = Annotated[str, msgspec.Meta(pattern=rf"^(?:{RULE.pattern})\Z")]
Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+=/-]*\Z", max_length=200)]
When = Annotated[dict[str, Any], msgspec.Meta(min_length=1)]
Expected = Literal["pass", "violation", "not-exercised", "unknown"]


class Otherwise(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is expected of the combinations that have these values."""

    when: When
    expect: Expected


class Block(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One block of runs. ``expect`` None: a violation where a mistake is planted, else a pass."""

    name: Name | None = None
    expect: Expected | None = None
    swarm: bool = False
    plan: dict[str, Any] = {}
    matrix: dict[str, Annotated[list[Any], msgspec.Meta(min_length=1)]] = {}
    exclude: Annotated[tuple[When, ...], msgspec.Meta(max_length=WHEN_MAX)] = ()
    otherwise: Annotated[tuple[Otherwise, ...], msgspec.Meta(max_length=WHEN_MAX)] = msgspec.field(
        name="except", default=()
    )
    unfit: Literal["refuse", "leave-out"] = "refuse"
    known: tuple[Rule, ...] = ()
    seeds: Annotated[tuple[Seed, ...], msgspec.Meta(min_length=1)] | Seeds | Many | None = None


class Matrix(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A campaign: the blocks, what their plans share, and how far it goes.

    ``budget`` is a time as `harness.times` reads it; ``seeds`` None is as many as go in it.
    """

    schema: Literal[1]
    runs: Annotated[tuple[Block, ...], msgspec.Meta(min_length=1)]
    plan: dict[str, Any] = {}
    known: tuple[Rule, ...] = ()
    seeds: Many | None = None
    first_seed: Seed = 0
    budget: str | None = None
    until: Literal["violation"] | None = None


def fits(first: int, count: int | None) -> None:
    """Raise ``ValueError`` for seeds that run out of range; None is as many as go."""
    last = first + (count or 1) - 1
    if last >= SEED_END:
        raise ValueError(f"seed {last}, the last of {count} from {first} on, is not below {SEED_END}")


class MatrixError(Exception):
    """A matrix that means nothing: the sentence, and the path in it."""

    def __init__(self, sentence: str, path: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.path = path


class Combination(msgspec.Struct, frozen=True):
    """An entry, and the block and the places on its axes that it comes from."""

    entry: Entry
    block: int
    at: dict[str, int]


def combinations(matrix: Matrix) -> Iterator[Combination]:
    """Return what the blocks multiply out to, in order; raise `MatrixError`, for too many at once."""
    _within(matrix.first_seed, matrix.seeds, "first_seed")
    total = listed = 0
    for number, block in enumerate(matrix.runs):
        path = f"runs[{number}]"
        _means_something(matrix, block, path)
        many = prod(map(len, block.matrix.values()))
        total += many
        if total > COMBINATIONS_MAX:
            sentence = f"more than {COMBINATIONS_MAX} combinations: make several campaigns of them"
            raise MatrixError(sentence, f"{path}.matrix" if block.matrix else path)
        listed += many * len(block.seeds) if isinstance(block.seeds, tuple) else 0
        if listed > LISTED_MAX:
            sentence = f"more than {LISTED_MAX} seeds are listed, over all runs: say count and first"
            raise MatrixError(sentence, f"{path}.seeds")
    return chain.from_iterable(
        _of_block(matrix, block, number) for number, block in enumerate(matrix.runs)
    )


def _means_something(matrix: Matrix, block: Block, path: str) -> None:
    for key in (*matrix.plan, *block.plan, *block.matrix):
        if key in NO_AXES:
            place = f"{path}.matrix" if key in block.matrix else f"{path}.plan"
            if key in matrix.plan:
                place = "plan"
            sentence = f"the campaign itself decides {key}; there are names and seeds for that"
            raise MatrixError(sentence, f"{place}.{key}")
    for key in block.matrix:
        if key not in FIELDS:
            raise MatrixError(unknown(key, "key of a plan", FIELDS), f"{path}.matrix.{key}")
        if key in block.plan:
            raise MatrixError(f"{key} is an axis, and no value beside it", f"{path}.plan.{key}")
    if block.name is None and not block.matrix:
        raise MatrixError("a block without axes needs a name", path)
    if isinstance(block.seeds, Seeds):
        _within(block.seeds.first, block.seeds.count, f"{path}.seeds.first")


def _within(first: int, count: int | None, path: str) -> None:
    try:
        fits(first, count)
    except ValueError as error:
        raise MatrixError(str(error), path) from error


def _of_block(matrix: Matrix, block: Block, number: int) -> Iterator[Combination]:
    path = f"runs[{number}]"
    axes = tuple(block.matrix)
    excluded, excepted = [0] * len(block.exclude), [0] * len(block.otherwise)
    seeds = _seeds(block)
    for places in product(*(range(len(values)) for values in block.matrix.values())):
        at = dict(zip(axes, places, strict=True))
        own = {key: block.matrix[key][place] for key, place in at.items()}
        options = _told({**matrix.plan, **block.plan, **own})
        matches = [_matches(options, when) for when in block.exclude]
        for place, match in enumerate(matches):
            excluded[place] += match
        if any(matches):
            continue
        expected = _expected(block, options)
        for place, other in enumerate(block.otherwise):
            if _matches(options, other.when):
                excepted[place] += 1
                expected = Outcome(other.expect)
        name = _name(block, at)
        yield Combination(
            Entry(
                name=name,
                expected=expected,
                options={"name": _word(name), **options},
                drawn=Drawn.SWARM if block.swarm else Drawn.AIMED,
                known=tuple(dict.fromkeys((*matrix.known, *block.known))),
                seeds=seeds,
            ),
            number,
            at,
        )
    for word, counts in (("exclude", excluded), ("except", excepted)):
        for place, count in enumerate(counts):
            if not count:
                raise MatrixError("this is true of no combination", f"{path}.{word}[{place}]")


def _expected(block: Block, options: Mapping[str, Any]) -> Outcome:
    if block.expect is not None:
        return Outcome(block.expect)
    return Outcome.VIOLATION if options.get("mistake") else Outcome.PASS


def _told(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options without those that ask for nothing: ``mistake: none`` is how a person says so."""
    told = ((key, _listed(key, value)) for key, value in options.items())
    return {key: value for key, value in told if value is not None}


def _listed(key: str, value: Any) -> Any:
    if key != "mistake":
        return value
    words = [value] if isinstance(value, str) else value
    return None if words in ([], ["none"], None) else words


def _matches(options: Mapping[str, Any], when: Mapping[str, Any]) -> bool:
    return all(options.get(key) == _listed(key, value) for key, value in when.items())


def _seeds(block: Block) -> Seeds | tuple[int, ...] | None:
    """Return seeds as shortly as they can be said, each once."""
    match block.seeds:
        case int(count):
            return Seeds(count=count)
        case tuple(listed):
            once = tuple(dict.fromkeys(listed))
            straight = Seeds(count=len(once), first=once[0])
            return straight if tuple(straight.listed) == once else once
        case seeds:
            return seeds


def _name(block: Block, at: Mapping[str, int]) -> str:
    """Return the block's name and the values that tell its combinations apart."""
    parts = [] if block.name is None else [block.name]
    varies = {key for key, values in block.matrix.items() if len(values) > 1}
    for key, place in at.items():
        values = block.matrix[key]
        if key in varies or not (varies or block.name):
            shown = _shown(values[place], place)
            parts.append(shown if key in PLAIN_AXES else f"{key}={shown}")
    return "/".join(parts)


def _shown(value: Any, place: int) -> str:
    match value:
        case None | [] | "":
            return "none"
        case [*words] if all(isinstance(word, str) for word in words):
            return "+".join(words)
        case list() | dict():
            return str(place + 1)
        case _:
            return str(value)


def _word(name: str) -> str:
    """Return a name as a plan may have it, and a run directory."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:60] or "run"
