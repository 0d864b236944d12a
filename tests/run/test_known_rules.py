"""Of a violation that is not known in full, which rules are known and which are not."""

from __future__ import annotations

import pytest

from harness.run.convicted import why_not_known


@pytest.mark.parametrize(
    ("broken", "known", "said"),
    [
        ("F3 F2", "F2", "F2 is known, F3 is not"),
        ("L2+F2 F3", "F2 F3", "F2 and F3 are known, L2 is not"),
        ("F2 F3 L1 L2", "F2", "F2 is known, F3, L1 and L2 are not"),
        ("F2 -", "F2", "F2 is known, and the rest has no rule"),
        ("F3", "L12", "F3 is not known"),
        ("F2 F3", "L12", "F2 and F3 are not known"),
        ("", "F2", "no rule is convicted"),
        ("-", "F2", "no rule is convicted"),
        ("F3 F2", "F3 F2", None),
        ("F3", "", None),
    ],
)
def test_known_rules_are_told_from_others(broken: str, known: str, said: str | None) -> None:
    """``-`` is a conviction that cannot name its rule."""
    convicted = [() if word == "-" else tuple(word.split("+")) for word in broken.split()]
    assert why_not_known(convicted, known.split()) == said
