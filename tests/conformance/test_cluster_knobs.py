"""What a node can be asked to do: campaign, apply late, sync late, run out of room."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec
import pytest
from conformance_kinds import NAMES, PATIENT, Kind, Stage, Started

from nemesis import means
from nemesis.faults import ChangeMembers, FillDisk, Standing, StopTime, Suspend, Transfer
from targets.clock import MS, SECOND
from targets.cluster import Primitive, ProcessState, Role, Roster
from targets.leasekv.messages import Op

if TYPE_CHECKING:
    from pathlib import Path


def test_a_node_that_is_asked_to_campaign_does_so_through_the_vote_rules(on: Started) -> None:
    async def work(stage: Stage) -> None:
        await stage.cluster.campaign("n2")
        assert await stage.leader() == "n2", "nobody had promised anything yet"
        term = (await stage.status("n2")).term
        await stage.cluster.campaign("n3")
        await stage.sleep(0.2)
        assert (await stage.status("n3")).role is not Role.LEADER, "the others promised n2 silence"
        assert (await stage.status("n2")).term == term

    on(work, config=PATIENT)


def test_leadership_is_handed_over_before_any_promise_has_run_out(on: Started) -> None:
    async def work(stage: Stage) -> None:
        await stage.cluster.campaign("n1")
        node = await stage.leader()
        successor, other = stage.others(node)
        client = await stage.dial(node)
        assert (await client.ask(Op.WRITE, "x", 1)).code is None
        term = (await stage.status(node)).term
        skipped = await means.inject(stage.cluster, Transfer((successor,), other))
        assert skipped.standing is Standing.SKIPPED, "only a leader has something to hand over"
        handed = await means.inject(stage.cluster, Transfer((node,), successor))
        assert handed.standing is Standing.INSTALLED, handed.reason
        await stage.sleep(0.3)  # E is 5 s
        now = await stage.status(successor)
        assert (now.role, now.term) == (Role.LEADER, term + 1)
        client.close()

    on(work, config=PATIENT)


def test_voters_and_learners_change_and_the_first_ones_come_back_with_the_heal(on: Started) -> None:
    async def work(stage: Stage) -> None:
        cluster = stage.cluster
        await cluster.campaign("n1")
        node = await stage.leader()
        kept, gone = stage.others(node)
        client = await stage.dial(node)
        assert (await client.ask(Op.WRITE, "x", 1)).code is None
        fewer = Roster((node, kept), (), (gone,))
        change = ChangeMembers((node,), fewer)
        skipped = await means.inject(cluster, ChangeMembers((kept,), fewer))
        assert skipped.standing is Standing.SKIPPED, "only a leader changes who takes part"
        made = await means.inject(cluster, change)
        assert made.standing is Standing.INSTALLED, made.reason
        await stage.sleep(0.3)
        assert (await stage.status(node)).members == fewer
        assert (await stage.status(gone)).members == fewer, "a learner hears everything"
        assert (await client.ask(Op.WRITE, "x", 2)).code is None
        assert (await means.heal(cluster, change)).standing is Standing.INSTALLED
        await stage.sleep(1.0)
        for name in NAMES:
            assert (await stage.status(name)).members == Roster(NAMES)
        client.close()

    on(work, config=PATIENT)


def test_a_time_service_is_unheard_only_where_there_is_one(on: Started) -> None:
    silent = StopTime(("n1",))

    async def unsynced(stage: Stage) -> None:
        reason = stage.cluster.supports(Primitive.TIME_SERVICE)
        found = await means.inject(stage.cluster, silent)
        assert (found.standing, found.reason) == (Standing.SKIPPED, reason)
        assert reason is not None

    async def synced(stage: Stage) -> None:
        cluster = stage.cluster
        await cluster.campaign("n1")
        node = await stage.leader()
        client = await stage.dial(node)
        assert (await client.ask(Op.WRITE, "x", 1)).code is None
        left_ns = (await stage.status(node)).lease_remaining_ns
        assert left_ns is not None
        silent = StopTime((node,))
        assert (await means.inject(cluster, silent)).standing is Standing.INSTALLED
        await stage.sleep(2.0)
        vague_ns = (await stage.status(node)).lease_remaining_ns
        assert vague_ns is not None
        assert vague_ns < left_ns - 60 * MS, "two seconds unheard make a fifth of a second of doubt"
        assert (await means.heal(cluster, silent)).standing is Standing.INSTALLED
        await stage.sleep(0.5)
        again_ns = (await stage.status(node)).lease_remaining_ns
        assert again_ns is not None
        assert again_ns > vague_ns
        client.close()

    on(unsynced)
    config = msgspec.structs.replace(PATIENT, policy="lease-interval", heartbeat_ns=50 * MS)
    on(synced, config=config)


def test_a_suspended_host_stands_still_with_its_clock_or_the_place_says_why_not(on: Started) -> None:
    async def work(stage: Stage) -> None:
        cluster = stage.cluster
        asleep = Suspend(("n1",))
        before = (await stage.status("n1")).own
        made = await means.inject(cluster, asleep)
        reason = cluster.supports(Primitive.SUSPEND)
        if reason is not None:
            assert (made.standing, made.reason) == (Standing.SKIPPED, reason)
            return
        assert cluster.state("n1") is ProcessState.STOPPED
        await stage.sleep(2.0)
        assert (await means.heal(cluster, asleep)).standing is Standing.INSTALLED
        after = (await stage.status("n1")).own
        assert after.mono_ns - before.mono_ns < 50 * MS
        assert before.boot_ns is not None
        assert after.boot_ns is not None
        assert after.boot_ns - before.boot_ns >= 2 * SECOND

    on(work)


def test_a_slow_apply_keeps_a_node_behind_its_commit_index(on: Started) -> None:
    async def work(stage: Stage) -> None:
        node = await stage.leader()
        follower, _ = stage.others(node)
        await stage.cluster.set_apply_delay(follower, 1_000 * MS)
        client = await stage.dial(node)
        assert (await client.ask(Op.WRITE, "x", 1)).code is None
        await stage.sleep(0.1)
        behind = await stage.status(follower)
        assert behind.applied_index < behind.commit_index
        await stage.sleep(1.5)
        caught = await stage.status(follower)
        assert caught.applied_index >= behind.commit_index
        client.close()

    on(work)


def test_a_slow_sync_makes_writes_wait_and_reads_not(on: Started) -> None:
    async def work(stage: Stage) -> None:
        await stage.cluster.campaign("n1")
        node = await stage.leader()
        client = await stage.dial(node)

        async def took_s(op: Op, value: int | None = None) -> float:
            begun_ns = stage.now_ns()
            answer = await client.ask(op, "x", value)
            assert answer.code is None
            assert op is Op.WRITE or answer.value == 2
            return (stage.now_ns() - begun_ns) / SECOND

        await client.ask(Op.WRITE, "x", 1)
        for name in stage.others(node):
            await stage.cluster.set_sync_delay(name, 400 * MS)
        assert 0.4 <= await took_s(Op.WRITE, 2) < 1.2
        assert await took_s(Op.READ) < 0.35
        for name in stage.others(node):
            await stage.cluster.set_sync_delay(name, 0)
        client.close()

    on(work, config=PATIENT)


def test_a_stuck_sync_comes_back_when_it_is_let_go(on: Started) -> None:
    async def work(stage: Stage) -> None:
        await stage.cluster.campaign("n1")
        node = await stage.leader()
        client = await stage.dial(node)
        await client.ask(Op.WRITE, "x", 1)
        for name in stage.others(node):
            await stage.cluster.set_sync_delay(name, 60 * SECOND)
        client.send(Op.WRITE, "x", 2)
        with pytest.raises(TimeoutError):  # no majority has it on its disks
            await client.answer(within_s=0.5)
        for name in stage.others(node):
            await stage.cluster.set_sync_delay(name, 0)
        assert (await client.answer(within_s=2.0)).code is None
        client.close()

    on(work, config=PATIENT)


def test_a_full_disk_ends_a_node_in_the_middle_of_a_record_and_a_restart_finds_room(
    kind: Kind, on: Started, tmp_path: Path
) -> None:
    async def work(stage: Stage) -> None:
        cluster = stage.cluster
        node = await stage.leader()
        client = await stage.dial(node)
        assert (await client.ask(Op.WRITE, "x", 1)).code is None
        full = FillDisk((stage.others(node)[0],))
        (name,) = full.nodes
        boot = (await stage.status(name)).boot
        assert boot is not None
        reason = cluster.supports(Primitive.DISK_ROOM)
        if reason is not None:
            verification = await means.inject(cluster, full)
            assert (verification.standing, verification.reason) == (Standing.SKIPPED, reason)
            assert cluster.state(name) is ProcessState.RUNNING
            return
        page = "x" * 1000  # a file system's room is counted in pages of some thousand bytes
        client.send(Op.WRITE, "x", page)  # some write is on its way; the next beat carries what is left
        filling = asyncio.create_task(means.inject(cluster, full))
        while not filling.done():
            client.send(Op.WRITE, "x", page)
            await stage.sleep(0.02)
        verification = filling.result()
        assert verification.standing is Standing.INSTALLED
        assert verification.evidence["states"] == {name: "gone"}
        healed = await means.heal(cluster, full)
        assert healed.standing is Standing.INSTALLED
        assert healed.evidence["boots"] == {name: boot + 1}
        client.close()
        async for found in stage.statuses():
            applied = {status.applied_index for status in found.values()}
            if len(found) == len(NAMES) and len(applied) == 1:
                break
        else:
            raise AssertionError("the node never caught up")

    on(work)
    if kind.on_host:
        told = "".join(path.read_text() for path in (tmp_path / "run" / "logs").iterdir())
        assert "event=end code=74 why='the disk failed: [Errno 28] No space left on device'" in told
        assert "event=cut note=" in told, "the record that was begun is cut off"
