"""Who is to take part is named once, and leadership is handed to somebody else."""

from __future__ import annotations

from typing import Any

import pytest

from nemesis import ScheduleError, parse
from nemesis.validate import validate


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"do": "transfer", "target": "leader", "to": "leader"}, "is who hands over"),
        ({"do": "membership", "target": "leader", "voters": ["n1", "n1"]}, "is named twice"),
        (
            {"do": "membership", "target": "leader", "voters": ["n1", "n2"], "learners": ["n2"]},
            "is named twice",
        ),
    ],
)
def test_it_is_refused_by_name(step: dict[str, Any], said: str) -> None:
    timed = {"after": "stable", **step, **({"for": 1.0} if step["do"] == "membership" else {})}
    with pytest.raises(ScheduleError, match=said):
        validate(parse([timed]), nodes=("n1", "n2", "n3"))
