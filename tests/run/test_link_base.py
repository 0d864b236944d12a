"""A plan that delays every link has them delayed again once a fault of theirs is over."""

from __future__ import annotations

from typing import Any

import pytest

from harness.plan import plan_from
from harness.run.parts import peer_links
from harness.run.simulate import simulate
from targets.clock import MS
from targets.cluster import Delayed, LinkState, Open
from targets.sim.cluster import SimCluster


@pytest.mark.parametrize(("delay_ns", "base"), [(0, Open()), (3 * MS, Delayed(3 * MS))])
def test_links_end_as_the_plan_has_them(
    monkeypatch: pytest.MonkeyPatch, delay_ns: int, base: LinkState
) -> None:
    made: list[SimCluster] = []

    def remembered(*arguments: Any) -> SimCluster:
        made.append(SimCluster(*arguments))
        return made[0]

    monkeypatch.setattr("targets.sim.cluster.SimCluster", remembered)
    asked = {"mistake": "role-only-read", "seed": 3, "time": 4.0, "rate": 50, "on": "sim"}
    recording = simulate(plan_from(None, {**asked, "peer_delay_ns": delay_ns}))
    assert recording.record.faults
    (cluster,) = made
    assert {cluster.link_state(link) for link in peer_links(cluster.nodes)} == {base}
