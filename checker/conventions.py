"""Where the world disagrees about what a history says.

Three questions have more than one honest answer, so each is an option: what equal stamps mean, what a
read of nil means, what a failed cas means. A format knows its tool's answers; a caller may override
them; a file of ours may carry them in its header, so that converting a history does not change what it
says.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

import msgspec

Word = TypeVar("Word", bound=StrEnum)


def word(kind: type[Word], value: str, *, name: str) -> Word:
    """Return the member of ``kind`` that the option ``name`` was given as, itself or its plain word.

    A plain word equals a member and is none: whoever asks with ``is`` must have been here. Raises
    ValueError for a word that is none, with those that are.
    """
    try:
        return kind(value)
    except ValueError:
        raise ValueError(f"{name}={value!r} is none of {', '.join(kind)}") from None


class Ties(StrEnum):
    """What equal stamps mean: nothing is known, or the file's order tells."""

    CONCURRENT = "concurrent"
    ORDERED = "ordered"


class NilRead(StrEnum):
    """What a read of nil means: nil was read, or (Knossos) the value was not recorded."""

    VALUE = "value"
    WILDCARD = "wildcard"


class FailedCas(StrEnum):
    """What a failed cas means: that the value differed, or nothing at all."""

    ASSERT = "assert"
    DROP = "drop"


class Conventions(msgspec.Struct, frozen=True):
    """How the tool that wrote a history means it.

    ``bare_failed_cas`` is about a cas that failed without a code, ``mismatched_cas`` about one that
    failed with ``MISMATCH``; any other code says that the request was refused, and asserts nothing.
    ``order_by_stamp``: stamps decide what precedes what; else the order of the lines does.
    """

    nil_read: NilRead = NilRead.VALUE
    bare_failed_cas: FailedCas = FailedCas.DROP
    mismatched_cas: FailedCas = FailedCas.ASSERT
    order_by_stamp: bool = True

    def __post_init__(self) -> None:
        for name, kind in _WORDS.items():
            given = getattr(self, name)
            if type(given) is not kind:
                msgspec.structs.force_setattr(self, name, word(kind, given, name=name))


_WORDS: dict[str, type[StrEnum]] = {
    "nil_read": NilRead,
    "bare_failed_cas": FailedCas,
    "mismatched_cas": FailedCas,
}
