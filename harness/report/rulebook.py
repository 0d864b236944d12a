"""What each lease rule says, in a line. A test holds these and docs/rules.md equal."""

from __future__ import annotations

from typing import Final

SAYS: Final = {
    "F1": "a node that takes its leader's round promises silence for E",
    "F2": "bound, it votes for nobody else",
    "F3": "bound, it does not campaign",
    "F4": "booted, it keeps silent for E",
    "F5": "nothing but time shortens a promise",
    "F6": "a vote and its term outlive a restart",
    "L1": "no read before an entry of the leader's own term is committed",
    "R1": "no read before an entry of the leader's own term is committed",
    "L2": "an acknowledgement counts from when its round was sent",
    "L3": "a majority must have acknowledged",
    "L4": "each read compares the clock, now",
    "L5": "a read sees what is committed and nothing behind it",
    "L10": "of voters that change, a majority of the old and one of the incoming ones",
    "L6": "a lease ends with its leadership",
    "L8": "a leader that gets nothing done for 2E makes room",
    "L9": "no lease while leadership is handed over",
    "L11": "no lease from before an anomaly of the clocks",
    "L12": "the lease is at most D",
    "L13": "leases and promises are measured on the monotonic clock",
    "K1": "each write under a lock shows its token, and the storage looks at it",
    "K2": "the storage never forgets the greatest token",
    "K3": "every grant has a greater token than the one before",
    "K4": "who waited for a lock is looked at again when its turn comes",
    "R2": "a read is confirmed by a round sent after it arrived",
    "R3": "an id belongs to one request",
    "R4": "each read has an index of its own",
    "R5": "a quorum answers before the read is",
    "R6": "the state has reached the index",
    "R7": "an error rather than a stale value",
    "W1": "where voting is free, a voter tells what may be left of older leases",
    "W2": "and the winner commits nothing before that has passed",
    "S2": "who granted votes for nobody else until that is over, nor after a boot until it may be",
    "S3": "the lease counts from the request, by a majority's grants, and allows for two clocks",
    "S4": "nothing extends it",
    "S5": "heartbeats and their silence do not touch a grant",
    "T1": "a lease counts from the earliest and is judged at the latest, a promise the other way round",
    "T2": "what a node knows of the time gets vaguer",
    "T3": "a write is told when its timestamp is certainly past",
    "G1": "a new leader commits nothing before an earlier leader's entries are certainly old",
    "G2": "a leader reads as long as the entry at its commit index is certainly young",
    "G3": "of a key that an entry in limbo is about, nothing is read by an older one",
}


def says(rule: str) -> str:
    """Return a rule in words; nothing of one that is not known."""
    words = SAYS.get(rule)
    return "" if words is None else f"{rule}: {words}."
