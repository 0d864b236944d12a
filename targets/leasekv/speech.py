"""How to speak with leasekv, and what its answers mean.

A code is definite or indefinite by what the node had done when it said it; a read has no effect, so any
code fails it. What does not fit the operation (MISMATCH in answer to a write) is no answer to it.
"""

from __future__ import annotations

from typing import Final

from checker.events import EventType
from targets.request import UNEXPECTED, unknown
from targets.session import Call, Completion

from .messages import Code, Op, Request, Response

ASKED: Final = {op.value: op for op in Op}
TELLING: Final = frozenset({Op.READ, Op.ACQUIRE})
"""What is answered with a value of the target's: what was read, the token of a lock."""


class LeaseKvSpeech:
    """See `targets.request.Speech`."""

    def ask(self, call: Call, number: int) -> Request:
        """Return the request; its id comes back in the answer."""
        op = Op.STORE if call.fenced else ASKED[call.f]
        return Request(number, op, call.key, call.value, call.path)

    def number(self, answer: Response) -> int:
        """Return the request's id."""
        return answer.id

    def heard(self, call: Call, answer: Response) -> Completion:
        """Return what an answer to ``call`` means."""
        match answer.code:
            case None:
                value = answer.value if call.f in TELLING else call.value
                return Completion(EventType.OK, value, None, answer.evidence, answer.leader)
            case Code.MISMATCH if call.f != Op.CAS:
                return unknown(call, UNEXPECTED, unexpected=f"MISMATCH in answer to a {call.f}")
            case code:
                definite = code.definite or call.f == Op.READ
                hinted = code is Code.NOT_LEADER and answer.leader is not None
                error = f"{code.value}: {answer.leader}" if hinted else code.value
                kind = EventType.FAIL if definite else EventType.INFO
                return Completion(kind, call.value, error, answer.evidence, answer.leader)
