"""Evidence files survive what a kill does to them, and nothing else."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker import evidence_lines
from checker.evidence import (
    Applied,
    Booted,
    Checked,
    EvidenceLine,
    Fact,
    OwnClock,
    Promised,
    Refused,
    ServedRead,
    Voted,
)
from checker.evidence_lines import MalformedEvidence

FACTS: tuple[Fact, ...] = (
    Booted(1, 0),
    Checked(3, True, OwnClock.WALL, 5, None),
    ServedRead(3, "lease", {"a": [1, None]}, 7, 7),
    Refused(3, "LEASE_EXPIRED"),
    Promised(3, "n2", 9, 100),
    Voted(4, "n2", pre=False, granted=False, reason="lease"),
    Applied(4, 9, 4),
)


def at(stamp: int, fact: Fact, node: str = "n1") -> EvidenceLine:
    return EvidenceLine(node, stamp, stamp, (stamp, stamp + 1), fact)


LINES = tuple(at(10 * place, fact) for place, fact in enumerate(FACTS))
HEADER = evidence_lines.header("n1")
WHOLE = HEADER + evidence_lines.encode(LINES)
AGAIN = (at(1000, Booted(2, 4)), at(1001, Applied(4, 9, 4)))


def test_what_is_written_is_read_back() -> None:
    assert evidence_lines.load(WHOLE, "n1.jsonl").lines == LINES
    assert evidence_lines.load(WHOLE).notes == ()


@given(st.integers(len(HEADER), len(WHOLE) - 1))
def test_a_tail_torn_anywhere_costs_one_line_at_most(cut: int) -> None:
    file = evidence_lines.load(WHOLE[:cut], "n1.jsonl")
    whole = WHOLE[:cut].count(b"\n") - 1
    assert file.lines in (LINES[:whole], LINES[: whole + 1])
    assert len(file.notes) <= 1
    assert all("torn at the end" in note and "n1.jsonl" in note for note in file.notes)


@pytest.mark.parametrize("header", [HEADER, b"\n" + HEADER, b"", b"\n"])
@given(st.integers(len(HEADER), len(WHOLE)))
def test_a_node_killed_anywhere_goes_on_in_the_same_file(header: bytes, cut: int) -> None:
    file = evidence_lines.load(WHOLE[:cut] + header + evidence_lines.encode(AGAIN), "n1.jsonl")
    assert file.lines[-2:] == AGAIN
    kept = file.lines[:-2]
    assert kept == LINES[: len(kept)]
    assert len(kept) >= WHOLE[:cut].count(b"\n") - 1


@given(st.data())
def test_a_line_broken_in_the_middle_is_refused_with_its_number(data: st.DataObject) -> None:
    pieces = WHOLE.split(b"\n")
    place = data.draw(st.integers(1, len(LINES) - 2))
    cut = data.draw(st.integers(1, len(pieces[place]) - 1))
    pieces[place] = pieces[place][:cut]
    with pytest.raises(MalformedEvidence) as raised:
        evidence_lines.load(b"\n".join(pieces), "n1.jsonl")
    assert raised.value.line == place + 1
    assert str(raised.value).startswith(f"n1.jsonl:{place + 1}: ")


@pytest.mark.parametrize(
    ("data", "line", "says"),
    [
        (b"", 1, "no header"),
        (b"\n\n", 1, "no header"),
        (b"junk\n", 1, "no evidence"),
        (HEADER[:10], 1, "no evidence"),
        (evidence_lines.encode(LINES), 1, "no header"),
        (b'{"schema":7,"kind":"lantern-evidence","node":"n1"}\n', 1, "schema 7 is unknown"),
        (b'{"schema":1,"kind":"lantern-history","node":"n1"}\n', 1, "'lantern-history'"),
        (HEADER + evidence_lines.header("n2"), 2, "goes on as 'n2'"),
        (HEADER + evidence_lines.encode([at(1, Applied(1, 1, 1), "n2")]), 2, "'n2' in the file of 'n1'"),
        (HEADER + evidence_lines.encode([LINES[1], LINES[0]]), 3, "true clock goes back"),
        (HEADER + b'{"node":"n1","own_ns":1,"wall_ns":1,"true_ns":[2,1]}\n' * 2, 2, "neither evidence"),
        (HEADER + b"[" * 100_000 + b"\n" + HEADER[:-5] + b"\n" + HEADER, 2, "neither evidence"),
    ],
)
def test_what_is_no_evidence_is_refused_by_name(data: bytes, line: int, says: str) -> None:
    with pytest.raises(MalformedEvidence, match=says) as raised:
        evidence_lines.load(data, "n1.jsonl")
    assert (raised.value.name, raised.value.line) == ("n1.jsonl", line)


def test_a_whole_last_line_that_is_no_evidence_is_refused_and_not_called_torn() -> None:
    with pytest.raises(MalformedEvidence, match="neither evidence") as raised:
        evidence_lines.load(WHOLE + b"{}\n", "n1.jsonl")
    assert raised.value.line == len(LINES) + 2
    assert "torn at the end" in evidence_lines.load(WHOLE + b"{}", "n1.jsonl").notes[0]


def test_gathered_evidence_names_the_nodes_it_lacks_and_those_too_many() -> None:
    whole = evidence_lines.gather({"n1": WHOLE}, nodes=["n1", "n2", "n3"], where="e/")
    assert (whole.lines, whole.missing) == (LINES, ("n2", "n3"))
    assert "n2, n3 left no evidence" in evidence_lines.missed(whole.missing)
    assert evidence_lines.gather({}, nodes=["n1"]).missing == ()  # a target that writes none
    extra = evidence_lines.gather({"n1": WHOLE}, nodes=["n2"], where="e/")
    assert any("e/n1.jsonl" in note and "no such node" in note for note in extra.notes)
    with pytest.raises(MalformedEvidence, match="evidence of 'n1'"):
        evidence_lines.gather({"n2": WHOLE}, nodes=["n2"])


def test_a_stamp_that_ends_before_it_began_is_refused() -> None:
    line = EvidenceLine("n1", 1, 1, (2, 1), FACTS[0])
    with pytest.raises(MalformedEvidence, match="goes back"):
        evidence_lines.load(HEADER + evidence_lines.encode([line]))


def test_the_refusal_crosses_processes() -> None:
    error = MalformedEvidence("it is torn", name="n1.jsonl", line=3)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
