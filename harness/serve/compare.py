"""Two runs side by side: what was asked of them, and what came of it, where they differ and where not.

Pure: two plans and two verdicts in, rows of text out. Whatever is in a verdict is somebody's word: what
is not a table where one is expected is shown as nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from targets.clock import MS

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS_MAX: Final = 200
WORDS: Final = {"leader_changes": "elections won after the first"}
"""Keys whose word is taken: the claim leader-changes counts only those by another node than before."""


class Line(msgspec.Struct, frozen=True):
    """What one thing is in each of the two runs."""

    what: str
    one: str
    other: str

    @property
    def differs(self) -> bool:
        """Whether they are not the same."""
        return self.one != self.other


class Section(msgspec.Struct, frozen=True):
    """Lines about one subject."""

    heading: str
    lines: tuple[Line, ...]


def compared(
    plans: tuple[Mapping[str, Any], Mapping[str, Any]],
    verdicts: tuple[Mapping[str, Any], Mapping[str, Any]],
) -> tuple[Section, ...]:
    """Return the sections of a comparison, without those that neither run has anything for."""
    sections = (
        ("outcome", _outcome),
        ("exercised", lambda said: _flat(said.get("exercised"))),
        ("operations", lambda said: _nested(said.get("by_outcome"))),
        ("reads", lambda said: dict(_reads(said.get("reads")))),
        ("faults", lambda said: dict(_faults(said.get("faults")))),
        ("oracles", lambda said: dict(_oracles(said.get("oracles")))),
        ("load", _load),
    )
    made = [Section("plan, where they differ", tuple(_plan_lines(*plans)))]
    for heading, words in sections:
        one, other = words(verdicts[0]), words(verdicts[1])
        lines = [Line(key, one.get(key, ""), other.get(key, "")) for key in {**one, **other}]
        made.append(Section(heading, tuple(lines[:ROWS_MAX])))
    return tuple(section for section in made if section.lines)


def _plan_lines(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Line]:
    for key in {**one, **other}:
        words = [_planned(key, plan[key]) if key in plan else "" for plan in (one, other)]
        same = key in one and key in other and one[key] == other[key]
        if not same:
            yield Line(str(key), *words)


def _planned(key: str, value: Any) -> str:
    """Return a value of a plan; of a schedule or a list of operations no more than what it is about."""
    if key == "schedule" and isinstance(value, list):
        named = [str(_mapping(each).get("episode", "steps")) for each in value]
        steps = sum(len(_list(_mapping(each).get("steps"))) for each in value)
        told = f"{_many(len(value), 'episode')} of {_many(steps, 'step')}"
        return ": ".join((told, ", ".join(named))) if named else "none"
    if key == "operations" and isinstance(value, list):
        return f"{len(value)} listed"
    return _short(value)


def _outcome(said: Mapping[str, Any]) -> dict[str, str]:
    violation = _mapping(said.get("violation"))
    told = {
        "outcome": said.get("outcome"),
        "kind": violation.get("kind"),
        "sentence": violation.get("sentence") or said.get("reason"),
        "rules": ", ".join(map(str, _list(said.get("rules")))),
        "key": violation.get("key"),
        "planted": ", ".join(str(_mapping(each).get("mistake")) for each in _list(said.get("planted"))),
    }
    return {key: _short(value) for key, value in told.items() if value not in (None, "")}


def _load(said: Mapping[str, Any]) -> dict[str, str]:
    keys = ("operations", "leader_changes", "load_seconds", "healed", "model", "seed")
    words = {WORDS.get(key, key): _short(said[key]) for key in keys if said.get(key) is not None}
    stall = said.get("largest_stall_ns")
    return words | ({"largest stall": _ms(stall)} if isinstance(stall, int) else {})


def _reads(said: Any) -> Iterator[tuple[str, str]]:
    for path, each in _mapping(said).items():
        told = _mapping(each)
        yield str(path), f"{_short(told.get('reads'))} at {_ms(told.get('p50_ns'))}"


def _oracles(said: Any) -> Iterator[tuple[str, str]]:
    for name, each in _mapping(said).items():
        told = _mapping(each)
        yield str(name), " ".join(str(told[key]) for key in ("outcome", "reason") if told.get(key))


def _faults(said: Any) -> Iterator[tuple[str, str]]:
    """Yield each kind of fault: how many ended how, and what they did, in its own words."""
    for kind, each in _mapping(said).items():
        told = dict(_mapping(each))
        did = told.pop("did", None)
        counts = [f"{_short(count)} {word}" for word, count in told.items() if count]
        yield str(kind), "; ".join([", ".join(counts), *([_short(did)] if did else [])])


def _flat(said: Any) -> dict[str, str]:
    return {str(key): _short(value) for key, value in _mapping(said).items()}


def _nested(said: Any) -> dict[str, str]:
    return {
        str(key): ", ".join(f"{_short(count)} {word}" for word, count in _mapping(each).items() if count)
        for key, each in _mapping(said).items()
    }


def _ms(value: Any) -> str:
    return f"{value / MS:.2f} ms" if isinstance(value, int | float) else "?"


def _many(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"


def _mapping(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _short(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)
