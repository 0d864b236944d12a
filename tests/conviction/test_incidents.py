"""What an oracle found, without a history that proves anything, is brought before the rules as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conviction_script import Script

from checker.conviction import Family
from checker.conviction.convict import of_incidents
from checker.conviction.incident import of_findings
from checker.oracles.lease_overlap import lease_overlap
from checker.oracles.promise import promise
from checker.oracles.raft import raft
from checker.oracles.timestamps import Stamped, timestamps
from checker.timeline import MS, build

if TYPE_CHECKING:
    from collections.abc import Sequence

    from checker.oracles.result import OracleResult

LEAD = """
0 n1 boot boot=1 term=0
0 n2 boot boot=1 term=0
0 n3 boot boot=1 term=0
1 n1 term term=1
2 n1 role term=1 role=leader
100 n1 round_sent term=1 round=1
101 n2 promise term=1 holder=n1 round=1 until=1101ms
110 n1 round_acked term=1 round=1 peer=n2
200 n1 check term=1 granted=true clock=monotonic read=200ms until=984.761904ms
"""


DATED = """
owed memory promise lease span commit-wait index barrier
0 n1 boot boot=1 term=0
0 n1 sync term=0 earliest=-2ms latest=2ms read=0ms
1 n1 role term=1 role=leader
100 n1 append term=1 index=2 key=x earliest=93.238095ms latest={}
{} n1 dated term=1 index=2 stamp={}
"""


def rules(script: Script, oracles: Sequence[OracleResult]) -> list[tuple[str, ...]]:
    incidents = of_findings(oracles, script.timelines)
    return [each.rules for each in of_incidents(script.timelines, script.owed, incidents)]


def test_an_overlap_is_laid_at_the_older_leases_door() -> None:
    text = """
    1250 n2 role term=2 role=leader
    1260 n2 round_sent term=2 round=1
    1261 n2 round_acked term=2 round=1 peer=n3
    1300 n2 check term=2 granted=true clock=monotonic read=1300ms until=2144.761904ms
    1310 n1 check term=1 granted=true clock=monotonic read=1310ms until=-
    1320 n2 check term=2 granted=true clock=monotonic read=1320ms until=2144.761904ms
    """
    read = Script(LEAD + text)
    found = lease_overlap(read.timelines)
    assert found.findings
    assert rules(read, [found]) == [("L4",)]


def test_a_vote_under_a_living_lease_is_laid_at_the_voters_door() -> None:
    text = """
    300 n2 vote term=2 candidate=n3 pre=false granted=true reason=- bound_until=1101ms
    600 n1 check term=1 granted=true clock=monotonic read=600ms until=984.761904ms
    """
    read = Script(LEAD + text)
    found = promise(read.timelines, nodes=read.nodes)
    assert found.findings
    assert rules(read, [found]) == [("F2",)]


def test_a_read_of_a_state_that_is_too_old_breaks_r6() -> None:
    text = "600 n2 serve term=1 path=follower key=x read_index=9 applied_index=7 arrived=590ms ticket=5"
    read = Script(LEAD + text)
    assert rules(read, [raft(read.timelines)]) == [("R6",)]


def test_an_invariant_that_no_rule_of_leases_guards_is_of_an_unknown_rule() -> None:
    read = Script(LEAD + "300 n2 role term=1 role=leader")
    found = raft(read.timelines)
    assert found.findings
    assert rules(read, [found]) == [()]


def dated(latest: str, told_ms: int) -> list[tuple[str, ...]]:
    """Return what is convicted of a write told then, and found to be out of order for any reason."""
    read = Script(DATED.format(latest, told_ms, latest))
    write = Stamped(1, 99 * MS, told_ms * MS, 1 << 40, "n1")
    assert read.families >= {Family.COMMIT_WAIT}
    return rules(read, [timestamps([write], origin_ns=0)])


def test_a_write_told_before_its_timestamp_is_past_breaks_t3() -> None:
    assert dated("107.263158ms", 101) == [("T3",)]
    assert dated("107.263158ms", 120) == [()]


def test_a_timestamp_from_the_wrong_end_of_a_span_is_of_t1_and_of_an_ungrown_one_of_t2() -> None:
    assert dated("93.238095ms", 120) == [("T1",)]
    assert dated("102ms", 120) == [("T2",)]


def test_findings_of_an_oracle_that_only_notes_accuse_nobody() -> None:
    read = Script(LEAD)
    assert of_findings([lease_overlap(read.timelines), raft(read.timelines)], read.timelines) == []


def test_what_a_node_without_evidence_may_have_said_convicts_nobody() -> None:
    answered = (
        "1101 n2 serve term=1 path=follower key=x read_index=1 applied_index=1 arrived=599ms ticket=5"
    )
    read = Script(LEAD + answered + "\nincident n2")
    assert [each.rules for each in of_incidents(read.timelines, read.owed, [read.incident])] == [("R7",)]
    others = build(line for line in read.lines if line.node != "n3")
    assert [each.rules for each in of_incidents(others, read.owed, [read.incident])] == [()]
