"""What a check prints of one file: sizes in words, lines that fit, and no key called undecided."""

from __future__ import annotations

from typing import Any

import pytest

from checker import MalformedHistory, check, formats
from harness.report import checked

GOOD = [("write", 1), ("read", 1)]
STALE = [("write", 1), ("write", 2), ("read", 1)]


def history(**keys: Any) -> bytes:
    """Return a history of operations a key, one after the other."""
    lines = []
    for key, operations in keys.items():
        for f, value in operations:
            asked = "null" if f == "read" else value
            lines.append(f'{{"process":0,"type":"invoke","f":"{f}","key":"{key}","value":{asked}}}')
            lines.append(f'{{"process":0,"type":"ok","f":"{f}","key":"{key}","value":{value}}}')
    return "\n".join([*lines, ""]).encode()


def report(data: bytes, **how: Any) -> Any:
    return check(formats.read(data, name="h.jsonl"), **how)


def text(data: bytes, **how: Any) -> str:
    return "\n".join(checked.lines(report(data, **how), path="h.jsonl"))


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (history(a=GOOD), "2 operations on 1 key,"),
        (history(a=GOOD[:1]), "1 operation on 1 key,"),
        (history(a=GOOD, b=GOOD), "4 operations on 2 keys,"),
    ],
)
def test_one_of_a_thing_is_no_plural(data: bytes, size: str) -> None:
    assert size in text(data)


def test_a_key_that_was_passed_over_has_a_word_of_its_own() -> None:
    data = history(a=STALE, b=STALE)
    told = checked.as_json(report(data), load_s=0.0)
    assert sorted(key["outcome"] for key in told["keys"].values()) == ["not-judged", "violation"]
    assert "1 of 2 keys not judged; --all judges every key" in text(data)
    every = checked.as_json(report(data, all_keys=True), load_s=0.0)
    assert [key["outcome"] for key in every["keys"].values()] == ["violation", "violation"]
    assert "not judged" not in text(data, all_keys=True)


def test_lines_fit_into_eighty_columns_whatever_the_values_are() -> None:
    long = f'"{"x" * 200}"'
    data = history(a=[("write", long), ("write", 2), ("read", long)])
    shown = text(data).splitlines()
    drawn = [line for line in shown if "|" in line]
    assert len(drawn) >= 3
    assert all(len(line) <= 80 for line in drawn)
    assert all(len(line) <= 80 or " " not in line.strip() or "x" * 60 in line for line in shown)


def test_a_history_of_one_object_names_no_key() -> None:
    lines = history(a=STALE).decode().replace('"key":"a",', "")
    assert "key nil" not in text(lines.encode())


def test_lines_without_stamps_are_no_time_apart() -> None:
    assert "0.000 ms" not in text(history(a=STALE))


@pytest.mark.parametrize("lenient", [True, False])
@pytest.mark.parametrize("header", ['{"schema":9}', '{"schema":1,"kind":"lantern-verdict"}'])
def test_a_header_that_is_not_ours_is_refused_with_its_line(header: str, *, lenient: bool) -> None:
    data = f"{header}\n".encode() + history(a=GOOD)
    with pytest.raises(MalformedHistory, match=r"h\.jsonl:1: "):
        formats.read(data, name="h.jsonl", format="jsonl", lenient=lenient)
