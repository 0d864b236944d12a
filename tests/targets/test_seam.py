"""The seam between the harness and what it tests: each system keeps it, and a third needs no more."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import pytest

from harness.campaign.catalog import catalog
from harness.campaign.entries import Drawn
from harness.campaign.file import of_matrix
from harness.outcome import Outcome
from harness.plan import Plan, PlanError, plan_from
from harness.plan.plan import FIELDS
from harness.run.run import run
from nemesis import aimed
from nemesis.grudges import Side
from nemesis.kinds import faults
from nemesis.means import MEANS
from nemesis.schedule import CutAt, HealOf, NodesAt, ProbeAt, ShapedLinks, SlowAt
from targets.catalog import HEALERS, SYSTEMS, every, find
from targets.clock import SECOND
from targets.cluster import CLIENTS, ClockMode, Primitive
from targets.sim.heap import Heap
from targets.target import TAKEN_BY_SOME, Place, Simulated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nemesis.schedule import Action, Links
    from targets.target import Mistake, Target

ROOT = Path(__file__).parents[2]
OWN = str(ROOT / "docs" / "examples" / "etcd_client.py")
MISTAKES = [mistake for target in every() for mistake in target.mistakes.values()]


@pytest.fixture(params=[*SYSTEMS, OWN])
def target(request: pytest.FixtureRequest) -> Target:
    return find(request.param)


@pytest.fixture(name="third")
def _third(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(SYSTEMS, "third", "third_system:THIRD")
    yield
    find.cache_clear()


def test_a_target_names_what_it_takes_and_what_is_aimed_at_it(target: Target) -> None:
    assert target.name in {*SYSTEMS, OWN}
    assert target.about
    assert target.modes
    assert target.places
    assert [mode.name for mode in target.modes.values()] == list(target.modes)
    assert target.takes <= TAKEN_BY_SOME.keys()
    for schedule in target.schedules:
        assert aimed(schedule).episodes
    assert isinstance(target, Simulated) is (Place.SIM in target.places)


def test_a_bare_plan_of_a_target_suits_it_wherever_it_runs(target: Target) -> None:
    """One's own cluster is nowhere in particular: its plan has to say where."""
    found = {"compose": "docker-compose.yml"} if target.name == OWN else {}
    for place in target.places:
        plan = plan_from(None, {"target": target.name, "on": place.value, "seed": 1, **found})
        assert plan.policy == next(iter(target.modes))
        assert target.client(plan.setup).session() is not None


def test_no_key_is_taken_by_nobody() -> None:
    assert TAKEN_BY_SOME.keys() <= FIELDS.keys()
    takers = [*every(), find(OWN)]
    assert frozenset().union(*(one.takes for one in takers)) == TAKEN_BY_SOME.keys()


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: one.id)
def test_a_mistake_is_of_its_target(mistake: Mistake) -> None:
    (target,) = (one for one in every() if mistake.id in one.mistakes)
    assert target.mistakes[mistake.id] is mistake
    assert mistake.policy in target.modes
    assert mistake.places
    assert set(mistake.places) <= set(target.places)
    assert set(mistake.also_off) <= set(target.rules_off)
    assert re.fullmatch(r"[A-Z]\d+", mistake.rule)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: one.id)
def test_a_mistake_needs_what_its_schedule_does(mistake: Mistake) -> None:
    done = [step.do for episode in aimed(mistake.id).episodes for step in episode.steps]
    assert {need for action in done for need in needs(action)} == set(mistake.needs)
    bent = {Primitive.CLOCK_RATE: ClockMode.RATE, Primitive.CLOCK_WALL: ClockMode.WALL}
    clocks = {bent[need] for need in mistake.needs if need in bent} or {ClockMode.NONE}
    assert clocks == {mistake.clock}


def needs(action: Action) -> set[Primitive]:
    match action:
        case NodesAt():
            (fault,) = faults(action, lambda _roles: ("n1",), election_ns=SECOND, drift_ppm=50_000)
            return set(MEANS[type(fault)].needs(fault))
        case CutAt(links):
            return {of_links(links)}
        case SlowAt(links):
            return {of_links(links), Primitive.DELAY}
        case ProbeAt() | HealOf():
            return set()


def of_links(links: Links) -> Primitive:
    if isinstance(links, ShapedLinks):
        clients = links.side is Side.CLIENTS
    else:
        clients = CLIENTS in {*links.sources, *links.sinks}
    return Primitive.CLIENT_LINKS if clients else Primitive.LINKS


@pytest.mark.parametrize("package", ["harness", "nemesis"])
def test_no_system_is_known_by_name(package: str) -> None:
    words = re.compile("|".join(map(re.escape, SYSTEMS)))
    files = sorted((ROOT / package).rglob("*.py"))
    assert len(files) > 20
    assert [str(file) for file in files if words.search(file.read_text(encoding="utf-8"))] == []


