"""A run directory may come from a stranger: what its plan names on this host is left alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cli_lantern import Lantern

from harness.plan import PlanError, Trust, plan_from

if TYPE_CHECKING:
    from pathlib import Path

CODE = "from pathlib import Path\nPath('touched').touch()\n"
VERBS = (("run", "theirs/plan.yaml"), ("replay", "theirs"), ("shrink", "theirs"))


def received(place: Path, plan: str) -> Lantern:
    directory = place / "theirs"
    directory.mkdir()
    (directory / "plan.yaml").write_text(plan)
    (directory / "history.jsonl").write_text("")
    (place / "their_client.py").write_text(CODE)
    return Lantern(place)


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_code_that_a_saved_plan_names_is_not_run(tmp_path: Path, verb: tuple[str, str]) -> None:
    lantern = received(tmp_path, "target: their_client.py\non: docker\n")
    refused = lantern(*verb)
    assert refused.returncode == 2
    assert b"plan.yaml:1" in refused.stderr
    assert b"--trust" in refused.stderr
    assert not (tmp_path / "touched").exists()


def test_trusted_it_is_run(tmp_path: Path) -> None:
    lantern = received(tmp_path, "target: their_client.py\non: docker\n")
    refused = lantern("run", "theirs/plan.yaml", "--trust")
    assert refused.returncode == 2  # for there is no class Client in it
    assert b"Client" in refused.stderr
    assert (tmp_path / "touched").exists()


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
@pytest.mark.parametrize("named", ["containers: [db-1, db-2, db-3]", "compose: db/docker-compose.yml"])
def test_containers_that_a_saved_plan_names_are_not_touched(
    tmp_path: Path, verb: tuple[str, str], named: str
) -> None:
    lantern = received(tmp_path, f"{named}\ntarget: their_client.py\n")
    mine = ("--target", "their_client.py") if verb[0] == "run" else ()
    refused = lantern(*verb, *mine)
    assert refused.returncode == 2
    assert b"--trust" in refused.stderr
    assert not (tmp_path / "touched").exists()


def test_what_an_option_names_is_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("compose: theirs.yml\n")
    with pytest.raises(PlanError, match=r"plan.yaml:1: .*theirs.yml.*--trust"):
        plan_from(file, {}, trust=Trust.STRANGER)
    for options, trust in (({"compose": "mine.yml"}, Trust.STRANGER), ({}, Trust.TRUSTED)):
        with pytest.raises(PlanError, match="compose means nothing to leasekv"):
            plan_from(file, options, trust=trust)


def test_a_plan_of_ones_own_may_name_containers_without_asking(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("containers: [a, b, c]\n")
    with pytest.raises(PlanError, match="containers means nothing to leasekv"):
        plan_from(file, {})
