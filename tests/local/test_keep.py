"""What nodes had on their disks stays if somebody asked for it, and goes if nobody did."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from targets.clock import MS
from targets.leasekv.config import NodeConfig
from targets.leasekv.processes import leasekv_cluster

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.processes

ALONE = NodeConfig(
    node="n1", nodes=("n1",), election_ns=100 * MS, election_jitter_ns=0, heartbeat_ns=20 * MS
)


@pytest.mark.parametrize("keep", [True, False])
def test_data_is_kept_if_asked_for(tmp_path: Path, *, keep: bool) -> None:
    async def run() -> None:
        cluster = leasekv_cluster(ALONE, tmp_path / "run", keep=keep)
        await cluster.start()
        await cluster.stop()

    asyncio.run(run())
    kept = sorted(path.name for path in (tmp_path / "run" / "data").glob("n1/*"))
    assert bool(kept) is keep
