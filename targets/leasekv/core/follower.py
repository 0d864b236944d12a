"""How a node takes a leader's `Append`.

The promise comes first and whatever the logs say: a node that refuses entries has still heard its
leader. The answer waits for the disk as far as it speaks of things the disk must hold: always the term,
and the entries this very message brought. A heartbeat that brings nothing new acknowledges only what
is durable already, so a slow disk does not make a follower look silent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from targets.leasekv.messages import Append, AppendReply

if TYPE_CHECKING:
    from .state import State


def take_append(state: State, leader: str, message: Append) -> None:
    """Merge the entries of the leader of this term, learn what is committed, answer."""
    log = state.log
    if log.term_at(message.prev_index) != message.prev_term:
        conflict = log.conflict_before(message.prev_index)
        reply = AppendReply(state.term, message.round, False, 0, conflict)
        state.out.send_once_durable(leader, reply, state.hard_seq)
        return
    agreed = message.prev_index + len(message.entries)
    news = log.merge(message.entries)
    if news:
        assert news[0].index > state.commit_index, "what is committed stays"
        state.out.store(news)
        reply = AppendReply(state.term, message.round, True, agreed)
        state.out.send_once_durable(leader, reply, state.out.pending_seq)
    else:
        reply = AppendReply(state.term, message.round, True, min(agreed, log.durable_index))
        state.out.send_once_durable(leader, reply, state.hard_seq)
    state.commit_index = max(state.commit_index, min(message.commit_index, agreed))


def refuse_append(state: State, leader: str, message: Append) -> None:
    """Answer a leader of an older term: its time is over."""
    reply = AppendReply(state.term, message.round, False, 0, 0)
    state.out.send_once_durable(leader, reply, state.hard_seq)
