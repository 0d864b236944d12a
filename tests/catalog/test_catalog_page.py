"""docs/catalog.md and the catalog say the same."""

from __future__ import annotations

import re
from pathlib import Path

from harness.plan import plan_from
from nemesis.aimed import aimed
from targets.leasekv.mistakes import MISTAKES

PAGE = Path(__file__).parents[2] / "docs" / "catalog.md"
STANDING = re.compile(r"planted|corrected: .+|not visible: .+")


def rows() -> dict[str, list[str]]:
    """Return the cells behind the id of every row of the page's first table."""
    section = PAGE.read_text().split("\n## ")[1]
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return {cells[0]: cells[1:] for cells in lines[1:]}


def test_every_mistake_of_the_catalog_is_on_its_page_and_no_other_is_said_to_be_planted() -> None:
    planted = {name for name, cells in rows().items() if not cells[-1].startswith("not visible")}
    assert planted == set(MISTAKES)


def test_the_page_tells_policy_rule_nodes_and_places_as_they_are() -> None:
    for name, (policy, rules, nodes, places, standing) in rows().items():
        assert STANDING.fullmatch(standing), name
        mistake = MISTAKES[name]
        assert (policy, rules) == (mistake.policy, ", ".join(mistake.rules))
        voting = f", {mistake.voters} voting" if mistake.voters else ""
        assert (nodes, places) == (f"{mistake.nodes}{voting}", ", ".join(mistake.places)), name


def test_every_mistake_has_a_schedule_aimed_at_it() -> None:
    for name in MISTAKES:
        assert aimed(name).episodes, name


def test_a_mistake_that_only_availability_shows_requires_it() -> None:
    for name in ("faux-leader", "readindex-blocks-failover"):
        assert plan_from(None, {"on": "sim", "mistake": name}).require == ("availability",)
    assert plan_from(None, {"on": "sim", "mistake": "role-only-read"}).require == ()
