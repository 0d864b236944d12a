"""Each planted mistake, aimed at in virtual time: it serves a stale value, the right rule does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest
from leasekv_judge import Invariants
from sim_lab import E, H, Lab

from targets.clock import MS
from targets.cluster import ClockBend
from targets.leasekv.config import ConfigError, NodeConfig, build_rules
from targets.leasekv.messages import Op, Response
from targets.leasekv.mistakes import MISTAKES, Planted
from targets.leasekv.policies import POLICIES
from targets.leasekv.rules import RULES_OFF, Rules

if TYPE_CHECKING:
    from collections.abc import Callable

# Every scenario starts with a leader that has acknowledged x=1 and been followed for a while, ends with
# x=2 acknowledged elsewhere, and returns what a read of x gets that was asked at the node in danger.


def _two_elsewhere(lab: Lab, old: str) -> None:
    lab.run_until(lambda: lab.leader() not in {None, old}, 3 * E)
    new = lab.leader()
    assert new is not None
    assert lab.write(new, "x", 2).code is None


def isolated_leader(lab: Lab, old: str) -> Response:
    lab.isolate(old)
    _two_elsewhere(lab, old)
    return lab.load(old)


def acks_held_then_cut(lab: Lab, old: str) -> Response:
    others = [name for name in lab.nodes if name != old]
    for name in others:
        lab.hold(name, old)
    lab.run_for(H)
    for name in others:
        lab.cut(old, name)
    lab.run_for(E * 85 // 100)
    for name in others:
        lab.open(name, old)
    lab.run_for(H // 5)
    lab.isolate(old)
    _two_elsewhere(lab, old)
    return lab.load(old)


def paused_leader_with_its_peers_cut(lab: Lab, old: str) -> Response:
    lab.cluster.pause(old)
    lab.isolate(old)
    _two_elsewhere(lab, old)
    asked = lab.ask(old, Op.READ)
    lab.run_for(MS)
    lab.cluster.resume(old)
    return lab.wait(asked)


def wall_clock_set_back_on_the_leader(lab: Lab, old: str) -> Response:
    lab.isolate(old)
    lab.run_for(E // 2)
    lab.cluster.bend_clock(old, ClockBend(wall_offset_ns=-3 * E))
    _two_elsewhere(lab, old)
    return lab.load(old)


def slow_leader_and_fast_followers(lab: Lab, old: str) -> Response:
    for name in lab.nodes:
        lab.cluster.bend_clock(name, ClockBend(-200_000 if name == old else 200_000))
    lab.run_for(3 * H)
    lab.isolate(old)
    _two_elsewhere(lab, old)
    return lab.load(old)


def an_election_while_the_lease_lives(lab: Lab, old: str) -> Response:
    lab.isolate(old)
    lab.cluster.campaign(next(name for name in lab.nodes if name != old))
    _two_elsewhere(lab, old)
    return lab.load(old)


def an_election_after_a_reset(lab: Lab, old: str) -> Response:
    lab.isolate(old)
    lab.run_for(MS)
    return an_election_while_the_lease_lives(lab, old)


def a_follower_that_applies_late(lab: Lab, old: str) -> Response:
    behind = next(name for name in lab.nodes if name != old)
    lab.cluster.set_apply_delay(behind, E // 4)
    assert lab.write(old, "x", 2).code is None
    return lab.load(behind)


SCENARIOS: dict[str, Callable[[Lab, str], Response]] = {
    "role-only-read": isolated_leader,
    "lease-from-last-ack": acks_held_then_cut,
    "cached-lease-flag": paused_leader_with_its_peers_cut,
    "lease-wall-clock": wall_clock_set_back_on_the_leader,
    "fallback-stale": isolated_leader,
    "no-drift-margin": slow_leader_and_fast_followers,
    "vote-ignores-promise": an_election_while_the_lease_lives,
    "disconnect-clears-promise": an_election_after_a_reset,
    "no-applied-wait": a_follower_that_applies_late,
}

PLAYED = [MISTAKES[name] for name in SCENARIOS]
"""Played by hand, as bare cores; the others are aimed at in `tests/catalog` only."""


def play(
    mistake: Planted,
    seed: int,
    *,
    planted: bool,
    rules_off: tuple[str, ...] = (),
    invariants: bool = False,
) -> Response:
    lab = Lab(
        seed,
        nodes=mistake.nodes,
        policy=mistake.policy,
        mistakes=(mistake.id,) if planted else (),
        rules_off=rules_off,
        drift_ppm=mistake.drift_ppm,
        election_jitter_ns=E // 10,
    )
    if invariants:
        lab.watch = Invariants(lab)
    old = lab.elect()
    assert lab.write(old, "x", 1).code is None
    lab.run_for(3 * H)
    return SCENARIOS[mistake.id](lab, old)


def stale(response: Response) -> bool:
    return response.code is None and response.value != 2


@pytest.mark.parametrize("mistake", PLAYED, ids=lambda one: one.id)
@pytest.mark.parametrize("seed", range(5))
def test_the_wrong_rule_serves_a_stale_value(mistake: Planted, seed: int) -> None:
    assert stale(play(mistake, seed, planted=True, rules_off=mistake.also_off))


@pytest.mark.parametrize("mistake", PLAYED, ids=lambda one: one.id)
@pytest.mark.parametrize("seed", range(5))
def test_the_right_rule_does_not_under_the_same_schedule(mistake: Planted, seed: int) -> None:
    assert not stale(play(mistake, seed, planted=False, invariants=True))
    assert not stale(play(mistake, seed, planted=False, rules_off=mistake.also_off, invariants=True))


@pytest.mark.parametrize("name", sorted(SCENARIOS.keys() - {"fallback-stale", "no-applied-wait"}))
def test_two_leases_at_one_instant_do_not_escape_the_invariants(name: str) -> None:
    mistake = MISTAKES[name]
    with pytest.raises(AssertionError, match="two leases at one instant"):
        play(mistake, 1, planted=True, rules_off=mistake.also_off, invariants=True)


@pytest.mark.parametrize("mistake", [m for m in PLAYED if m.also_off], ids=lambda m: m.id)
@pytest.mark.parametrize("seed", range(5))
def test_a_rule_that_has_to_be_off_masks_the_mistake_when_on(mistake: Planted, seed: int) -> None:
    for kept in mistake.also_off:
        off = tuple(rule for rule in mistake.also_off if rule != kept)
        assert not stale(play(mistake, seed, planted=True, rules_off=off)), f"{kept} masks it"


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_replaces_exactly_one_rule_of_its_policy(mistake: Planted) -> None:
    right = POLICIES[mistake.policy].rules
    wrong = mistake.change(right)
    fields = [field.name for field in msgspec.structs.fields(Rules)]
    assert sum(getattr(right, name) is not getattr(wrong, name) for name in fields) == 1


def test_only_the_mistakes_that_need_l11_off_are_masked_by_it() -> None:
    masked = {m.id for m in MISTAKES.values() if m.also_off}
    assert masked == {"cached-lease-flag", "lease-wall-clock", "tick-counter-lease"}
    assert {rule for m in MISTAKES.values() for rule in m.also_off} <= set(RULES_OFF)


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"mistakes": ("no-applied-wait",)}, "'no-applied-wait' belongs to policy 'readindex'"),
        ({"mistakes": ("role-only-raed",)}, "unknown mistake 'role-only-raed'"),
        ({"policy": "leases"}, "unknown policy 'leases'"),
        ({"rules_off": ("F2",)}, "'F2' cannot be switched off"),
    ],
)
def test_what_does_not_exist_or_fit_is_refused_by_name(config: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        build_rules(NodeConfig(node="n1", nodes=("n1",), **config))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"node": "n4"}, "'n4' is not among nodes"),
        ({"nodes": ("n1", "n1")}, "different names"),
        ({"heartbeat_ns": 0}, "heartbeat_ns must be positive"),
        ({"margin_ns": -1}, "margin_ns must not be negative"),
        ({"drift_ppm": 1_000_000}, "drift_ppm must be in"),
        ({"drift_ppm": 700_000}, "more than a third of the lease"),
    ],
)
def test_a_configuration_that_means_nothing_is_refused(config: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        NodeConfig(**{"node": "n1", "nodes": ("n1", "n2"), **config})  # type: ignore[arg-type]


def test_a_configuration_travels_as_json() -> None:
    config = NodeConfig(node="n2", nodes=("n1", "n2"), mistakes=("role-only-read",))
    assert msgspec.json.decode(msgspec.json.encode(config), type=NodeConfig) == config
