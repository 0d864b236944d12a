"""How outcomes weigh against each other: a matrix of small histories and what else went wrong."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from checker import exercised
from checker.events import Event, EventType, Header
from checker.evidence import Booted, EvidenceLine
from checker.evidence_lines import encode
from checker.evidence_lines import header as evidence_header
from checker.oracles.result import Oracle, unavailable
from harness.outcome import Outcome
from harness.plan import Plan, ScheduleFrom, plan_from
from harness.run import judge as judging
from harness.run import testimony
from harness.run.judge import Seen, judge
from harness.run.testimony import declared
from targets.leasekv.policies import POLICIES

if TYPE_CHECKING:
    from types import ModuleType

    from harness.run.judge import Judgement

HEADERS = {node: evidence_header(node) for node in ("n1", "n2", "n3")}
EVIDENCE = {
    node: head + encode([EvidenceLine(node, 0, 0, (0, 1), Booted(boot=1, term=0))])
    for node, head in HEADERS.items()
}


def history(*operations: tuple[str, Any, EventType]) -> bytes:
    """Return a history of operations, one after the other."""
    events = [msgspec.structs.asdict(Header())]
    for number, (f, value, ended) in enumerate(operations):
        asked = None if f == "read" else value
        for place, (kind, told) in enumerate(((EventType.INVOKE, asked), (ended, value))):
            index = 2 * number + place
            line = Event(
                index=index,
                time_ns=index,
                process=number,
                type=kind,
                f=f,
                key="x",
                value=told,
                node="n1",
            )
            events.append(msgspec.to_builtins(line))
    return msgspec.json.Encoder().encode_lines(events)


OK = EventType.OK
GOOD = history(("write", 1, OK), ("read", 1, OK))
STALE = history(("write", 1, OK), ("write", 2, OK), ("read", 1, OK))
UNWRITTEN = history(("read", None, OK), ("write", 1, EventType.FAIL), ("write", 2, EventType.INFO))
UNREAD = history(("write", 1, OK), ("read", None, EventType.FAIL))
BROKEN = GOOD + b'{"index": 99, "process": 9, "type": "ok", "f": "read", "time_ns": 99}\n'


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> Plan:
    """Return a plan whose claims are all exercised unless a test says otherwise."""
    made = plan_from(None, {"seed": 1, "faults": "none"})
    claims = POLICIES[made.policy].mode.claims
    monkeypatch.setattr(exercised, "count", lambda *_: dict.fromkeys(claims, 5))
    return made


def told(plan: Plan, data: bytes | None, **seen: Any) -> Judgement:
    return judge(plan, data, EVIDENCE, Seen(**seen))


@pytest.mark.parametrize(
    ("data", "seen", "outcome"),
    [
        (GOOD, {}, Outcome.PASS),
        (STALE, {}, Outcome.VIOLATION),
        (BROKEN, {}, Outcome.MALFORMED),
        (GOOD, {"failures": ["the disk is full"]}, Outcome.HARNESS_FAILURE),
        (GOOD, {"unreliable": "the host slept"}, Outcome.UNKNOWN),
        (GOOD, {"silent": ["n1"]}, Outcome.UNKNOWN),
        (STALE, {"silent": ["n1"]}, Outcome.VIOLATION),
        (GOOD, {"unseen": ["x"]}, Outcome.UNKNOWN),
        (GOOD, {"unseen": ["y"]}, Outcome.PASS),
        (STALE, {"unseen": ["x"]}, Outcome.VIOLATION),
        (UNWRITTEN, {"unseen": ["x"]}, Outcome.PASS),
        (GOOD, {"interrupted": "SIGINT"}, Outcome.INTERRUPTED),
        (STALE, {"failures": ["the disk is full"]}, Outcome.VIOLATION),
        (STALE, {"unreliable": "the host slept"}, Outcome.VIOLATION),
        (STALE, {"interrupted": "SIGINT"}, Outcome.VIOLATION),
        (STALE, {"missed": ["step 2 missed"]}, Outcome.VIOLATION),
        (BROKEN, {"failures": ["the disk is full"]}, Outcome.MALFORMED),
        (GOOD, {"unreliable": "slept", "failures": ["full"]}, Outcome.HARNESS_FAILURE),
        (GOOD, {"unreliable": "slept", "missed": ["step 2 missed"]}, Outcome.UNKNOWN),
        (GOOD, {"unharmed": "the only fault took no hold: no root"}, Outcome.NOT_EXERCISED),
        (STALE, {"unharmed": "the only fault took no hold: no root"}, Outcome.VIOLATION),
        (UNREAD, {}, Outcome.NOT_EXERCISED),
        (None, {"failures": ["it never started"]}, Outcome.HARNESS_FAILURE),
        (None, {"interrupted": "SIGINT"}, Outcome.INTERRUPTED),
    ],
)
def test_the_worst_that_is_certain_is_the_outcome(
    plan: Plan, data: bytes | None, seen: dict[str, Any], outcome: Outcome
) -> None:
    judged = told(plan, data, **seen)
    assert judged.outcome is outcome
    assert (judged.reason is None) == (outcome is Outcome.PASS)


def test_the_memory_that_the_check_itself_takes_is_what_is_limited(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = itertools.chain([1 << 40], itertools.repeat((1 << 40) + (plan.check_mb << 20)))
    monkeypatch.setattr(judging, "held_bytes", lambda: next(held))
    perhaps = [("write", 1 + number // 2, EventType.INFO) for number in range(50)]
    judged = told(plan, history(*perhaps, ("read", 99, OK)))  # where values repeat, a search decides
    assert judged.outcome is Outcome.UNKNOWN
    assert f"the memory limit of {plan.check_mb} MB" in str(judged.reason)


@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        (ScheduleFrom.SEED, Outcome.PASS),
        (ScheduleFrom.AIMED, Outcome.NOT_EXERCISED),
        (ScheduleFrom.FILE, Outcome.NOT_EXERCISED),
    ],
)
def test_a_missed_step_weighs_by_where_the_schedule_came_from(
    plan: Plan, source: ScheduleFrom, outcome: Outcome
) -> None:
    made = msgspec.structs.replace(plan, schedule_from=source)
    judged = told(made, GOOD, missed=["step 2 missed"])
    assert judged.outcome is outcome
    assert "step 2 missed" in (judged.notes if outcome is Outcome.PASS else [judged.reason])


def test_a_claim_that_was_not_exercised_is_no_pass_unless_allowed(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exercised, "count", lambda *_: {"lease-reads": 3, "other": 9})
    judged = told(plan, GOOD)
    assert judged.outcome is Outcome.NOT_EXERCISED
    assert judged.exercised == {
        "lease-reads": 3,
        "leader-changes": 0,
        "deposed-reads": 0,
        "clock-bend": 0,
    }
    allowed = told(msgspec.structs.replace(plan, allow=("not-exercised",)), GOOD)
    assert allowed.outcome is Outcome.PASS
    assert any("not exercised" in note for note in allowed.notes)


def test_an_empty_history_is_not_exercised(plan: Plan) -> None:
    assert told(plan, history()).outcome is Outcome.NOT_EXERCISED


@pytest.mark.parametrize(("where", "broken"), [(judging, "check"), (testimony, "judge")])
def test_a_judge_that_breaks_silences_no_other(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, where: ModuleType, broken: str
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a bug in a judge")

    monkeypatch.setattr(where, broken, fail)
    judged = told(plan, STALE)
    assert any("a bug in a judge" in cause for cause in judged.causes[Outcome.HARNESS_FAILURE])
    assert judged.outcome is (Outcome.VIOLATION if where is testimony else Outcome.HARNESS_FAILURE)
    assert judged.exercised["lease-reads"] == 5
    if where is judging:
        assert judged.oracles


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("evidence", "without"),
    [
        ({}, "n1, n2, n3"),
        (HEADERS, "n1, n2, n3"),
        ({**EVIDENCE, "n2": HEADERS["n2"]}, "n2"),
        ({"n1": EVIDENCE["n1"], "n2": HEADERS["n2"]}, "n3, n2"),
    ],
    ids=["no file", "headers", "one header", "one header, one missing"],
)
def test_a_store_that_owes_evidence_does_not_pass_without(
    plan: Plan, policy: str, evidence: dict[str, bytes], without: str
) -> None:
    lax = msgspec.structs.replace(plan, policy=policy, allow=("not-exercised",))
    judged = judge(lax, GOOD, evidence, Seen())
    assert judged.outcome is Outcome.UNKNOWN
    assert f"{without} left no evidence" in str(judged.reason)
    assert judge(lax, STALE, evidence, Seen()).outcome is Outcome.VIOLATION
    assert judge(lax, GOOD, EVIDENCE, Seen()).outcome is Outcome.PASS


def test_an_oracle_that_is_owed_and_says_nothing_is_no_pass(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = unavailable("lease-overlap", "lease-overlap", "no clock in common")
    monkeypatch.setattr(testimony, "judge", lambda *_: (silent,))
    judged = told(plan, GOOD)
    assert judged.outcome is Outcome.UNKNOWN
    assert judged.reason == "lease-overlap is owed and could not be judged: no clock in common"
    assert told(msgspec.structs.replace(plan, policy="readindex"), GOOD).outcome is not Outcome.UNKNOWN


def test_a_system_that_leaves_no_evidence_owes_none() -> None:
    plan = plan_from(
        None, {"target": "etcd", "on": "docker", "faults": "none", "allow": "not-exercised"}
    )
    assert judge(plan, GOOD, {}, Seen()).outcome is Outcome.PASS


def test_evidence_that_is_broken_leaves_the_history_its_verdict(plan: Plan) -> None:
    judged = judge(plan, STALE, {"n1": b"nothing of the kind\n"}, Seen())
    assert judged.outcome is Outcome.VIOLATION
    assert Outcome.HARNESS_FAILURE in judged.causes


def test_a_run_and_its_evidence_looked_at_again_are_held_to_the_same() -> None:
    mine = Plan(policy="readindex", require=("availability",), drift_ppm=7)
    owed = declared(mine, healed_ns=None)
    assert (owed.nodes, owed.drift_ppm, owed.healed_ns) == (("n1", "n2", "n3"), 7, None)
    assert (owed.owes, owed.availability_required) == (frozenset(), True)
    assert declared(Plan(policy="lease-renew"), healed_ns=5).owes == frozenset(Oracle)
