"""An option of the public face may be given as its plain word, and means what its member means."""

from __future__ import annotations

import json
from typing import Any

import pytest

from checker import Conventions, FailedCas, History, NilRead, Ties, check, formats
from checker.apart import apart


def _history(*events: tuple[int, int, str, str, Any]) -> History:
    names = ("time_ns", "process", "type", "f", "value")
    lines = (json.dumps(dict(zip(names, event, strict=True))) for event in events)
    return formats.read("\n".join(lines).encode() + b"\n", name="h.jsonl")


def _touching() -> History:
    """A read of nil that is called at the very stamp at which a write returns."""
    return _history(
        (1, 0, "invoke", "write", 1),
        (5, 0, "ok", "write", 1),
        (5, 1, "invoke", "read", None),
        (6, 1, "ok", "read", None),
    )


def _nil() -> History:
    """A read of nil after a write."""
    return _history(
        (1, 0, "invoke", "write", 1),
        (5, 0, "ok", "write", 1),
        (6, 1, "invoke", "read", None),
        (7, 1, "ok", "read", None),
    )


def _failed() -> History:
    """A cas that failed although nothing else was ever there."""
    return _history((1, 0, "invoke", "cas", [None, 1]), (5, 0, "fail", "cas", [None, 1]))


MEANINGS = [
    (_touching, "ties", Ties.CONCURRENT, "pass"),
    (_touching, "ties", Ties.ORDERED, "violation"),
    (_nil, "nil_read", NilRead.WILDCARD, "pass"),
    (_nil, "nil_read", NilRead.VALUE, "violation"),
    (_failed, "failed_cas", FailedCas.DROP, "pass"),
    (_failed, "failed_cas", FailedCas.ASSERT, "violation"),
]


@pytest.mark.parametrize(("history", "option", "member", "outcome"), MEANINGS)
def test_a_plain_word_means_what_its_member_means(
    history: Any, option: str, member: Any, outcome: str
) -> None:
    for given in (member, member.value):
        assert check(history(), **{option: given}).outcome.value == outcome
        parts = apart(history(), many=1, **{option: given})
        (portion,) = parts.portions
        report = check(portion.history, model=parts.model, **{option: given})
        assert report.outcome.value == outcome


@pytest.mark.parametrize("option", ["ties", "nil_read", "failed_cas"])
@pytest.mark.parametrize("wrong", ["bogus", "", 1, True])
def test_a_word_that_is_none_is_refused_with_those_that_are(option: str, wrong: Any) -> None:
    words = {"ties": "concurrent, ordered", "nil_read": "value, wildcard", "failed_cas": "assert, drop"}
    with pytest.raises(ValueError, match=f"{option}={wrong!r} is none of {words[option]}"):
        check(_nil(), **{option: wrong})


def test_conventions_hold_members_whatever_they_were_given() -> None:
    told = Conventions(nil_read="wildcard", bare_failed_cas="assert")  # type: ignore[arg-type]
    assert told.nil_read is NilRead.WILDCARD
    assert told.bare_failed_cas is FailedCas.ASSERT
    with pytest.raises(ValueError, match="mismatched_cas='no' is none of assert, drop"):
        Conventions(mismatched_cas="no")  # type: ignore[arg-type]
