"""In virtual time: a planted mistake's rule is named, right policies break none, nodes name nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from checker import evidence_lines
from checker.conviction.convict import Court
from checker.conviction.incident import Incident
from checker.evidence import Appended, Checked, Dated, ServedRead
from checker.timeline import Timelines, build
from harness.campaign.swarm import swarm_plan
from harness.outcome import Outcome
from harness.plan import plan_from
from harness.run.convicted import as_json, owed, rules_of
from harness.run.simulate import judge_recording, simulate
from targets.leasekv.config import NodeConfig
from targets.leasekv.mistakes import MISTAKES
from targets.leasekv.policies import POLICIES
from targets.leasekv.rules import drift_safe_lease_ns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from checker.conviction import Conviction, Owed
    from harness.plan.plan import Plan
    from harness.run.simulate import Recording


ALIKE = {"tick-counter-lease", "absolute-expiry"}
"""By their evidence they look like another mistake of the same rule."""


def aimed(mistake: str, seed: int) -> Plan:
    return plan_from(None, {"on": "sim", "rate": 100, "seed": seed, "mistake": (mistake,)})


def drawn(policy: str, seed: int) -> Plan:
    return swarm_plan(plan_from(None, {"on": "sim", "policy": policy, "seed": seed}))


@pytest.mark.parametrize("mistake", MISTAKES)
def test_an_aimed_mistake_is_convicted_of_its_rule_and_of_no_other(mistake: str) -> None:
    judged = judge_recording(simulate(aimed(mistake, 1)))
    assert judged.outcome is Outcome.VIOLATION
    rules = rules_of(judged.convictions)
    assert rules, [str(each) for each in judged.convictions]
    assert set(rules) <= MISTAKES[mistake].breaks
    if mistake not in ALIKE:
        assert any(mistake in each.looks_like for each in judged.convictions)
    assert as_json(judged.convictions)["rules"] == list(rules)


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_ten_aimed_seeds_name_the_rule_and_never_a_wrong_one(mistake: str) -> None:
    named = 0
    for seed in range(10):
        judged = judge_recording(simulate(aimed(mistake, seed)))
        rules = set(rules_of(judged.convictions))
        assert rules <= MISTAKES[mistake].breaks, [str(each) for each in judged.convictions]
        named += bool(rules)
    assert named == 10


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "seeds", [range(2), pytest.param(range(2, 30), marks=[pytest.mark.soak, pytest.mark.timeout(1200)])]
)
def test_nothing_that_a_right_policy_does_would_be_convicted(policy: str, seeds: range) -> None:
    looked_at = 0
    for seed in seeds:
        plan = drawn(policy, seed)
        recording = simulate(plan)
        timelines = _timelines(recording)
        rules = owed(plan)
        assert rules is not None
        court = Court(timelines, rules)
        for incident in [*_some(every_answer(timelines), 150), *everything_else(timelines)]:
            looked_at += 1
            assert court.breaches(incident) == [], seed
    assert looked_at > 20 * len(seeds)


def _some(incidents: list[Incident], most: int) -> list[Incident]:
    return incidents[:: max(1, len(incidents) // most)]


def every_answer(timelines: Timelines) -> list[Incident]:
    """Return each answered read, as if it were a violation."""
    return [incident for node in timelines for incident in _answers(timelines, node)]


def everything_else(timelines: Timelines) -> list[Incident]:
    """Return each node's timestamps, and each leadership as if nothing had succeeded under it."""
    leads = [lead for timeline in timelines.values() for lead in timeline.leaderships]
    return [
        *(_dates(timelines, node) for node in timelines),
        *(
            Incident(
                node=lead.node, term=lead.term, checks=(), served=None, at_true_ns=1 << 62, led=lead
            )
            for lead in leads
        ),
    ]


def _dates(timelines: Timelines, node: str) -> Incident:
    dated = tuple(timelines[node].turns(Appended, Dated))
    return Incident(node=node, term=0, checks=(), served=None, at_true_ns=1 << 62, dated=dated)


def _answers(timelines: Timelines, node: str) -> Iterator[Incident]:
    timeline = timelines[node]
    granted: list[int] = []
    for place, line in enumerate(timeline.lines):
        what = line.what
        if isinstance(what, Checked) and what.granted:
            granted.append(place)
        if not isinstance(what, ServedRead):
            continue
        since_ns = what.arrived_ns
        assert since_ns is not None
        checks = [at for at in granted[-20:] if timeline.lines[at].own_ns >= since_ns]
        yield Incident(
            node=node,
            term=what.term,
            checks=tuple(checks),
            served=place,
            at_true_ns=1 << 62,  # votes of all the future count as if they had come before
        )


def _timelines(recording: Recording) -> Timelines:
    return build(line for lines in recording.evidence.values() for line in lines)


def test_the_declared_bounds_give_the_lease_that_nodes_use() -> None:
    for drift_ppm in (0, 1, 50_000, 200_000):
        plan = plan_from(None, {"on": "sim", "drift_ppm": drift_ppm, "seed": 1})
        rules: Owed | None = owed(plan)
        assert rules is not None
        config = NodeConfig(node="n1", nodes=("n1",), drift_ppm=drift_ppm)
        assert rules.lease_ns == drift_safe_lease_ns(config.bounds)
        assert rules.deadline_ns == config.read_deadline_ns


def texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for name, inner in value.items():
                yield name
                yield from texts(inner) if name not in {"key", "session"} else ()  # clients chose it
        case list() | tuple():
            for inner in value:
                yield from texts(inner)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_no_node_writes_down_its_own_mistake(mistake: str) -> None:
    """Evidence of a wrong node speaks in the words of a right one, and names no mistake and no rule."""
    plan = aimed(mistake, 1)
    data = b"".join(evidence_lines.encode(lines) for lines in simulate(plan).evidence.values())
    lines = [msgspec.json.decode(line) for line in data.splitlines()]
    words = {text for line in lines for text in texts(line)}
    ids = {*MISTAKES, *(told.rule for told in MISTAKES.values()), *MISTAKES[mistake].also_off}
    assert not words & ids
    assert not any(name in word for word in words for name in MISTAKES)
    # A lease or a promise on a wall clock is a fact of its own, and clocks that are looked at less
    # notice less; a leader that nobody follows says so, and one whose transfer gets as far as its target
    # ("told"), in whatever run there is one.
    assert words - {"wall", "quorum", "told"} <= _right_words(plan)


_SEEN: dict[str, set[str]] = {}


def _right_words(plan: Plan) -> set[str]:
    """Return all the words that right nodes write: of a run under the same faults, and of the swarm."""
    if plan.policy not in _SEEN:
        _SEEN[plan.policy] = {
            text
            for seed in (0, 2, 3)
            for lines in simulate(drawn(plan.policy, seed)).evidence.values()
            for line in msgspec.to_builtins(lines)
            for text in texts(line)
        }
    right = msgspec.structs.replace(plan, mistakes=(), allow=("not-exercised",))
    lines = msgspec.to_builtins(list(simulate(right).evidence.values()))
    return _SEEN[plan.policy] | set(texts(lines))


def test_of_a_history_that_is_clean_nothing_is_said() -> None:
    plan = plan_from(None, {"on": "sim", "rate": 50, "seed": 1, "time": 3.0, "faults": "none"})
    judged = judge_recording(simulate(plan))
    none: tuple[Conviction, ...] = ()
    assert judged.convictions == none
