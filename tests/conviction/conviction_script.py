"""Evidence written by hand in plain text, and what it convicts.

    # A lease that compares no clock.
    owed lease promise                     families; none named: those of renewed leases
    clock n1 rate=0.8 wall=500:-3000       own clocks; else they show the true time
    0     n1 boot boot=1 term=0
    100   n1 role term=1 role=leader
    1600  n1 check term=1 granted=true clock=monotonic read=1600ms until=-
    1600  n1 serve term=1 path=lease key=x read_index=1 applied_index=1 arrived=1600ms
    incident n1                            the last answer of n1; `incident n1 held=2000`: its lease then
    ----
    certain L4 n1: ...

E is 1000 ms, rho 5 %, theta 20 ms: D is 884.761 ms; a read gives up after 500 ms. Voters are the nodes
that are named, in order. ``5ms`` is a length or an instant of a clock, ``-`` is None. A line starts with
its true time in ms. ``pytest tests/conviction --rewrite-conviction`` writes what is convicted now; keep
the difference only if you understand it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from checker.conviction import Family, Owed
from checker.conviction.convict import of_incidents
from checker.conviction.incident import Incident
from checker.evidence import Checked, EvidenceLine, Fact, ServedRead
from checker.timeline import MS, Timelines, build

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = {"true": True, "false": False, "-": None}
NAMES = {"voters", "incoming", "learners"}
IN_NS = {"left", "read", "until", "arrived", "bound_until", "size", "earliest", "latest", "stamp"}
PLAIN = frozenset(Family) - {Family.GRANT, Family.SPAN, Family.LOG, Family.COMMIT_WAIT}


class Script:
    """One file, read."""

    def __init__(self, text: str) -> None:
        self.lines: list[EvidenceLine] = []
        self.families = PLAIN
        self.clocks: dict[str, tuple[float, int, int]] = {}
        self.asked: tuple[str, int | None] = ("", None)
        self.nodes: list[str] = []
        for row in text.splitlines():
            words = row.split()
            match words:
                case [] | ["#", *_]:
                    pass
                case ["owed", *names]:
                    self.families = frozenset(map(Family, names))
                case ["clock", node, *options]:
                    told = dict(option.split("=") for option in options)
                    at, _, by = told.get("wall", "0:0").partition(":")
                    self.clocks[node] = (float(told.get("rate", "1")), int(at) * MS, int(by) * MS)
                case ["incident", node, *options]:
                    held = dict(option.split("=") for option in options).get("held")
                    self.asked = (node, None if held is None else int(held))
                case [at, node, tag, *fields]:
                    self._line(float(at), node, tag, fields)
        self.timelines = build(self.lines)

    def _line(self, at_ms: float, node: str, tag: str, fields: list[str]) -> None:
        if node not in self.nodes:
            self.nodes.append(node)
        rate, step_ns, by_ns = self.clocks.get(node, (1.0, 0, 0))
        true_ns = round(at_ms * MS)
        own_ns = round(true_ns * rate)
        wall_ns = own_ns + (by_ns if true_ns >= step_ns else 0)
        raw: dict[str, Any] = {"fact": tag}
        for field in fields:
            name, _, text = field.partition("=")
            if name in NAMES:
                raw[name] = text.split(",") if text != "-" else []
            else:
                raw[f"{name}_ns" if name in IN_NS else name] = _value(text)
        fact = msgspec.convert(raw, Fact)
        self.lines.append(EvidenceLine(node, own_ns, wall_ns, (true_ns, true_ns), fact))

    @property
    def owed(self) -> Owed:
        return Owed(
            nodes=tuple(self.nodes),
            voters=tuple(self.nodes),
            families=self.families,
            election_ns=1000 * MS,
            drift_ppm=50_000,
            margin_ns=20 * MS,
            deadline_ns=500 * MS,
            nap_ns=50 * MS,
            grant_ns=2000 * MS,
        )

    @property
    def incident(self) -> Incident:
        node, held_ms = self.asked
        return held(self.timelines, node, held_ms) if held_ms else answered(self.timelines, node)

    def said(self) -> Iterator[str]:
        """Yield what is convicted."""
        for each in of_incidents(self.timelines, self.owed, [self.incident]):
            rules = " ".join(each.rules) or "nothing"
            yield f"{each.certainty} {rules} {each.node}: {each.sentence}"
            if each.looks_like:
                yield f"  looks like {', '.join(each.looks_like)}"
            yield from (f"  around {sentence}" for sentence in each.around)


def _value(text: str) -> Any:
    if text in WORDS:
        return WORDS[text]
    if text.endswith("ms") and text[:-2].replace(".", "").replace("-", "").isdigit():
        return round(float(text[:-2]) * MS)
    return int(text) if text.isdigit() else text


def answered(timelines: Timelines, node: str, place: int | None = None) -> Incident:
    """Return the incident of an answer, the last one if none is named."""
    timeline = timelines[node]
    if place is None:
        place = [at for at, _ in timeline.facts(ServedRead)][-1]
    what = timeline.lines[place].what
    assert isinstance(what, ServedRead)
    since_ns = what.arrived_ns or 0
    checks = [
        at
        for at, check in timeline.facts(Checked)
        if check.granted and at < place and timeline.lines[at].own_ns >= since_ns
    ]
    return Incident(
        node=node,
        term=what.term,
        checks=tuple(checks),
        served=place,
        at_true_ns=timeline.after_ns[place],
    )


def held(timelines: Timelines, node: str, at_ms: int) -> Incident:
    """Return the incident of a lease that is held at an instant; its own clock shows the true time."""
    timeline = timelines[node]
    check = [at for at, fact in timeline.facts(Checked) if fact.granted][-1]
    fact = timeline.lines[check].what
    assert isinstance(fact, Checked)
    return Incident(
        node=node,
        term=fact.term,
        checks=(check,),
        served=None,
        at_true_ns=at_ms * MS,
        own_ns=at_ms * MS,
    )
