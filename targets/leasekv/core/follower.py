"""How a node takes a leader's `Append`.

The promise comes first and whatever the logs say: a node that refuses entries has still heard its
leader. The answer waits for the disk as far as it speaks of things the disk must hold: always the term,
and the entries this very message brought. A heartbeat that brings nothing new acknowledges only what
is durable already, so a slow disk does not make a follower look silent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from targets.leasekv.messages import AppendReply

if TYPE_CHECKING:
    from targets.leasekv.messages import Append, Install, Snapshot

    from .state import State


def take_append(state: State, leader: str, message: Append) -> None:
    """Merge the entries of the leader of this term, learn what is committed, answer."""
    log = state.log
    prev, prev_term, entries = message.prev_index, message.prev_term, message.entries
    if prev < log.offset:
        # Up to the offset everything is committed, so a leader has the same there.
        prev, prev_term, entries = log.offset, log.offset_term, entries[log.offset - prev :]
    if log.term_at(prev) != prev_term:
        conflict = log.conflict_before(prev)
        reply = AppendReply(state.term, message.round, False, 0, conflict)
        state.out.send_once_durable(leader, reply, state.hard_seq)
        return
    agreed = message.prev_index + len(message.entries)
    news = log.merge(entries)
    if news:
        assert news[0].index > state.commit_index, "what is committed stays"
        state.out.store(news)
        if state.members.take(news):
            state.out.fact(state.members.fact(state.term))
        reply = AppendReply(state.term, message.round, True, agreed)
        state.out.send_once_durable(leader, reply, state.out.pending_seq)
    else:
        reply = AppendReply(state.term, message.round, True, min(agreed, log.durable_index))
        state.out.send_once_durable(leader, reply, state.hard_seq)
    state.commit_index = max(state.commit_index, min(message.commit_index, agreed))


def has_all_of(state: State, snapshot: Snapshot) -> bool:
    """Tell whether this node's own log holds what a leader's snapshot holds."""
    log = state.log
    return snapshot.index <= state.commit_index or log.term_at(snapshot.index) == snapshot.term


def answer_snapshot(state: State, leader: str, message: Install) -> None:
    """Say how much of it this node has, once its disk has that too."""
    reply = AppendReply(state.term, message.round, True, message.snapshot.index)
    state.out.send_once_durable(leader, reply, state.out.pending_seq)


def refuse_append(state: State, leader: str, message: Append | Install) -> None:
    """Answer a leader of an older term: its time is over."""
    reply = AppendReply(state.term, message.round, False, 0, 0)
    state.out.send_once_durable(leader, reply, state.hard_seq)
