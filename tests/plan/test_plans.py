"""From a file and options to a plan: what overrides what, what is refused, what comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from harness.plan import Plan, PlanError, ScheduleFrom, moved, plan_from
from harness.plan.draft import unknown
from harness.plan.dump import dump
from nemesis import aimed
from nemesis import dump as dump_schedule
from targets.catalog import SYSTEMS
from targets.cluster import ClockMode
from targets.leasekv.mistakes import MISTAKES
from targets.leasekv.target import node_config

if TYPE_CHECKING:
    from pathlib import Path

SLOW_LEADER = "schedule:\n  - {do: clock, target: leader, rate: -0.04}\n"


def written(tmp_path: Path, text: str | bytes, name: str = "plan.yaml") -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refused(file: Path | None, options: dict[str, Any]) -> str:
    with pytest.raises(PlanError) as error:
        plan_from(file, options)
    return str(error.value)


def test_a_bare_plan_is_the_main_job() -> None:
    plan = plan_from(None, {"seed": 1})
    assert (plan.policy, plan.nodes, plan.on, plan.time_s) == ("lease-renew", 3, "local", 20.0)
    assert plan.faults == ("clock", "pause", "partition")
    assert plan.schedule_from is ScheduleFrom.SEED
    assert plan.clock in {ClockMode.WALL, ClockMode.RATE}
    names = [episode["episode"] for episode in plan.schedule]
    assert any(name.startswith("aimed-") for name in names)
    assert not all(name.startswith("aimed-") for name in names)


def test_the_clock_that_is_bent_is_drawn_by_the_seed() -> None:
    modes = {plan_from(None, {"seed": seed}).clock for seed in range(10)}
    assert modes == {ClockMode.WALL, ClockMode.RATE}


def test_a_seed_nobody_gave_is_drawn_and_saved() -> None:
    plans = [plan_from(None, {}) for _ in range(3)]
    assert len({plan.seed for plan in plans}) == 3


@pytest.mark.parametrize(
    "options",
    [
        {"seed": 5},
        {"seed": 6, "faults": "none", "rate": 0, "readindex_one_in": 10},
        {"seed": 7, "policy": "readindex", "faults": ["pause"], "time": 3.5},
        *({"seed": 8, "mistake": mistake} for mistake in MISTAKES),
        {"seed": 9, "mistake": "cached-lease-flag", "keep_rules": ["L11"], "allow": "not-exercised"},
    ],
)
def test_a_saved_plan_is_the_same_plan(tmp_path: Path, options: dict[str, Any]) -> None:
    plan = plan_from(None, options)
    again = plan_from(written(tmp_path, dump(plan)), {})
    assert again == plan
    assert dump(again) == dump(plan)


def test_an_option_overrides_the_file(tmp_path: Path) -> None:
    file = written(tmp_path, "seed: 1\nclients: 20\ntime: 5\nfaults: [pause]\n")
    plan = plan_from(file, {"time": 7.0, "keys": None})
    assert (plan.seed, plan.clients, plan.time_s, plan.faults) == (1, 20, 7.0, ("pause",))


def test_overriding_what_a_schedule_was_drawn_from_draws_it_anew(tmp_path: Path) -> None:
    file = written(tmp_path, dump(plan_from(None, {"seed": 1, "clock": "rate"})))
    assert plan_from(file, {"seed": 2}) == plan_from(None, {"seed": 2, "clock": "rate"})
    same_faults = plan_from(file, {"clients": 20})
    assert same_faults.schedule == plan_from(file, {}).schedule


def test_an_overridden_schedule_file_stays_its_own(tmp_path: Path) -> None:
    file = written(tmp_path, SLOW_LEADER)
    plan = plan_from(file, {"seed": 3})
    assert plan.schedule_from is ScheduleFrom.FILE
    assert plan.clock is ClockMode.RATE
    assert len(plan.schedule) == 1


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_brings_everything_it_takes(mistake: str) -> None:
    plan = plan_from(None, {"mistake": mistake})
    told = MISTAKES[mistake]
    assert (plan.policy, plan.nodes, plan.drift_ppm) == (told.policy, told.nodes, told.drift_ppm)
    assert plan.clock is told.clock
    assert list(plan.schedule) == list(dump_schedule(aimed(mistake)))
    assert plan.schedule_from is ScheduleFrom.AIMED
    assert node_config(plan.setup).rules_off == told.also_off


def test_a_kept_rule_is_not_switched_off() -> None:
    plan = plan_from(None, {"mistake": "cached-lease-flag", "keep_rules": "L11"})
    assert node_config(plan.setup).rules_off == ()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"mistake": "no-applied-wait", "policy": "lease-renew"},
            "--policy: mistake no-applied-wait needs",
        ),
        (
            {"mistake": "role-only-read", "nodes": 5},
            "--nodes: mistake role-only-read needs nodes 3, not 5",
        ),
        ({"mistake": "no-drift-margin", "drift_ppm": 1000}, "--drift-ppm: "),
        ({"mistake": "lease-wall-clock", "clock": "rate"}, "--clock: "),
        ({"mistake": "role-only-read", "faults": "pause"}, "no schedule is given, and role-only-read"),
        ({"mistake": "role-only-read", "faults": "none"}, "no schedule is given, and role-only-read"),
        ({"mistake": ["role-only-read", "no-applied-wait"]}, "needs policy readindex, not lease-renew"),
        ({"mistake": "role-only-raed"}, "did you mean 'role-only-read'?"),
        ({"policy": "lease"}, "--policy: unknown policy 'lease'"),
        ({"faults": "clock,gravity"}, "--faults: unknown faults 'gravity'"),
        ({"keep_rules": "L11"}, "no mistake of this plan switches that off"),
        ({"clients": 4}, "--clients: clients 4 is too few"),
        ({"time": -1.0}, "--time: expected `float` > 0.0, found -1.0"),
        ({"nodes": 0}, "--nodes: expected `int` >= 1, found 0"),
        ({"on": "moon"}, "--on: unknown word 'moon'; there are local, sim, docker"),
        ({"on": "locl"}, "--on: unknown word 'locl'; did you mean 'local'?"),
        ({"clock": "sun"}, "--clock: unknown word 'sun'; there are "),
        ({"target": "etcd", "on": "local"}, "--on: etcd does not run on local; it runs on docker"),
        ({"seed": "x"}, "--seed: "),
        ({"drift_ppm": 600_000}, "heartbeat_ns"),
        ({"allow": "everything"}, "--allow: unknown word 'everything'; there is not-exercised"),
        ({"require": ["x"]}, "--require: unknown word 'x'; there is availability"),
        ({"keep": True, "on": "sim"}, "--keep: keep is for runs on local, and this one is on sim"),
        ({"keep": True, "on": "docker"}, "--keep: keep is for runs on local, and this one is on docker"),
        ({"compose": "c.yml"}, "--compose: compose means nothing to leasekv"),
        ({"compose": "c.yml", "on": "docker"}, "--compose: compose means nothing to leasekv"),
        ({"containers": ["a", "b"]}, "--containers: containers means nothing to leasekv"),
        ({"target": "etcd", "compose": "c.yml"}, "--compose: compose means nothing to etcd"),
        ({"target": "etcd", "keep_rules": ["L11"]}, "--keep-rules: keep_rules means nothing to etcd"),
        ({"target": "etcd", "readindex_one_in": 3}, "readindex_one_in means nothing to etcd"),
        ({"target": "etcd-current", "margin_ns": 1}, "margin_ns means nothing to etcd-current"),
        ({"links": "gates"}, "--links: links is for runs on docker, and this one is on local"),
    ],
)
def test_what_does_not_go_together_is_refused_before_anything_starts(
    options: dict[str, Any], sentence: str
) -> None:
    assert sentence in refused(None, options)


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("seed: 1\nspeed: 9\n", 2, "unknown key 'speed'; did you mean 'seed'?"),
        ("nodes: three\n", 1, "nodes: expected `int`, got `str`"),
        ("seed: 1\n\nnodes: 99\n", 3, "nodes: expected `int` <= 9, found 99"),
        ("mistake:\n  - role-only-read\n  - nothing\n", 3, "unknown mistake 'nothing'"),
        ("mistake: role-only-read\nnodes: 5\n", 2, "mistake role-only-read needs nodes 3"),
        ("schema: 2\n", 1, "schema"),
        ("- 1\n", 1, "a plan is a mapping"),
        ("schedule:\n  - {do: dance}\n", 2, "dance"),
        ("schedule:\n  - {do: pause, target: leader}\n  - {do: pause, target: n9}\n", 3, "n9"),
        ("schedule:\n  - do: pause\n    target: leader\n    wait: -1\n", 4, "wait"),
        ("faults: [pause, pause]\n", 1, "comes twice"),
        ("compose: [1]\n", 1, "compose"),
    ],
)
def test_a_file_is_refused_by_its_line(tmp_path: Path, text: str, line: int, sentence: str) -> None:
    file = written(tmp_path, text)
    said = refused(file, {})
    assert said.startswith(f"{file}:{line}: ")
    assert sentence in said


def test_a_schedule_may_come_in_a_file_of_its_own(tmp_path: Path) -> None:
    listed = written(tmp_path, "- {do: pause, target: leader, for: 1}\n", "s.yaml")
    keyed = written(
        tmp_path, "schema: 1\nschedule:\n  - {do: pause, target: leader, for: 1}\n", "t.yaml"
    )
    plans = [plan_from(None, {"seed": 1}, schedule_file=file) for file in (listed, keyed)]
    assert plans[0] == plans[1]
    assert plans[0].schedule_from is ScheduleFrom.FILE
    wrong = written(tmp_path, "schema: 1\nschedule:\n  - {do: pause, target: n7}\n", "u.yaml")
    with pytest.raises(PlanError, match=r"u\.yaml:3: "):
        plan_from(None, {}, schedule_file=wrong)


def test_weather_is_of_the_simulator(tmp_path: Path) -> None:
    file = written(tmp_path, "on: sim\nweather:\n  loss_ppm: 1000\n")
    assert plan_from(file, {}).weather.loss_ppm == 1000
    assert "weather is for runs on sim" in refused(file, {"on": "docker"})


def test_a_run_that_is_replayed_elsewhere_leaves_its_old_places_ways_behind(tmp_path: Path) -> None:
    simulated = plan_from(written(tmp_path, "seed: 1\non: sim\nweather:\n  loss_ppm: 1000\n"), {})
    assert plan_from(written(tmp_path, dump(simulated)), {"on": "sim"}) == simulated
    on_local = plan_from(written(tmp_path, dump(simulated)), moved("local"))
    assert (on_local.on, on_local.weather) == ("local", Plan().weather)
    kept = plan_from(written(tmp_path, dump(plan_from(None, {"seed": 1, "keep": True}))), moved("sim"))
    assert (kept.on, kept.keep) == ("sim", False)


@pytest.mark.parametrize("target", SYSTEMS)
def test_what_is_asked_for_and_is_the_default_is_no_contradiction(target: str) -> None:
    options = {"readindex_one_in": 0, "keep_rules": [], "links": "auto", "read_timeout_ns": 600_000_000}
    assert plan_from(None, {"seed": 1, "target": target, **options}).target == target


def test_a_file_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    assert "No such file" in refused(tmp_path / "none.yaml", {})


def test_a_plan_written_out_has_no_aliases_and_only_ascii(tmp_path: Path) -> None:
    text = dump(plan_from(None, {"seed": 2})).decode("ascii")
    assert "&id" not in text
    assert plan_from(written(tmp_path, text), {}) == plan_from(None, {"seed": 2})


def test_defaults_are_complete() -> None:
    assert Plan().node_names == ("n1", "n2", "n3")


def test_a_saved_plan_of_a_mistake_takes_no_other_faults(tmp_path: Path) -> None:
    saved = tmp_path / "plan.yaml"
    saved.write_bytes(dump(plan_from(None, {"mistake": "role-only-read", "seed": 1})))
    assert plan_from(saved, {}).faults == ()
    assert "--faults: " in refused(saved, {"faults": "none"})


def test_a_schedule_file_and_a_word_about_faults_contradict_each_other(tmp_path: Path) -> None:
    file = written(tmp_path, "- {do: pause, target: leader}\n")
    with pytest.raises(PlanError, match=r"--faults: .* one is given"):
        plan_from(None, {"faults": "none"}, schedule_file=file)


def test_a_word_that_is_known_twice_is_shown_once() -> None:
    assert unknown("x", "policy", ["linearizable", "linearizable"]).count("linearizable") == 1
