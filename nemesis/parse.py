"""From plain objects, as YAML gives them, to a `Schedule`; `nemesis.dump` is the inverse.

A file is ``{schema: 1, schedule: [...]}``; the list alone is taken too, as a plan holds it. Its entries
are episodes, or steps of one single episode::

    schedule:
      - episode: deposed-reads
        times: 3
        after: stable
        steps:
          - {do: write, target: leader}
          - {after: acked, do: cut, shape: isolate-one, target: leader, name: isolation}
          - {after: new-leader-acked, by: 3E, do: read, target: leader, times: 5, every: 0.1E}
          - {wait: 0.6E, do: heal, of: isolation, stagger: 0.3}

What can be refused is refused here, before anything starts, with the path of the place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from . import fields
from .faults import Flight
from .fields import Fields
from .grudges import Shape, Side
from .kinds import KINDS, read
from .schedule import (
    NOTHING,
    PATIENCE,
    SCHEDULE_SCHEMA,
    Action,
    After,
    At,
    Awaited,
    CutAt,
    Episode,
    EventName,
    For,
    HealOf,
    Links,
    NamedLinks,
    ProbeAt,
    ProbeKind,
    Schedule,
    ScheduleError,
    ShapedLinks,
    SlowAt,
    Step,
    Wait,
    When,
)
from .validate import validate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ENTRIES_MAX: Final = 2_000
TIMES_MAX: Final = 1_000
ALONE: Final = "schedule"
"""The name of the episode that a bare list of steps makes."""


def parse(obj: object, *, nodes: Sequence[str] | None = None, drift_ppm: int | None = None) -> Schedule:
    """Read a schedule and refuse what cannot be run, with `ScheduleError`.

    ``nodes`` are the names that exist and ``drift_ppm`` the declared bound on a clock's rate error, if
    they are known already.
    """
    if isinstance(obj, dict):
        whole = Fields(obj, "schedule file")
        schema = whole.take("schema")
        if schema not in (None, SCHEDULE_SCHEMA):
            raise ScheduleError(
                "schema", f"{fields.shown(schema)} is unknown; this reads {SCHEDULE_SCHEMA}"
            )
        obj = whole.need("schedule")
        whole.end()
    entries = fields.listed(obj, "schedule", most=ENTRIES_MAX)
    flat = bool(entries) and all(isinstance(entry, dict) and "episode" not in entry for entry in entries)
    if flat:
        steps = _steps(entries, "schedule")
        schedule = Schedule((Episode(name=ALONE, steps=steps),))
    else:
        read = [_episode(Fields(entry, f"schedule[{place}]")) for place, entry in enumerate(entries)]
        schedule = Schedule(tuple(read))
    validate(schedule, nodes=nodes, drift_ppm=drift_ppm, flat=flat)
    return schedule


def _episode(given: Fields) -> Episode:
    """Read one episode."""
    name = fields.word(given.need("episode"), given.at("episode"))
    timed = any(key in given for key in ("at", "wait", "after"))
    start = _when(given) if timed else Episode(name=name, steps=()).start
    times = (
        fields.whole(given.take("times"), given.at("times"), least=1, most=TIMES_MAX)
        if "times" in given
        else 1
    )
    required = given.take("required") if "required" in given else True
    if not isinstance(required, bool):
        raise ScheduleError(given.at("required"), "is true or false")
    steps = _steps(
        fields.listed(given.need("steps"), given.at("steps"), most=ENTRIES_MAX), given.at("steps")
    )
    given.end()
    return Episode(name=name, steps=steps, start=start, times=times, required=required)


def _steps(entries: list[Any], path: str) -> tuple[Step, ...]:
    """Read the steps of an episode."""
    return tuple(_step(Fields(entry, f"{path}[{place}]")) for place, entry in enumerate(entries))


def _step(given: Fields) -> Step:
    """Read one step."""
    when = _when(given)
    name = fields.word(given.take("name"), given.at("name")) if "name" in given else None
    unless = _awaited(given.take("unless"), given.at("unless")) if "unless" in given else None
    until = _until(given)
    do = _action(given, fields.word(given.need("do"), given.at("do")))
    given.end()
    return Step(do=do, when=when, name=name, until=until, unless=unless)


def _action(given: Fields, word: str) -> Action:
    """Read what is done."""
    if word in KINDS:
        return read(given, KINDS[word])
    if word in OTHERS:
        return OTHERS[word](given)
    known = ", ".join(WORDS)
    raise ScheduleError(given.at("do"), f"{fields.shown(word)} is nothing one can do: there are {known}")


def _when(given: Fields) -> When:
    """Read ``at``, ``wait`` or ``after`` (which may have a ``by`` and a ``wait`` beside it)."""
    if "after" in given:
        given.one_of("at", "after")
        awaited = _awaited(given.take("after"), given.at("after"))
        by = fields.span(given.take("by"), given.at("by")) if "by" in given else PATIENCE
        wait = fields.span(given.take("wait"), given.at("wait")) if "wait" in given else NOTHING
        return After(awaited, by, wait)
    key = given.one_of("at", "wait")
    if key is None:
        return Wait()
    found = fields.span(given.take(key), given.at(key))
    return At(found) if key == "at" else Wait(found)


def _awaited(value: object, path: str) -> Awaited:
    """Read an event: its name, or ``{lease-expires-in: 0.1E}``."""
    left: object = None
    if isinstance(value, dict) and len(value) == 1:
        ((value, left),) = value.items()
    event = fields.choice(value, EventName, path, what="event")
    if (event is EventName.LEASE_EXPIRES_IN) != (left is not None):
        raise ScheduleError(
            path, "lease-expires-in, and nothing else, takes a time: {lease-expires-in: 0.1E}"
        )
    return Awaited(event, None if left is None else fields.span(left, f"{path}.{event}"))


def _until(given: Fields) -> For | At | After | None:
    """Read ``for`` (a time) or ``until`` (a time since the episode began, or an event)."""
    key = given.one_of("for", "until")
    if key is None:
        return None
    value, path = given.take(key), given.at(key)
    if key == "for":
        return For(fields.span(value, path))
    if isinstance(value, dict) and "after" in value:
        inner = Fields(value, path)
        ending = _when(inner)
        inner.end()
        assert isinstance(ending, After), "an ending with an event is an After"
        return ending
    if isinstance(value, dict) or value in tuple(EventName):
        return After(_awaited(value, path))
    return At(fields.span(value, path))


def _target(given: Fields) -> tuple[str, ...]:
    """Read the roles or nodes a step is about."""
    return fields.words(given.need("target"), given.at("target"))


def _links(given: Fields) -> Links:
    """Read a named shape (around ``target``), or every link ``from`` some ``to`` others."""
    if given.one_of("shape", "from") != "shape":
        sources = fields.words(given.need("from"), given.at("from"))
        return NamedLinks(sources, fields.words(given.need("to"), given.at("to")))
    shape = fields.choice(given.take("shape"), Shape, given.at("shape"), what="shape")
    centre = fields.word(given.take("target"), given.at("target")) if "target" in given else None
    side = given.take("side") if "side" in given else Side.PEERS.value
    return ShapedLinks(shape, centre, fields.choice(side, Side, given.at("side"), what="side of a node"))


def _cut(given: Fields) -> CutAt:
    """Read a cut; it keeps what is in flight unless it says ``flight: drop``."""
    links = _links(given)
    flight = given.take("flight") if "flight" in given else Flight.HOLD.value
    return CutAt(links, fields.choice(flight, Flight, given.at("flight"), what="way to cut"))


def _heal(given: Fields) -> HealOf:
    """Read which step to undo."""
    stagger = fields.span(given.take("stagger"), given.at("stagger")) if "stagger" in given else None
    return HealOf(fields.word(given.need("of"), given.at("of")), stagger)


def _probe(f: ProbeKind, given: Fields) -> ProbeAt:
    """Read a probe."""
    target = _target(given)
    times = (
        fields.whole(given.take("times"), given.at("times"), least=1, most=TIMES_MAX)
        if "times" in given
        else 1
    )
    every = fields.span(given.take("every"), given.at("every")) if "every" in given else NOTHING
    return ProbeAt(f, target, times, every)


OTHERS: Final[Mapping[str, Callable[[Fields], Action]]] = {
    "cut": _cut,
    "slow": lambda given: SlowAt(_links(given), fields.span(given.need("delay"), given.at("delay"))),
    "heal": _heal,
    "read": lambda given: _probe(ProbeKind.READ, given),
    "write": lambda given: _probe(ProbeKind.WRITE, given),
}
"""How what belongs to a step is read that is no fault of nodes; those have `nemesis.kinds`."""

WORDS: Final = (*KINDS, *OTHERS)
"""Everything that one can do."""
