"""Whose acknowledgement a lease rests on, by the configuration that its holder's log then had."""

from __future__ import annotations

import pytest

from checker.evidence import Checked, Configured, EvidenceLine, Fact, OwnClock, RoundAcked, RoundSent
from checker.oracles.promise import supporters
from checker.timeline import build

MS = 1_000_000
FIVE = ("n1", "n2", "n3", "n4", "n5")


def lines(*facts: Fact) -> tuple[EvidenceLine, ...]:
    """Return one fact a millisecond, on clocks that agree."""
    return tuple(
        EvidenceLine("n1", at * MS, at * MS, (at * MS - 1000, at * MS + 1000), fact)
        for at, fact in enumerate(facts, start=1)
    )


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        (None, {"n2", "n3"}),  # of five voters, those two were heard of late
        (Configured(1, 1, ("n1", "n2", "n4"), (), ()), {"n2"}),
        (Configured(1, 1, ("n1", "n4", "n5"), (), ("n2", "n3")), {"n4"}),
        (Configured(1, 1, ("n1", "n2", "n3"), ("n1", "n4", "n5"), ()), {"n2", "n3", "n4"}),
        (Configured(1, 1, ("n2", "n3", "n4"), (), ()), {"n2", "n3"}),  # the holder is none of them
    ],
)
def test_a_lease_rests_on_a_majority_of_every_set_of_voters(
    config: Configured | None, wanted: set[str]
) -> None:
    rounds = [RoundSent(1, number) for number in (1, 2, 3)]
    acks = [
        RoundAcked(1, 1, "n5"),
        RoundAcked(1, 2, "n4"),
        RoundAcked(1, 3, "n3"),
        RoundAcked(1, 3, "n2"),
    ]
    check = Checked(1, granted=True, clock=OwnClock.MONOTONIC, read_ns=9 * MS, until_ns=99 * MS)
    told = lines(*([config] if config else []), *rounds, *acks, check)
    (timeline,) = build(told).values()
    assert supporters(timeline, len(told) - 1, FIVE) == wanted
