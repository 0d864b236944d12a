"""Register operations as the near-linear algorithm takes them: codes and columns, no objects.

Seven codes are all that matters of a register operation. A whole history is lowered by one translation
table, column by column at the speed of C; a certificate of a few operations one by one. Both give the
same `Lowered`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from itertools import compress
from typing import TYPE_CHECKING, Any, Final

from checker.conventions import Conventions, NilRead
from checker.events import EventType, differed
from checker.operations import NEVER, Kind
from checker.values import all_plain, tag

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from checker.part import Part


class Code(IntEnum):
    """What an operation does to a register.

    MAYBE: nobody knows whether it happened. DIFFERED: a cas that found another value than its old one.
    APPEND is no register's, but a string's that is walked along like one.
    """

    READ = 0
    WRITE = 1
    CAS = 2
    DIFFERED = 3
    MAYBE_WRITE = 4
    MAYBE_CAS = 5
    NOTHING = 6
    APPEND = 7


def mask(*codes: Code) -> bytes:
    """Return the translation table that maps ``codes`` to 1 and everything else to 0."""
    return bytes(code in codes for code in range(256))


IS_READ: Final = mask(Code.READ)
IS_WRITER: Final = mask(Code.WRITE, Code.CAS, Code.MAYBE_WRITE, Code.MAYBE_CAS)
IS_MAYBE: Final = mask(Code.MAYBE_WRITE, Code.MAYBE_CAS)
IS_CAS: Final = mask(Code.CAS, Code.MAYBE_CAS)
IS_PAIR: Final = mask(Code.CAS, Code.MAYBE_CAS, Code.DIFFERED)
IS_PLAIN: Final = mask(Code.READ, Code.WRITE, Code.MAYBE_WRITE)
IS_DIFFERED: Final = mask(Code.DIFFERED)
END: Final = 8
"""The code of a row that is no operation but closes those of a key."""

IS_ROW: Final = bytes(code <= Code.DIFFERED or code in {Code.APPEND, END} for code in range(256))
"""Of what certainly happened, and of `END`."""

IS_SOMETHING: Final = bytes(code != Code.NOTHING for code in range(256))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Lowered:
    """Operations of one key in call order. ``values`` of a cas are pairs; ``start`` is tagged.

    ``tagged``: the values are too. An order within a value is enough where windows keep keys apart.
    """

    codes: bytes
    values: Sequence[Any]
    calls: Sequence[int]
    returns: Sequence[int]
    start: Hashable
    tagged: bool = False

    def without_nothing(self) -> Lowered:
        """Return it without the operations that say nothing."""
        if Code.NOTHING not in self.codes:
            return self
        kept = self.codes.translate(IS_SOMETHING)
        return Lowered(
            codes=self.codes.replace(bytes([Code.NOTHING]), b""),
            values=list(compress(self.values, kept)),
            calls=list(compress(self.calls, kept)),
            returns=list(compress(self.returns, kept)),
            start=self.start,
            tagged=self.tagged,
        )


_FAIL: Final = EventType.FAIL
_CODES: Final = {
    **dict.fromkeys(((f, EventType.OK) for f in ("read", "get")), Code.READ),
    **dict.fromkeys(((f, EventType.OK) for f in ("write", "delete", "put")), Code.WRITE),
    **dict.fromkeys(((f, EventType.INFO) for f in ("write", "delete")), Code.MAYBE_WRITE),
    ("cas", EventType.OK): Code.CAS,
    ("cas", EventType.INFO): Code.MAYBE_CAS,
    ("append", EventType.OK): Code.APPEND,
}
"""Of what is not here nothing is known, except of a cas that failed."""


def code_table(kinds: Sequence[Kind], conventions: Conventions) -> bytes:
    """Return the translation from the history's kinds to codes."""
    return bytes(_code(kind, conventions) for kind in kinds).ljust(256, bytes([Code.NOTHING]))


def _code(kind: Kind, conventions: Conventions) -> Code:
    if kind.f == "cas" and kind.outcome is _FAIL:
        return Code.DIFFERED if differed(kind.error, conventions) else Code.NOTHING
    return _CODES.get((kind.f, kind.outcome), Code.NOTHING)


def drop_wild_reads(lowered: Lowered, conventions: Conventions) -> Lowered:
    """Return it without reads of nil, where these mean that no value was recorded."""
    if conventions.nil_read is NilRead.VALUE or None not in lowered.values:
        return lowered
    codes = bytes(
        Code.NOTHING if value is None and code == Code.READ else code
        for code, value in zip(lowered.codes, lowered.values, strict=True)
    )
    return Lowered(
        codes=codes,
        values=lowered.values,
        calls=lowered.calls,
        returns=lowered.returns,
        start=lowered.start,
    )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Sided:
    """Operations of one key by the value they need and the value they leave, both tagged.

    What is no pair has its one value in both columns, and without a pair they are one column. A cas from
    a value to itself is a read, or nothing.
    """

    codes: bytes
    olds: Sequence[Hashable]
    news: Sequence[Hashable]
    calls: Sequence[int]
    returns: Sequence[int]
    start: Hashable


def sided(lowered: Lowered) -> Sided:
    """Return the operations of ``lowered``, each in its own place."""
    codes, values = lowered.codes, lowered.values
    olds = news = values
    pairs = list(compress(range(len(codes)), codes.translate(IS_PAIR)))
    if pairs:
        olds, news = list(values), list(values)
        for i in pairs:
            olds[i], news[i] = values[i]
    if not lowered.tagged and not (all_plain(news) and (olds is news or all_plain(olds))):
        news = list(map(tag, news))
        olds = list(map(tag, olds)) if pairs else news
    same = [i for i in pairs if olds[i] == news[i] and codes[i] != Code.DIFFERED]
    if same:
        changed = bytearray(codes)
        for i in same:
            changed[i] = Code.READ if codes[i] == Code.CAS else Code.NOTHING
        codes = bytes(changed)
    return Sided(
        codes=codes,
        olds=olds,
        news=news,
        calls=lowered.calls,
        returns=lowered.returns,
        start=lowered.start,
    )


def lower(part: Part) -> Lowered:
    """Return the operations of a register's part, which its model has already kept."""
    codes = bytearray()
    for op, back in zip(part.operations, part.returns, strict=True):
        if op.f == "read":
            codes.append(Code.READ)
        elif op.f == "cas" and op.outcome is EventType.FAIL:
            codes.append(Code.DIFFERED)
        elif op.f == "cas":
            codes.append(Code.MAYBE_CAS if back == NEVER else Code.CAS)
        else:
            codes.append(Code.MAYBE_WRITE if back == NEVER else Code.WRITE)
    return Lowered(
        codes=bytes(codes),
        values=[None if op.f == "delete" else op.value for op in part.operations],
        calls=part.calls,
        returns=part.returns,
        start=part.start,
    )
