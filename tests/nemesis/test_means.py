"""The means: support is asked first, effects are read back, heals are retried, nothing is raised."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NoReturn, get_args

import pytest
from msgspec.structs import replace
from nemesis_fake_cluster import FIRST, FakeCluster

from nemesis import means
from nemesis.faults import (
    BendClock,
    Campaign,
    ChangeMembers,
    Cut,
    Fault,
    FillDisk,
    Flight,
    Kill,
    OnLinks,
    OnNodes,
    Pause,
    Slow,
    SlowApply,
    SlowSync,
    Standing,
    StopTime,
    Suspend,
    Transfer,
    Verification,
)
from nemesis.kinds import KINDS
from nemesis.means import clock, disk, leader, making, members
from targets.clock import Reading
from targets.cluster import (
    CLIENTS,
    ClockBend,
    Delayed,
    Dropped,
    Held,
    Link,
    NodeStatus,
    Open,
    Primitive,
    ProcessState,
    Role,
    Roster,
    TargetError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

SLOWER = BendClock(("n1",), ClockBend(rate_ppm=-50_000))
BACK = BendClock(("n1",), ClockBend(wall_offset_ns=-3_000_000_000))
FEWER = Roster(("n1",), (), ("n2",))
LINK = Link("n1", "n2")
CLIENT = Link(CLIENTS, "n1")

EVERY: list[tuple[Fault, Primitive]] = [
    (Pause(("n1", "n2")), Primitive.PAUSE),
    (Cut((LINK,)), Primitive.LINKS),
    (Cut((Link(CLIENTS, "n1"),)), Primitive.CLIENT_LINKS),
    (Slow((LINK,), 1_000_000), Primitive.LINKS),
    (SLOWER, Primitive.CLOCK_RATE),
    (BACK, Primitive.CLOCK_WALL),
    (Kill(("n1",)), Primitive.KILL),
    (Campaign(("n1",)), Primitive.CAMPAIGN),
    (SlowApply(("n1",), 1_000_000), Primitive.APPLY_DELAY),
    (SlowSync(("n1",), 1_000_000), Primitive.SYNC_DELAY),
    (FillDisk(("n1",)), Primitive.DISK_ROOM),
    (Transfer(("n1",), "n2"), Primitive.TRANSFER),
    (ChangeMembers(("n1",), FEWER), Primitive.MEMBERSHIP),
    (StopTime(("n1",)), Primitive.TIME_SERVICE),
    (Suspend(("n1",)), Primitive.SUSPEND),
]


def test_every_kind_of_fault_has_a_word_and_a_row_and_is_tried_here() -> None:
    kinds = set(get_args(OnNodes))
    assert set(means.MEANS) == kinds
    assert {kind.makes for kind in KINDS.values()} == kinds
    assert {type(fault) for fault, _ in EVERY} == kinds | set(get_args(OnLinks))


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "HEAL_GAP_S", 0.001)
    monkeypatch.setattr(making, "INJECT_S", 0.3)
    monkeypatch.setattr(making, "HEAL_S", 0.3)
    monkeypatch.setattr(making, "RESTART_S", 0.3)
    monkeypatch.setattr(clock, "MEASURED_S", 0.05)
    monkeypatch.setattr(leader, "LOOKED_S", 0.001)
    monkeypatch.setattr(disk, "LOOKED_S", 0.05)


def broken_by(error: Exception) -> Callable[..., NoReturn]:
    def raising(*_: object) -> NoReturn:
        raise error

    return raising


def with_pauses(monkeypatch: pytest.MonkeyPatch, **verbs: Callable[..., NoReturn]) -> None:
    rows = dict(means.MEANS)
    rows[Pause] = replace(rows[Pause], **verbs)
    monkeypatch.setattr(making, "MEANS", rows)


def run(attempt: Coroutine[object, object, Verification]) -> Verification:
    return asyncio.run(attempt)


@pytest.mark.parametrize(("fault", "primitive"), EVERY)
def test_a_fault_the_cluster_cannot_make_is_skipped_by_name_and_touches_nothing(
    cluster: FakeCluster, fault: Fault, primitive: Primitive
) -> None:
    cluster.missing = {primitive}
    verification = run(means.inject(cluster, fault))
    assert verification == Verification(Standing.SKIPPED, {}, f"no {primitive} here", tried=False)
    assert cluster.calls == []


@pytest.mark.parametrize(("fault", "_primitive"), EVERY)
def test_a_fault_is_installed_with_what_was_read_back_and_heals_twice(
    cluster: FakeCluster, fault: Fault, _primitive: Primitive
) -> None:
    verification = run(means.inject(cluster, fault))
    assert (verification.standing, verification.reason) == (Standing.INSTALLED, None)
    assert verification.evidence
    for _ in range(2):
        assert run(means.heal(cluster, fault)).standing is Standing.INSTALLED
    assert {node.state for node in cluster.known.values()} == {ProcessState.RUNNING}
    assert {node.bend for node in cluster.known.values()} == {ClockBend()}
    assert {node.apply_delay_ns + node.sync_delay_ns for node in cluster.known.values()} == {0}
    assert {node.members for node in cluster.known.values()} == {FIRST}
    assert all(node.hears_time for node in cluster.known.values())
    assert set(cluster.links.values()) <= {Open()}


@pytest.mark.parametrize(("fault", "_primitive"), EVERY)
def test_a_node_that_is_gone_is_skipped_not_counted(
    cluster: FakeCluster, fault: Fault, _primitive: Primitive
) -> None:
    if isinstance(fault, Cut | Slow):
        return  # links are there without their nodes
    cluster.known["n1"].state = ProcessState.GONE
    verification = run(means.inject(cluster, fault))
    assert verification.standing is Standing.SKIPPED
    assert verification.reason in {"n1 not running", "n1 is gone"}


@pytest.mark.parametrize(
    ("method", "fault", "standing"),
    [
        ("pause", Pause(("n1",)), Standing.UNKNOWN),
        ("set_link", Cut((LINK,)), Standing.UNKNOWN),
        ("kill", Kill(("n1",)), Standing.UNKNOWN),
        ("bend_clock", SLOWER, Standing.SKIPPED),
        ("bend_clock", BACK, Standing.SKIPPED),
        ("hand_over", Transfer(("n1",), "n2"), Standing.SKIPPED),
        ("reconfigure", ChangeMembers(("n1",), FEWER), Standing.SKIPPED),
    ],
)
def test_a_fault_without_effect_does_not_count(
    cluster: FakeCluster, method: str, fault: Fault, standing: Standing
) -> None:
    cluster.deaf = {method}
    verification = run(means.inject(cluster, fault))
    assert verification.standing is standing
    assert verification.reason


@pytest.mark.parametrize(
    ("fault", "state"),
    [
        (Cut((LINK,)), Held()),
        (Cut((LINK,), Flight.DROP), Dropped()),
        (Slow((LINK,), 2_000_000), Delayed(2_000_000)),
    ],
)
def test_a_cut_puts_its_links_and_no_others_into_its_state(
    cluster: FakeCluster, fault: Fault, state: object
) -> None:
    run(means.inject(cluster, fault))
    assert cluster.links == {LINK: state}


@pytest.mark.parametrize("fault", [Cut((LINK, CLIENT)), Slow((LINK, CLIENT), 2_000_000)])
def test_a_healed_link_between_nodes_is_as_it_was_and_one_to_clients_is_open(
    cluster: FakeCluster, fault: Fault
) -> None:
    for base in (Open(), Delayed(7)):
        run(means.inject(cluster, fault))
        run(means.heal(cluster, fault, peers=base))
        assert cluster.links == {LINK: base, CLIENT: Open()}


def test_a_cut_takes_hold_before_anything_is_awaited(cluster: FakeCluster) -> None:
    async def first_step() -> None:
        attempt = means.inject(cluster, Cut((LINK,)))
        with pytest.raises(StopIteration):
            attempt.send(None)

    asyncio.run(first_step())
    assert cluster.links == {LINK: Held()}


def test_the_clocks_evidence_is_what_the_node_showed(cluster: FakeCluster) -> None:
    slow = run(means.inject(cluster, SLOWER)).evidence
    assert abs(slow["rate_ppm"]["n1"] + 50_000) < 3_000
    back = run(means.inject(cluster, BACK)).evidence
    assert abs(back["wall_step_ns"]["n1"] + 3_000_000_000) < 60_000_000


def test_a_clock_that_stays_bent_is_no_heal_and_a_frozen_node_has_none_to_measure(
    cluster: FakeCluster,
) -> None:
    run(means.inject(cluster, SLOWER))
    cluster.deaf = {"bend_clock"}
    assert run(means.heal(cluster, SLOWER)).standing is Standing.UNKNOWN
    cluster.known["n1"].state = ProcessState.STOPPED
    assert run(means.heal(cluster, SLOWER)).evidence == {"measured": []}


def test_a_clock_that_cannot_be_read_is_unknown(cluster: FakeCluster) -> None:
    cluster.known["n1"].state = ProcessState.STOPPED
    verification = run(means.inject(cluster, SLOWER))
    assert verification.standing is Standing.UNKNOWN


@pytest.mark.parametrize(("fault", "_primitive"), EVERY)
def test_whatever_a_cluster_raises_becomes_unknown(
    cluster: FakeCluster, fault: Fault, _primitive: Primitive, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(_primitive: Primitive) -> str | None:
        raise ZeroDivisionError("plug-in")

    monkeypatch.setattr(cluster, "supports", break_down)
    assert run(means.inject(cluster, fault)).reason == "ZeroDivisionError: plug-in"


def test_what_a_target_did_not_answer_is_said_in_its_own_words(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def silent(node: str, _delay_ns: int) -> None:
        raise TimeoutError(f"{node} was asked and did not answer")

    monkeypatch.setattr(cluster, "set_apply_delay", silent)
    verification = run(means.inject(cluster, SlowApply(("n1",), 1_000_000)))
    assert (verification.standing, verification.reason) == (
        Standing.UNKNOWN,
        "n1 was asked and did not answer",
    )


def test_a_call_that_never_returns_ends_at_its_deadline(cluster: FakeCluster) -> None:
    cluster.stuck = {"pause", "resume"}
    assert run(means.inject(cluster, Pause(("n1",)))).reason == "took longer than 0.3 s"
    assert run(means.heal(cluster, Pause(("n1",)))).reason == "took longer than 0.3 s"


@pytest.mark.parametrize(
    ("method", "fault"),
    [
        ("resume", Pause(("n1",))),
        ("restart", Kill(("n1",))),
        ("bend_clock", SLOWER),
        ("set_apply_delay", SlowApply(("n1",), 1)),
    ],
)
def test_a_heal_is_tried_again_and_its_failure_told(
    cluster: FakeCluster, method: str, fault: Fault
) -> None:
    run(means.inject(cluster, fault))
    cluster.broken = {method: 2}
    assert run(means.heal(cluster, fault)).standing is Standing.INSTALLED
    run(means.inject(cluster, fault))
    cluster.broken = {method: 3}
    failed = run(means.heal(cluster, fault))
    assert failed.standing is Standing.UNKNOWN
    assert failed.reason == f"TargetError: {method} of n1 failed"


def test_a_bug_in_looking_whether_a_fault_held_leaves_that_open_and_is_told(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_pauses(monkeypatch, broken=broken_by(KeyError("n4")))
    run(means.inject(cluster, Pause(("n1",))))
    found = run(means.heal(cluster, Pause(("n1",))))
    assert found.standing is Standing.INSTALLED, "it was healed all the same"
    assert found.broken == "whether it was in force to its end is not known: KeyError: 'n4'"
    assert found.bug is not None
    assert found.bug.what == "KeyError: 'n4'"
    assert "in raising\n" in found.bug.traceback


@pytest.mark.parametrize("error", [TargetError("the engine is silent"), OSError(5, "no")])
def test_what_targets_raise_is_no_bug(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    raising = broken_by(error)
    with_pauses(monkeypatch, broken=raising, make=raising)
    found = run(means.inject(cluster, Pause(("n1",))))
    assert (found.standing, found.bug) == (Standing.UNKNOWN, None)
    found = run(means.heal(cluster, Pause(("n1",))))
    assert (found.standing, found.broken, found.bug) == (Standing.INSTALLED, None, None)


@pytest.mark.parametrize("verb", ["make", "undo"])
def test_a_bug_in_making_or_undoing_a_fault_is_unknown_and_told(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    with_pauses(monkeypatch, **{verb: broken_by(KeyError("n4"))})
    made = run(means.inject(cluster, Pause(("n1",))))
    found = made if verb == "make" else run(means.heal(cluster, Pause(("n1",))))
    assert (found.standing, found.reason) == (Standing.UNKNOWN, "KeyError: 'n4'")
    assert found.bug is not None
    assert "in raising\n" in found.bug.traceback


def test_a_restart_is_proved_by_the_boot_count(cluster: FakeCluster) -> None:
    both, before = Kill(("n1", "n3")), {"n1": 1, "n3": 1}
    run(means.inject(cluster, both))
    healed = run(means.heal(cluster, both, boots=before))
    assert (healed.standing, healed.evidence) == (Standing.INSTALLED, {"boots": {"n1": 2, "n3": 2}})
    assert cluster.calls.count("restart n1") == 1
    run(means.heal(cluster, both, boots=before))
    assert cluster.calls.count("restart n1") == 1


def test_a_majority_is_started_again_at_once_for_no_node_may_answer_before_it_is_there(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> Verification:
        at_work = asyncio.Barrier(3)
        restart = cluster.restart

        async def restart_with_the_others(node: str) -> None:
            await at_work.wait()
            await restart(node)

        monkeypatch.setattr(cluster, "restart", restart_with_the_others)
        killed = Kill(("n1", "n2", "n3"))
        await means.inject(cluster, killed)
        async with asyncio.timeout(1):
            return await means.heal(cluster, killed)

    assert asyncio.run(run()).standing is Standing.INSTALLED


def test_one_node_that_does_not_come_back_keeps_none_of_the_others(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "HEAL_TRIES", 1)

    async def run() -> Verification:
        killed = Kill(("n1", "n2", "n3"))
        await means.inject(cluster, killed)
        cluster.broken["restart"] = 1
        return await means.heal(cluster, killed)

    found = asyncio.run(run())
    assert found.standing is Standing.UNKNOWN
    states = [cluster.state(node) for node in cluster.nodes]
    assert states == [ProcessState.GONE, ProcessState.RUNNING, ProcessState.RUNNING]


def test_a_node_that_counts_no_more_boots_came_back_without_its_data(cluster: FakeCluster) -> None:
    run(means.inject(cluster, Kill(("n1",))))
    found = run(means.heal(cluster, Kill(("n1",)), boots={"n1": 2}))
    assert (found.standing, found.reason) == (
        Standing.UNKNOWN,
        "n1 counts boot 2, and counted 2 before it was killed: it did not come back with its data",
    )


def test_where_no_boots_are_told_an_answer_stands_for_them(cluster: FakeCluster) -> None:
    cluster.known["n1"].boot = None
    run(means.inject(cluster, Kill(("n1",))))
    found = run(means.heal(cluster, Kill(("n1",))))
    assert (found.standing, found.evidence) == (Standing.INSTALLED, {"boots": {}})


def test_a_node_that_runs_and_says_nothing_is_not_back_and_one_that_is_stopped_is(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def silent(_node: str) -> None:
        return None

    run(means.inject(cluster, Kill(("n1",))))
    monkeypatch.setattr(cluster, "status", silent)
    found = run(means.heal(cluster, Kill(("n1",))))
    assert (found.standing, found.reason) == (Standing.UNKNOWN, "n1 runs and does not answer")
    cluster.known["n1"].state = ProcessState.STOPPED
    assert run(means.heal(cluster, Kill(("n1",)))).standing is Standing.INSTALLED


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ((Role.LEADER, 3, None), (Role.LEADER, 3, "n2"), True),
        ((Role.LEADER, 3, None), (Role.LEADER, 3, "n3"), False),
        ((Role.LEADER, 3, None), (Role.LEADER, 3, None), False),
        ((Role.LEADER, 3, None), (Role.FOLLOWER, 4, None), True),
        ((Role.FOLLOWER, 3, None), (Role.FOLLOWER, 4, None), False),
    ],
)
def test_a_transfer_is_proved_by_a_leader_that_hands_over_or_has_done_so(
    before: tuple[Role, int, str | None], now: tuple[Role, int, str | None], *, told: bool
) -> None:
    first, last = (
        NodeStatus("n1", role, term, None, 0, 0, None, Reading(0, 0), 0, handing_over_to=to)
        for role, term, to in (before, now)
    )
    assert members.handing_over(first, last, Transfer(("n1",), "n2")) is told


@pytest.mark.parametrize(
    ("force", "told"),
    [
        (FEWER, True),
        (Roster(("n1", "n2", "n3"), ("n1",), ("n2",)), True),
        (Roster(("n1",), ("n1", "n2"), ("n2",)), False),
        (Roster(("n1",)), False),
        (FIRST, False),
        (None, False),
    ],
)
def test_a_change_of_members_is_proved_by_what_is_in_force_or_comes_into_it(
    force: Roster | None, *, told: bool
) -> None:
    status = NodeStatus("n1", Role.LEADER, 3, None, 0, 0, None, Reading(0, 0), 0, members=force)
    assert members.changing(status, status, ChangeMembers(("n1",), FEWER)) is told


def test_healing_a_pause_of_a_node_that_died_is_nothing(cluster: FakeCluster) -> None:
    run(means.inject(cluster, Pause(("n1",))))
    cluster.known["n1"].state = ProcessState.GONE
    assert run(means.heal(cluster, Pause(("n1",)))).standing is Standing.INSTALLED
    cluster.known["n2"].state = ProcessState.GONE
    assert run(means.heal(cluster, SlowApply(("n2",), 1))).standing is Standing.INSTALLED
    assert "set_apply_delay n2" not in cluster.calls


def test_a_pause_that_somebody_else_ended_is_found_out_by_its_heal() -> None:
    async def run() -> tuple[Verification, Verification]:
        cluster, fault = FakeCluster(), Pause(("n1", "n2"))
        await means.inject(cluster, fault)
        whole = await means.heal(cluster, fault)
        await means.inject(cluster, fault)
        await cluster.resume("n2")
        return whole, await means.heal(cluster, fault)

    whole, found = asyncio.run(run())
    assert (whole.standing, whole.broken) == (Standing.INSTALLED, None)
    assert (found.standing, found.broken) == (
        Standing.INSTALLED,
        "n2 went on before the heal: somebody else let it",
    )


def test_a_node_that_died_of_something_else_while_it_was_stopped_was_not_let_go() -> None:
    async def run() -> Verification:
        cluster, fault = FakeCluster(), Pause(("n1",))
        await means.inject(cluster, fault)
        await cluster.kill("n1")
        return await means.heal(cluster, fault)

    assert asyncio.run(run()).broken is None


@pytest.mark.parametrize("fault", [Cut((LINK, CLIENT)), Slow((LINK,), 1_000_000)])
def test_a_link_that_somebody_else_opened_is_found_out_by_its_heal(fault: Cut | Slow) -> None:
    async def run() -> tuple[Verification, Verification]:
        cluster = FakeCluster()
        await means.inject(cluster, fault)
        whole = await means.heal(cluster, fault)
        await means.inject(cluster, fault)
        cluster.set_link(LINK, Open())
        return whole, await means.heal(cluster, fault)

    whole, found = asyncio.run(run())
    assert whole.broken is None
    assert found.broken == "n1->n2 was open before the heal: somebody else opened it"


def test_a_delay_that_every_link_has_is_nobodys_doing() -> None:
    async def run() -> Verification:
        cluster, fault = FakeCluster(), Slow((LINK,), 1_000_000)
        await means.inject(cluster, fault)
        return await means.heal(cluster, fault, peers=Delayed(1_000_000))

    assert asyncio.run(run()).broken is None
