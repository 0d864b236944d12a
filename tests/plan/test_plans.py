"""From a file and options to a plan: what overrides what, what is refused, what comes back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from harness.campaign.swarm import swarm_plan
from harness.plan import Plan, PlanError, ScheduleFrom, moved, plan_from
from harness.plan.draft import unknown
from harness.plan.dump import dump
from harness.plan.plan import FIELDS
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


@pytest.mark.parametrize(
    ("drift_ppm", "rate"),
    [
        (50_000, "-99999rho"),
        (50_000, "99999rho"),
        (50_000, "-20rho"),
        (50_000, "181rho"),
        (50_000, "1e308rho"),
        (900_000, "-2rho"),
        (0, "-1"),
        (0, "-0.9999999"),
        (0, "9.1"),
    ],
)
def test_a_rate_that_no_clock_can_run_at_is_refused_by_its_line(
    tmp_path: Path, drift_ppm: int, rate: str
) -> None:
    steps = f"schedule:\n  - do: clock\n    target: leader\n    rate: {rate}\n"
    said = refused(written(tmp_path, f"drift_ppm: {drift_ppm}\n{steps}"), {})
    assert said.startswith(f"{tmp_path}/plan.yaml:5: ")
    assert "a rate lies over -1, up to 9" in said
    file = written(tmp_path, steps, "s.yaml")
    with pytest.raises(PlanError, match=r"s\.yaml:4: .* a rate lies over -1, up to 9"):
        plan_from(None, {"drift_ppm": drift_ppm}, schedule_file=file)


@pytest.mark.parametrize("rate", ["-19.9rho", "180rho", "-0rho", "-0.99", "9"])
def test_a_rate_that_a_clock_can_run_at_is_taken(tmp_path: Path, rate: str) -> None:
    file = written(tmp_path, f"schedule:\n  - {{do: clock, target: leader, rate: {rate}}}\n")
    assert plan_from(file, {}).clock is ClockMode.RATE


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


@pytest.mark.parametrize(
    ("weather", "sentence"),
    [
        (
            "latency_min_ns: 7000\n  latency_max_ns: 6999",
            "latency_min_ns 7000 is above {}latency_max_ns 6999",
        ),
        ("sync_min_ns: 400001", "sync_min_ns 400001 is above {}sync_max_ns 400000"),
        ("loss_ppm: 1\n  sync_max_ns: 0", "sync_min_ns 100000 is above {}sync_max_ns 0"),
    ],
)
def test_a_range_that_ends_before_it_begins_is_refused(
    tmp_path: Path, weather: str, sentence: str
) -> None:
    file = written(tmp_path, f"on: sim\nweather:\n  {weather}\n")
    line = 3 if f"{sentence.split(maxsplit=1)[0]}:" in weather else 2
    assert refused(file, {}) == f"{file}:{line}: weather.{sentence.format('weather.')}"


@pytest.mark.parametrize("key", FIELDS)
@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        pytest.param(value, sentence, id=sentence)
        for value, sentence in (
            (10**400, "it is a number of 1329 bits, and 64 are taken"),
            (-(10**5000), "it is a number of 16610 bits, and 64 are taken"),
            (float("nan"), "nan is no number to plan with"),
            ("\ud800", "it holds .*half of a surrogate pair"),
            ([{"at": 10**400}], "a number of 1329 bits, and 64 are taken"),
            ({"deep": [float("-inf")]}, "no number to plan with"),
            ({1: 2}, "a key is a word"),
            ([b"x"], "a value of type bytes is not taken"),
        )
    ],
)
def test_what_no_file_can_hold_is_refused_by_its_key_whoever_hands_it_in(
    key: str, value: object, sentence: str
) -> None:
    with pytest.raises(PlanError, match=f"^{key}: .*{sentence}"):
        plan_from(None, {key: value}, called=str)


def test_a_list_that_holds_itself_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(PlanError, match=r"schedule: it is nested deeper than 20"):
        plan_from(None, {"schedule": endless}, called=str)


def test_a_word_that_nobody_knows_is_shown_on_one_line_and_not_at_length() -> None:
    with pytest.raises(PlanError) as error:
        plan_from(None, {"target": "a\n" * 300_000}, called=str)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500


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


SWARM_SEEDS = {mistake: seed for seed, mistake in enumerate(list(MISTAKES)[::5])}


@pytest.mark.parametrize("mistake", [None, *SWARM_SEEDS])
def test_a_saved_plan_of_the_swarm_takes_options_that_change_it(
    mistake: str | None, tmp_path: Path
) -> None:
    asked = {"on": "sim", "seed": SWARM_SEEDS.get(mistake or "", 7)}
    plan = swarm_plan(plan_from(None, asked if mistake is None else {**asked, "mistake": mistake}))
    saved = written(tmp_path, dump(plan))
    changes: list[dict[str, Any]] = [
        {"seed": 3}, {"time": 5.0}, {"rate": 10}, {"keys": 9}, {"clients": 40}, {"workload": "lock"},
        {"nodes": 9, "clients": 40}, {"faults": "pause"}, {"allow": ["not-exercised"]},
    ]  # fmt: skip
    for change in changes:
        again = plan_from(saved, change)
        assert again.schedule_from is ScheduleFrom.SEED
        for field in Plan.__struct_fields__:
            key = {"time_s": "time"}.get(field, field)
            if key not in {"schedule", "clock", *change}:
                assert getattr(again, field) == getattr(plan, field), (change, field)
    file = written(tmp_path, "- {do: pause, target: leader, for: 1}\n", "s.yaml")
    given = plan_from(saved, {}, schedule_file=file)
    assert (given.schedule_from, given.nodes, given.faults) == (ScheduleFrom.FILE, plan.nodes, ())


def test_a_mistake_that_an_option_names_brings_its_own_schedule_and_needs(tmp_path: Path) -> None:
    plan = swarm_plan(plan_from(None, {"on": "sim", "seed": 7}))
    saved = written(tmp_path, dump(replace(plan, nodes=3, drift_ppm=50_000, policy="lease-renew")))
    assert plan_from(saved, {"mistake": "role-only-read"}).schedule_from is ScheduleFrom.AIMED
    said = refused(saved, {"mistake": "role-only-read", "nodes": 5})
    assert said == "--nodes: mistake role-only-read needs nodes 3, not 5"


def test_a_saved_plan_aimed_at_a_mistake_stays_aimed(tmp_path: Path) -> None:
    saved = written(tmp_path, dump(plan_from(None, {"mistake": "role-only-read", "seed": 1})))
    assert plan_from(saved, {"seed": 2}).schedule_from is ScheduleFrom.AIMED
    assert "needs nodes 3, not 5" in refused(saved, {"nodes": 5})


def test_a_schedule_file_and_a_word_about_faults_contradict_each_other(tmp_path: Path) -> None:
    file = written(tmp_path, "- {do: pause, target: leader}\n")
    with pytest.raises(PlanError, match=r"--faults: .* one is given"):
        plan_from(None, {"faults": "none"}, schedule_file=file)


def test_a_word_that_is_known_twice_is_shown_once() -> None:
    assert unknown("x", "policy", ["linearizable", "linearizable"]).count("linearizable") == 1


OPERATION = {"at_ns": 0, "seat": 0, "f": "read", "key": "k", "node": "n1"}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"f": "cas", "value": 1}, r"the value of cas is \[old, new\]"),
        ({"f": "cas", "value": [1, 2, 3]}, r"the value of cas is \[old, new\]"),
        ({"f": "acquire", "value": ["s", 1]}, "acquire is an operation of workload lock"),
        ({"f": "release", "value": "s"}, "release is an operation of workload lock"),
        ({"f": "read", "value": 1}, "a read takes no value"),
        ({"f": "delete", "value": 1}, "a delete takes no value"),
        ({"f": "write", "value": 1, "path": "lease"}, "path is how a read is served"),
        ({"f": "write", "value": 1, "fenced": True}, "fenced is a write of"),
        ({"at_ns": 86_400_000_000_000}, "after the load's end"),
    ],
)
def test_an_operation_that_means_nothing_is_refused_by_its_line(
    tmp_path: Path, given: dict[str, Any], sentence: str
) -> None:
    file = tmp_path / "plan.yaml"
    listed = [OPERATION, {**OPERATION, **given}]
    file.write_text(f"seed: 1\nfaults: none\noperations: {json.dumps(listed)}\n")
    with pytest.raises(PlanError, match=rf"operations\[1\]: .*{sentence}") as error:
        plan_from(file, {})
    assert error.value.where == f"{file}:3"


def test_operations_of_locks_are_for_the_workload_lock(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    listed = [{**OPERATION, "f": "acquire", "value": ["s", 10**9]}]
    file.write_text(f"seed: 1\nworkload: lock\noperations: {json.dumps(listed)}\n")
    assert plan_from(file, {}).operations is not None
