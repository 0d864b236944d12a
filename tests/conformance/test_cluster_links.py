"""Links, one direction at a time, between peers and with clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from conformance_kinds import Stage, Started, about_links

from targets.clock import MS, SECOND
from targets.cluster import (
    CLIENTS,
    Delayed,
    Dropped,
    Held,
    Link,
    LinkState,
    Open,
    Primitive,
    Silenced,
    Unsupported,
)
from targets.leasekv.messages import Op

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = about_links

ASKED_FOR: Mapping[LinkState, Primitive] = {
    Held(): Primitive.LINKS,
    Dropped(): Primitive.LINKS,
    Delayed(5 * MS): Primitive.DELAY,
    Silenced(): Primitive.SILENCE,
    Open(): Primitive.LINKS,
}


def test_links_are_open_until_they_are_set_and_can_be_read_back(on: Started) -> None:
    async def work(stage: Stage) -> None:
        cluster = stage.cluster
        ends = (*cluster.nodes, CLIENTS)
        links = [Link(a, b) for a in ends for b in ends if a != b]
        assert {type(cluster.link_state(link)) for link in links} == {Open}
        for state, primitive in ASKED_FOR.items():
            before = cluster.link_state(Link("n1", "n2"))
            if cluster.supports(primitive) is None:
                cluster.set_link(Link("n1", "n2"), state)
                assert cluster.link_state(Link("n1", "n2")) == state
            else:
                with pytest.raises(Unsupported):
                    cluster.set_link(Link("n1", "n2"), state)
                assert cluster.link_state(Link("n1", "n2")) == before
            assert cluster.link_state(Link("n2", "n1")) == Open()

    on(work)


def test_a_held_client_link_delivers_everything_in_order_once_it_opens(on: Started) -> None:
    async def work(stage: Stage) -> None:
        node = await stage.leader()
        client = await stage.dial(node)
        for link in (Link(CLIENTS, node), Link(node, CLIENTS)):
            await client.ask(Op.READ, "x")
            stage.cluster.set_link(link, Held())
            for value in range(5):
                client.send(Op.WRITE, "x", value)
            with pytest.raises(TimeoutError):
                await client.answer(0.2)
            stage.cluster.set_link(link, Open())
            assert [(await client.answer()).code for _ in range(5)] == [None] * 5
            assert (await client.ask(Op.READ, "x")).value == 4
        client.close()

    on(work)


def test_a_held_link_between_peers_is_one_way(on: Started) -> None:
    async def work(stage: Stage) -> None:
        cluster = stage.cluster
        node = await stage.leader()
        follower, _ = stage.others(node)
        client = await stage.dial(node)

        async def write_and_compare() -> bool:
            """Return whether the follower heard of a write."""
            assert (await client.ask(Op.WRITE, "x", 1)).code is None
            committed = (await stage.status(node)).commit_index
            end_ns = stage.now_ns() + 200 * MS
            while stage.now_ns() < end_ns:
                if (await stage.status(follower)).commit_index >= committed:
                    return True
                await stage.sleep(0.01)
            return False

        cluster.set_link(Link(follower, node), Held())
        assert await write_and_compare(), "what the leader says still arrives"
        cluster.set_link(Link(node, follower), Held())
        assert not await write_and_compare()
        cluster.set_link(Link(node, follower), Open())
        cluster.set_link(Link(follower, node), Open())
        client.close()

    on(work)


def test_a_node_that_was_cut_off_catches_up_after_the_heal(on: Started) -> None:
    async def work(stage: Stage) -> None:
        cluster = stage.cluster
        node = await stage.leader()
        follower, _ = stage.others(node)
        for state in (Held(), Dropped()):
            for link in (Link(node, follower), Link(follower, node)):
                cluster.set_link(link, state)
            client = await stage.dial(node)
            for value in range(50):
                assert (await client.ask(Op.WRITE, "x", value)).code is None
            client.close()
            for link in (Link(node, follower), Link(follower, node)):
                cluster.set_link(link, Open())
            async for found in stage.statuses():
                if len({status.applied_index for status in found.values()}) == 1:
                    break
            else:
                pytest.fail(f"not caught up after {state}")
            node = await stage.leader()
            follower, _ = stage.others(node)

    on(work)


def test_a_dropped_client_link_resets_and_refuses_until_it_opens(on: Started) -> None:
    async def work(stage: Stage) -> None:
        for link in (Link(CLIENTS, "n1"), Link("n1", CLIENTS)):
            client = await stage.dial("n1")
            await client.ask(Op.READ, "x")
            stage.cluster.set_link(link, Dropped())
            with pytest.raises(ConnectionError):
                await client.answer()
            with pytest.raises(ConnectionRefusedError):
                await stage.dial("n1")
            client.close()
            stage.cluster.set_link(link, Open())
            client = await stage.dial("n1")
            await client.ask(Op.READ, "x")
            client.close()

    on(work)


def test_a_delayed_link_delays_its_direction_only(on: Started) -> None:
    async def work(stage: Stage) -> None:
        cluster = stage.cluster
        if cluster.supports(Primitive.DELAY) is not None:
            with pytest.raises(Unsupported):
                cluster.set_link(Link(CLIENTS, "n1"), Delayed(100 * MS))
            return
        node = await stage.leader()
        client = await stage.dial(node)

        async def took_s() -> float:
            begun_ns = stage.now_ns()
            await client.ask(Op.READ, "x")
            return (stage.now_ns() - begun_ns) / SECOND

        assert min([await took_s() for _ in range(5)]) < 0.3
        cluster.set_link(Link(CLIENTS, node), Delayed(400 * MS))
        assert 0.4 <= await took_s() < 0.8
        cluster.set_link(Link(node, CLIENTS), Delayed(400 * MS))
        assert 0.8 <= await took_s() < 1.2
        cluster.set_link(Link(CLIENTS, node), Open())
        assert 0.4 <= await took_s() < 0.8
        client.close()

    on(work)
