"""Where the world disagrees about what a history says.

Three questions have more than one honest answer, so each is an option: what equal stamps mean, what a
read of nil means, what a failed cas means. A format knows its tool's answers; a caller may override
them; a file of ours may carry them in its header, so that converting a history does not change what it
says.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


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