@pytest.mark.usefixtures("third")
def test_a_third_system_is_a_line_in_the_catalog(tmp_path: Path) -> None:
    asked = {"target": "third", "faults": "none", "time": 1.0, "rate": 300, "keys": 1, "seed": 1}
    plan = plan_from(None, asked)
    assert (plan.policy, plan.on) == ("strong", Place.LOCAL)
    right = run(plan, store_dir=tmp_path)
    assert (right.outcome, right.reason) == (Outcome.NOT_EXERCISED, "no fault was asked for")
    assert right.json["by_outcome"]["read"]["ok"] > 50
    wrong = run(plan_from(None, {**asked, "policy": "cached"}), store_dir=tmp_path)
    assert wrong.outcome is Outcome.VIOLATION
    assert wrong.json["violation"]["kind"] == "history"


@pytest.mark.usefixtures("third")
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"policy": "lease-renew"}, "--policy: unknown policy 'lease-renew'; there are strong, cached"),
        ({"on": "sim"}, "--on: third does not run on sim; it runs on local, docker"),
        ({"nodes": 5}, "--nodes: it has three nodes, not 5"),
        ({"keep_rules": "L11"}, "--keep-rules: keep_rules means nothing to third"),
        ({"mistake": "role-only-read"}, "--mistake: no role-only-read is planted in third"),
        ({"mistake": "torn", "on": "local"}, "--on: mistake torn cannot be shown on local; it can on"),
        ({"mistake": "torn", "policy": "cached"}, "--policy: mistake torn needs policy strong"),
        ({"target": "leasekv", "mistake": "torn"}, "--mistake: no torn is planted in leasekv"),
    ],
)
def test_what_a_third_system_has_not_got_is_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PlanError) as refused:
        plan_from(None, {"target": "third", **options})
    assert sentence in str(refused.value)


@pytest.mark.usefixtures("third")
def test_a_mistake_brings_a_place_where_it_can_be_shown(tmp_path: Path) -> None:
    schedule = tmp_path / "s.yaml"
    schedule.write_text("- {do: read, target: leader}\n")
    asked = {"target": "third", "mistake": "torn", "seed": 1}
    assert plan_from(None, asked, schedule_file=schedule).on is Place.DOCKER


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: one.id)
@pytest.mark.parametrize("place", [Place.LOCAL, Place.SIM])
def test_a_mistake_finds_what_it_needs_where_it_is_shown(
    mistake: Mistake, place: Place, tmp_path: Path
) -> None:
    if place not in mistake.places:
        with pytest.raises(PlanError):
            plan_from(None, {"mistake": mistake.id, "on": place.value})
        return
    plan = plan_from(None, {"mistake": mistake.id, "on": place.value, "seed": 1})
    (target,) = (one for one in every() if mistake.id in one.mistakes)
    if isinstance(target, Simulated) and place is Place.SIM:
        lacks = [target.simulated(plan.setup, Heap()).supports(need) for need in mistake.needs]
    else:
        cluster = target.cluster(plan.setup, tmp_path, gates=False)
        lacks = [cluster.supports(need) for need in mistake.needs]
    assert not any(lacks)


@pytest.mark.usefixtures("third")
def test_a_campaign_runs_a_mistake_only_where_it_can_be_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.campaign.catalog.DEFAULT", "third")
    names = {
        place: [one.name for one in of_matrix(catalog(on=place, drawn=Drawn.AIMED))] for place in Place
    }
    assert names[Place.LOCAL] == ["strong", "cached"]
    assert names[Place.DOCKER] == ["torn", "strong", "cached"]


def test_a_target_that_cannot_be_imported_is_in_nobody_elses_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(SYSTEMS, "broken", "targets.no_such_module:BROKEN")
    assert plan_from(None, {"seed": 1}).target == Plan().target
    with pytest.raises(ModuleNotFoundError):
        find("broken")


def test_to_list_everything_starts_nothing_that_runs_it() -> None:
    listed = (
        "import sys\nfrom harness.cli.list import TOPICS\n"
        "assert all(topic() for topic in TOPICS.values())\n"
        "print([name for name in sys.modules if name == 'docker' or name.endswith('.cluster')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", listed], capture_output=True, check=True, timeout=30
    )
    assert done.stdout.decode().split() == ["['targets.cluster']"]  # what a cluster is, and none


@pytest.mark.parametrize("healer", HEALERS)
def test_every_healer_is_there(healer: str) -> None:
    assert callable(resolve_name(HEALERS[healer]))
