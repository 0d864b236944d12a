"""Cases and their schema, for the tests of what a CI server is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import xmlschema

from harness.ci.case import Case
from harness.outcome import Outcome

SCHEMA = xmlschema.XMLSchema(str(Path(__file__).parent / "testdata" / "junit.xsd"))


def case(outcome: str, *, suite: str = "lease-renew", name: str = "seed 1", **more: Any) -> Case:
    how = Outcome(outcome)
    return Case(suite=suite, name=name, outcome=how, **{"counted": how, **more})


EVERY = (
    case("pass", seconds=1.5),
    case("violation", kind="history", reason="n1 read 3 | after 4", rules=("L12",),
         replay="lantern replay 'a b'", directory="a b"),
    case("violation", suite="accused", counted=Outcome.PASS, known=("L12",), rules=("L12",)),
    case("unknown", suite="slow", reason="the time limit"),
    case("not-exercised", suite="quiet"),
    case("harness-failure", suite="quiet", reason="no disk"),
    case("malformed", suite="quiet"),
    case("interrupted", suite="quiet"),
    case("expectation-missed", suite="planted", name="all seeds", runs=0),
)  # fmt: skip
