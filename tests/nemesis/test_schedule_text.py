"""Schedules as text: what is dumped reads back, what cannot be run is refused by its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from nemesis import ScheduleError, aimed, dump, parse
from nemesis.faults import Flight
from nemesis.grudges import Shape
from nemesis.schedule import (
    After,
    At,
    Awaited,
    BendAt,
    CampaignAt,
    CutAt,
    Episode,
    EventName,
    FillAt,
    For,
    HealOf,
    KillAt,
    MembersAt,
    NamedLinks,
    PauseAt,
    ProbeAt,
    ProbeKind,
    Rate,
    RateUnit,
    Schedule,
    ShapedLinks,
    SlowApplyAt,
    SlowAt,
    SlowSyncAt,
    Span,
    Step,
    StopTimeAt,
    SuspendAt,
    TimeUnit,
    TransferAt,
    Wait,
)
from targets.catalog import every
from targets.leasekv.mistakes import MISTAKES

REFUSALS = (Path(__file__).parent / "testdata" / "refusals.txt").read_text(encoding="utf-8")
CASES = [case.split("\n---\n") for case in REFUSALS.strip().split("\n====\n")]

amounts = st.floats(min_value=0, max_value=86_400, allow_nan=False)
spans = st.builds(Span, amounts, st.sampled_from(TimeUnit))
signed = st.builds(Span, st.floats(min_value=-86_400, max_value=86_400), st.sampled_from(TimeUnit))
rates = st.one_of(
    st.builds(Rate, st.floats(min_value=-0.99, max_value=9), st.just(RateUnit.FRACTION)),
    st.builds(Rate, st.floats(min_value=-100, max_value=100), st.just(RateUnit.BOUNDS)),
)
plain_events = st.sampled_from([each for each in EventName if each is not EventName.LEASE_EXPIRES_IN])
events = st.one_of(
    st.builds(Awaited, plain_events, st.none()),
    st.builds(Awaited, st.just(EventName.LEASE_EXPIRES_IN), spans),
)
afters = st.builds(After, events, spans, spans)
names = st.sampled_from(["leader", "new-leader", "followers", "follower-2", "all", "n1", "n3"])
targets = st.lists(names, min_size=1, max_size=3).map(tuple)
one_name = st.sampled_from(["leader", "new-leader", "follower-1", "n2"])
links = st.one_of(
    st.builds(ShapedLinks, st.sampled_from(Shape), st.one_of(st.none(), one_name)),
    st.builds(NamedLinks, targets, st.just(("clients",))),
)
# No exclusive faults here: whether they overlap is another test's claim.
lasting = st.one_of(
    st.builds(CutAt, links, st.sampled_from(Flight)),
    st.builds(SlowAt, links, spans),
)
passing = st.one_of(
    st.builds(CampaignAt, targets),
    st.builds(TransferAt, targets, one_name).filter(lambda do: do.target != (do.to,)),
    st.builds(ProbeAt, st.sampled_from(ProbeKind), targets, st.integers(1, 1000), spans),
)
untils = st.one_of(st.none(), st.builds(For, spans), afters)
whens = st.one_of(st.builds(Wait, spans), afters)
alone = st.one_of(
    st.builds(PauseAt, targets),
    st.builds(KillAt, targets),
    st.builds(SlowApplyAt, targets, spans),
    st.builds(SlowSyncAt, targets, spans),
    st.builds(FillAt, targets),
    st.builds(MembersAt, targets, st.just(("leader", "n1")), st.sampled_from([(), ("n3", "all")])),
    st.builds(StopTimeAt, targets),
    st.builds(SuspendAt, targets),
    st.builds(BendAt, targets, rates, st.none()),
    st.builds(BendAt, targets, st.none(), signed),
)


first_steps = st.builds(
    Step, do=st.builds(CutAt, links), when=st.builds(At, spans), name=st.just("first")
)
middle_steps = st.one_of(
    st.builds(Step, do=lasting, when=whens, until=untils),
    st.builds(Step, do=passing, when=whens, unless=st.one_of(st.none(), events)),
)
heals = st.builds(Step, do=st.builds(HealOf, st.just("first"), st.one_of(st.none(), spans)))


@st.composite
def episodes(draw: st.DrawFn) -> Episode:
    """Draw an episode with one exclusive fault at most, so that nothing overlaps."""
    exclusive = draw(st.lists(st.builds(Step, do=alone, when=whens, until=untils), max_size=1))
    middle = draw(st.lists(middle_steps, max_size=5))
    stable = st.builds(After, st.just(Awaited(EventName.STABLE)), spans, spans)
    return Episode(
        name=draw(st.text(min_size=1, max_size=9)),
        steps=(draw(first_steps), *middle, *exclusive, draw(heals)),
        start=draw(st.one_of(st.builds(At, spans), st.builds(Wait, spans), stable)),
        times=draw(st.integers(1, 1000)),
        required=draw(st.booleans()),
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(episodes(), max_size=3))
def test_what_is_dumped_reads_back_the_same(drawn: list[Episode]) -> None:
    schedule = Schedule(tuple(drawn))
    assert parse(dump(schedule)) == schedule
    assert parse(yaml.safe_load(yaml.safe_dump(dump(schedule)))) == schedule


@pytest.mark.parametrize("mistake", MISTAKES)
def test_an_aimed_schedule_travels_with_the_package_and_reads_back(mistake: str) -> None:
    schedule = aimed(mistake)
    nodes = [f"n{number}" for number in range(1, MISTAKES[mistake].nodes + 1)]
    assert parse(dump(schedule), nodes=nodes) == schedule
    (episode,) = schedule.episodes
    assert episode.name == mistake
    assert episode.required
    assert episode.start.awaited.event is EventName.STABLE if isinstance(episode.start, After) else False


@pytest.mark.parametrize("name", sorted({name for one in every() for name in one.schedules}))
def test_a_schedule_that_the_catalog_names_travels_too(name: str) -> None:
    schedule = aimed(name)
    assert parse(dump(schedule), nodes=["n1", "n2", "n3"]) == schedule


def test_no_schedule_is_aimed_at_what_is_no_mistake() -> None:
    with pytest.raises(KeyError, match="sunshine"):
        aimed("sunshine")
    with pytest.raises(KeyError, match="role-only-read"):
        aimed("../schedules/role-only-read")


def test_a_bare_list_of_steps_is_one_episode() -> None:
    steps: list[Any] = [{"do": "read", "target": "leader"}]
    (episode,) = parse(steps).episodes
    assert episode.steps == (Step(do=ProbeAt(ProbeKind.READ, ("leader",))),)
    assert parse({"schema": 1, "schedule": steps}) == parse(steps)


@pytest.mark.parametrize(("text", "refusal"), CASES, ids=[case[1].strip()[:40] for case in CASES])
def test_what_cannot_be_run_is_refused_by_its_place(text: str, refusal: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse(yaml.safe_load(text), nodes=["n1", "n2", "n3"])
    assert str(caught.value) == refusal.strip()
    assert refusal.startswith(f"{caught.value.path}: ")


def test_one_fault_may_begin_at_the_instant_the_one_before_it_ends() -> None:
    parse(
        [
            {"do": "pause", "target": "leader", "for": "1E"},
            {"wait": "1E", "do": "pause", "target": "leader", "until": 3},
            {"at": 3, "do": "pause", "target": "all"},
        ]
    )


def test_before_the_nodes_are_known_only_their_form_is_checked() -> None:
    parse([{"do": "pause", "target": "n7"}, {"do": "kill", "target": "follower-8"}])
    with pytest.raises(ScheduleError, match="leadr"):
        parse([{"do": "pause", "target": "leadr"}])
