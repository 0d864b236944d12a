"""docs/plan.md is complete, and its examples are plans."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from harness.plan import plan_from
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


def test_the_fault_model_names_the_shapes_as_they_are() -> None:
    text = (DOCS / "fault-model.md").read_text()
    assert all(shape.value in text for shape in Shape)
    (sentence,) = re.findall(r"Shapes have names: (.*?)\.\s", text, flags=re.DOTALL)
    found = re.sub(r"\(.*?\)", "", " ".join(sentence.split())).split(",")
    assert {word.strip() for word in found} == {shape.value for shape in Shape}
