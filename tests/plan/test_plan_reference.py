"""docs/plan.md is complete, and its examples are plans."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import msgspec
import pytest

from harness.plan import PlanError, plan_from
from harness.plan.draft import from_values
from harness.plan.plan import FIELDS, ScheduleFrom
from harness.plan.schedules import of_plan
from harness.plan.script import Scripted
from nemesis.faults import Flight
from nemesis.grudges import Shape
from nemesis.parse import WORDS
from nemesis.schedule import EventName
from targets.sim.weather import Weather

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEXT = (DOCS / "plan.md").read_text()
EXAMPLES = re.findall(r"<!-- tested.*?-->\n```yaml\n(.*?)```", TEXT, flags=re.DOTALL)
STEP_KEYS = re.findall(
    r'given\.(?:take|need|one_of)\("([a-z]+)"(?:, "([a-z]+)")?\)',
    (DOCS.parent / "nemesis" / "parse.py").read_text(),
)


def names(kind: type[msgspec.Struct]) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(kind)]


@pytest.mark.parametrize(
    "word",
    [
        *FIELDS,
        *names(Weather),
        *names(Scripted),
        *WORDS,
        *sorted({key for keys in STEP_KEYS for key in keys if key}),
        *(shape.value for shape in Shape),
        *(event.value for event in EventName),
        *(flight.value for flight in Flight),
    ],
)
def test_every_word_of_a_plan_is_explained(word: str) -> None:
    assert re.search(rf"[`{{| ]{re.escape(word)}[`:,}}]", TEXT), word


def test_the_keys_of_a_step_were_found() -> None:
    assert {"at", "wait", "after", "by", "every", "stagger", "of", "required", "unless"} <= {
        key for keys in STEP_KEYS for key in keys
    }


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_is_a_plan(example: str, tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(example)
    plan = plan_from(file, {})
    if "schedule:" in example:
        assert plan.schedule_from is ScheduleFrom.FILE
        deposed, slow = of_plan(plan).episodes
        assert (deposed.times, len(deposed.steps), len(slow.steps)) == (3, 4, 3)
    else:
        assert plan.operations is not None
        assert [each.f for each in plan.operations] == ["write", "cas", "read"]


def test_there_are_two_examples() -> None:
    assert len(EXAMPLES) == 2


def test_every_default_that_is_a_number_or_a_word_is_the_one_written_down() -> None:
    plan = plan_from(None, {"seed": 1})
    rows = re.findall(r"^\| `(\w+)` \| `?([\w-]+)`? \|", TEXT, flags=re.MULTILINE)
    told = {key: default for key, default in rows if key in FIELDS and default != "drawn"}
    assert len(told) > 15
    shown = {key: msgspec.to_builtins(getattr(plan, FIELDS[key].name)) for key in told}
    for key, default in told.items():
        if default in {"none", "the", "false", "what", "a"}:
            continue
        value = shown[key]
        assert str(int(value) if isinstance(value, float) else value) == default, key


def is_number(kind: Any) -> bool:
    return get_origin(kind) is Annotated and get_args(kind)[0] in {int, float}


def accepted(key: str, value: object) -> bool:
    try:
        from_values({key: value}, str)
    except PlanError:
        return False
    return True


def ranges() -> dict[str, str]:
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\| ([^|]*?) ?\|", TEXT, flags=re.MULTILINE)
    return {key: takes for key, takes in rows if key in FIELDS}


def test_the_range_of_a_number_is_what_is_taken() -> None:
    numbers = {key for key, field in FIELDS.items() if is_number(field.type)}
    told = ranges()
    assert numbers <= {key for key, takes in told.items() if takes}
    ends: list[float]
    beyond: list[float]
    for key in numbers:
        match told[key].split():
            case [least, "to", most] if least.isdigit() and most.isdigit():
                ends, beyond = [int(least), int(most)], [int(least) - 1, int(most) + 1]
            case ["at", "least", least]:
                ends, beyond = [int(least), 1 << 62], [int(least) - 1]
            case ["above", "0,", "at", "most", most]:
                ends, beyond = [1e-9, float(most)], [0, float(most) + 1e-6]
            case ["above", "0"]:
                ends, beyond = [1e-9, 1e300], [0, -1]
            case _:
                pytest.fail(f"{key}: {told[key]!r} is no range")
        assert [accepted(key, end) for end in ends] == [True, True], key
        assert not any(accepted(key, value) for value in beyond), key


def test_the_ranges_of_weather_are_what_is_taken() -> None:
    (ns, ppm, suspended) = map(
        int,
        re.findall(r"nanoseconds 0 to (\d+), of millionths 0 to (\d+) \(`suspend_ppm` to (\d+)\)", TEXT)[
            0
        ],
    )
    for name in names(Weather):
        most = suspended if name == "suspend_ppm" else ns if name.endswith("_ns") else ppm
        if name in {"torn", "shuffle"}:
            continue
        upwards = {name: most, name.replace("_min_", "_max_"): most}
        assert accepted("weather", upwards), name
        assert not accepted("weather", {name: most + 1}), name
        assert not accepted("weather", {name: -1}), name


def test_numbers_that_do_not_fit_each_other_are_refused_as_the_page_says() -> None:
    cases: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
        ({"clients": 5}, {"clients": 6}),
        ({"voters": 4}, {"voters": 3}),
        (
            {"on": "sim", "weather": {"latency_min_ns": 600_001}},
            {"on": "sim", "weather": {"latency_min_ns": 600_000}},
        ),
        (
            {"heartbeat_ns": 294_920_635},
            {"heartbeat_ns": 294_920_634},
        ),  # a third of 1 s * .95/1.05 - 20 ms
        ({"on": "docker", "nodes": 6}, {"on": "docker", "nodes": 5}),
    )
    for refused, taken in cases:
        plan_from(None, taken)
        with pytest.raises(PlanError):
            plan_from(None, refused)


def test_the_fault_model_names_the_shapes_as_they_are() -> None:
    text = (DOCS / "fault-model.md").read_text()
    assert all(shape.value in text for shape in Shape)
    (sentence,) = re.findall(r"Shapes have names: (.*?)\.\s", text, flags=re.DOTALL)
    found = re.sub(r"\(.*?\)", "", " ".join(sentence.split())).split(",")
    assert {word.strip() for word in found} == {shape.value for shape in Shape}
