"""Every model by its name on the command line, and which one a history is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from checker.errors import MalformedHistory
from checker.models.counter import Counter
from checker.models.kv import KeyValue
from checker.models.locks import FencedLock, Mutex, ReentrantMutex
from checker.models.model import Model
from checker.models.queues import FifoQueue, PriorityQueue, Stack, UnorderedQueue
from checker.models.register import CasRegister, FencedRegister, Register
from checker.models.sets import GrowSet
from checker.models.transactions import ListAppend, MultiRegister

if TYPE_CHECKING:
    from checker.operations import History

MODELS: Final[dict[str, type[Model]]] = {
    model.name: model
    for model in (
        Register,
        CasRegister,
        MultiRegister,
        KeyValue,
        Counter,
        GrowSet,
        FifoQueue,
        UnorderedQueue,
        Stack,
        PriorityQueue,
        Mutex,
        ReentrantMutex,
        FencedLock,
        FencedRegister,
        ListAppend,
    )
}
_GUESSES: Final = (
    Register,
    CasRegister,
    KeyValue,
    FifoQueue,
    Stack,
    Mutex,
    ListAppend,
    PriorityQueue,
    Counter,
)


def detect(history: History) -> str:
    """Return the model a history names in its header, or the one that its functions and values suggest.

    ``add`` and ``read`` are a set if some read saw a collection, else a counter; ``txn`` is list-append
    if anything is appended, else a multi-register. A queue is taken to be FIFO. Where nothing fits it
    is `register`, which will refuse the first function that it does not know.
    """
    named = None if history.header is None else history.header.model
    if named is not None:
        if named not in MODELS:
            sentence = f"its header names the model {named!r}, which is none of {', '.join(MODELS)}"
            raise MalformedHistory(sentence, name=history.name, line=1)
        return named
    functions = {kind.f for kind in history.kinds}
    if functions == {"txn"}:
        appends = any("append" in str(value) for value in history.value[:1000])
        return ListAppend.name if appends else MultiRegister.name
    if functions <= {"add", "read", "contains"} and "add" in functions:
        reads = [code for code, kind in enumerate(history.kinds) if kind.f == "read"]
        pairs = zip(history.what, history.value, strict=True)
        collections = (list, tuple, set, frozenset)
        return (
            GrowSet.name
            if any(c in reads and isinstance(v, collections) for c, v in pairs)
            else Counter.name
        )
    if functions == {"read"} and any(isinstance(value, dict) for value in history.value):
        sentence = "its reads saw maps and nothing in it writes: name the model it is of (--model)"
        raise MalformedHistory(sentence, name=history.name)
    return next((model.name for model in _GUESSES if functions <= model.functions), Register.name)


__all__ = ["MODELS", "Model", "detect"]
