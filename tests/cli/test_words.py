"""What the command line says reads as text, and fits where it is read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from harness.cli import doctor
from harness.cli.probes import Finding, Standing
from harness.cli.verbs import VERBS

if TYPE_CHECKING:
    from cli_lantern import Lantern


def test_choices_are_listed_on_one_line(lantern: Lantern) -> None:
    done = lantern("list", "--json")
    shown = done.stderr.decode()
    assert done.returncode == 2
    assert "Choose from: targets, policies, mistakes" in shown
    assert "\\t" not in shown
    assert "\t" not in json.loads(done.stdout)["error"]


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_is_plain_text_that_fits(lantern: Lantern, verb: str) -> None:
    shown = lantern(*filter(None, [verb]), "--help").stdout.decode()
    assert "\\" not in shown
    assert all(line.isprintable() and len(line) <= 80 for line in shown.splitlines())
    if not verb:
        assert "\n  Exit codes: 0 pass, 1 violation" in shown
        assert "\n              5 malformed history" in shown


def test_the_findings_of_the_doctor_fit_into_eighty_columns() -> None:
    long = "a word after a word " * 12
    found = [Finding("own-clock", Standing.BROKEN, long, long), Finding("x", Standing.OK, "fine")]
    lines = list(doctor._lines(found))
    assert all(len(line) <= 80 for line in lines)
    assert sum("remedy: " in line for line in lines) == 1
    assert " ".join(" ".join(lines).split()).count("a word after") == 24
