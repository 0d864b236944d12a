"""Each rule convicted from a few lines of evidence; and lines that look bad and convict nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_hand_written_evidence_convicts_what_the_file_says(
    trace: Path, play: Callable[[Path], tuple[list[str], list[str]]]
) -> None:
    said, expected = play(trace)
    assert said == expected
    assert said


def test_a_file_is_named_after_the_rules_that_it_convicts(
    trace: Path, play: Callable[[Path], tuple[list[str], list[str]]]
) -> None:
    named = [word for word in trace.stem.split("_") if word[0] in "FGLRSTW" and word[1:].isdigit()]
    said, _ = play(trace)
    convicted = [line.split(":")[0].split()[1:-1] for line in said if not line.startswith(" ")]
    blamed = {rule for rules in convicted for rule in rules} - {"nothing"}
    if trace.stem.endswith("not_to_blame"):
        assert not blamed & set(named)
    else:
        assert blamed == set(named)
