"""Drawn histories and what the checker says of them; ``LANTERN_REWRITE=1`` writes the answers anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from checker import check
from checker.testing import drawn

DATA = Path(__file__).parent / "testdata"


def cases(path: Path) -> list[str]:
    """Return the cases of a file: comment, command, drawing, ``----``, answer, up to an empty line."""
    return [case for case in path.read_text().strip().split("\n\n") if case.strip()]


def answer(drawing: str) -> str:
    report = check(drawn(drawing), model="cas-register", paranoid=True)
    lines = [report.sentence]
    if report.violation is not None:
        lines += [f"  {line}" for line in report.violation.drawing.splitlines()]
        lines += [f"  {line}" for line in report.violation.states]
        if report.violation.staleness is not None:
            lines.append(f"  {report.violation.staleness}")
    return "\n".join(lines)


@pytest.mark.parametrize("path", sorted(DATA.glob("*.txt")), ids=lambda path: path.stem)
def test_a_drawn_history_gets_the_answer_beside_it(path: Path) -> None:
    written = []
    for case in cases(path):
        asked, _, _ = case.partition("\n----")
        drawing = asked.split("check\n", 1)[1]
        written.append(f"{asked}\n----\n{answer(drawing)}")
    told = "\n\n".join(written) + "\n"
    if os.environ.get("LANTERN_REWRITE"):
        path.write_text(told)
    assert told == path.read_text()
