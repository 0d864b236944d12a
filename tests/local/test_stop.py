"""A cluster whose nodes do not die at once is stopped again, and forgotten only when they have."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest

from targets.cluster import ProcessState, TargetError
from targets.host import procfs
from targets.leasekv.config import NodeConfig
from targets.leasekv.processes import leasekv_cluster
from targets.local.process import NodeProcess

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.processes


async def survive(_process: NodeProcess) -> None:
    raise TargetError("n1 did not die within 10 s: it is running")


def test_a_node_that_does_not_die_is_kept_on_the_books_until_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        cluster = leasekv_cluster(
            NodeConfig(node="n1", nodes=("n1", "n2", "n3")), tmp_path / f"r-{os.getpid()}"
        )
        await cluster.start()
        assert cluster._runtime is not None
        path = cluster._runtime.path
        nodes = [node.process.identity for node in cluster._nodes.values() if node.process is not None]
        assert len(nodes) == 3
        with monkeypatch.context() as patched:
            patched.setattr(NodeProcess, "kill", survive)
            for _ in range(2):
                with pytest.raises(TargetError, match="did not die"):
                    await cluster.stop()
                assert path.exists(), "what a heal needs is left"
        await cluster.stop()
        assert {procfs.state(who) for who in nodes} == {ProcessState.GONE}
        assert not path.exists()
        await cluster.stop()

    asyncio.run(work())


def test_a_stop_that_fails_too_does_not_hide_why_the_start_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        cluster = leasekv_cluster(NodeConfig(node="n1", nodes=("n1",)), tmp_path / f"s-{os.getpid()}")
        with monkeypatch.context() as patched:
            patched.setattr(NodeProcess, "kill", survive)
            patched.setattr("targets.local.node.READY_S", 0.0)
            with pytest.raises(TargetError, match="of its start") as caught:
                await cluster.start()
        assert caught.value.__notes__ == ["n1 did not die within 10 s: it is running"]
        await cluster.stop()

    asyncio.run(work())
