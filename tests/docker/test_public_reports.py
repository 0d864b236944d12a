"""Public bug reports of tools of this kind, by their number: what ours does instead."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from targets.cluster import ClockBend, ClockMode, Primitive, TargetError, Unsupported
from targets.docker import netns
from targets.docker.faketime import ContainerClock
from targets.etcd.system import EtcdSystem
from targets.host.heal import heal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def _refusing(sentence: str) -> Callable[[str, int], str]:
    def refuse(_script: str, _output: int) -> str:
        raise netns.NamespaceError(f"the packet filter refused: {sentence}")

    return refuse


def test_br083_a_listing_that_failed_is_no_absence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netns, "enter", lambda _pid, action: action())
    monkeypatch.setattr(netns, "_nft", _refusing("Error: Operation not permitted"))
    with pytest.raises(netns.NamespaceError, match="not permitted"):
        netns.nft_list(1, "lantern_x")
    monkeypatch.setattr(netns, "_nft", _refusing("Error: No such file or directory; did you mean"))
    assert netns.nft_list(1, "lantern_x") is None


def test_br075_a_namespace_that_went_with_its_node_is_healed() -> None:
    gone = 2**22 + 1  # above the largest pid there can be
    assert netns.nft({gone: "add table inet lantern_x\n"}) == {gone}
    with pytest.raises(netns.NamespaceGoneError):
        netns.nft_list(gone, "lantern_x")


@pytest.mark.parametrize("primitive", [Primitive.CLOCK_RATE, Primitive.CLOCK_WALL])
def test_br095_a_clock_fault_without_effect_is_refused_not_counted(primitive: Primitive) -> None:
    system = EtcdSystem(("n1",), image="lantern-etcd", dockerfile=None)
    assert "would have no effect" in (system.unsupported(primitive) or "")
    with pytest.raises(Unsupported, match="no effect"):
        system.bend_clock("n1", ClockBend(rate_ppm=1000))
    system.bend_clock("n1", ClockBend())


def test_br106_a_node_that_came_up_without_the_preload_is_an_error(tmp_path: Path) -> None:
    clock = ContainerClock(tmp_path, ClockMode.RATE, inside="/run/lantern")
    assert clock.environment()["FAKETIME_TIMESTAMP_FILE"] == "/run/lantern/timestamp"
    with pytest.raises(TargetError, match="came up without libfaketime"):
        clock.started(os.getpid())


def test_br076_healing_what_is_not_there_is_nothing() -> None:
    assert heal("lantern-no-such-run") == ()
