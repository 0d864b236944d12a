"""Every drawing in testdata says what the oracles make of it, to the ms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from checker.oracles.holdings import holdings
from checker.oracles.lease_overlap import lease_overlap
from checker.oracles.promise import promise
from checker.timeline import MS, build

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from checker.evidence import EvidenceLine
    from checker.oracles.result import OracleResult


def told(lines: Sequence[EvidenceLine]) -> Iterator[str]:
    timelines = build(lines)
    for timeline in timelines.values():
        for hold in holdings(timeline):
            how = "holds" if not hold.point else "holds at an instant of"
            yield f"{how} {hold.node}/{hold.term} {_span((hold.start_ns, hold.end_ns))}"
    for result in (lease_overlap(timelines), promise(timelines, nodes=("n1", "n2", "n3"))):
        yield from _findings(result)


def _findings(result: OracleResult) -> Iterator[str]:
    for finding in result.findings:
        assert finding.during_ns is not None
        who = " ".join(f"{n}/{t}" for n, t in zip(finding.nodes, finding.terms, strict=True))
        yield f"{result.name} {who} {_span(finding.during_ns)}"


def _span(during_ns: tuple[int, int]) -> str:
    return "..".join(f"{stamp / MS:g}" for stamp in during_ns)


def test_oracles_see_what_is_drawn(drawing: Any) -> None:
    assert list(told(drawing.lines)) == list(drawing.expected)
