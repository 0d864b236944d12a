"""YAML that cannot be trusted: what is read, what is refused, and by which line."""

from __future__ import annotations

import pytest

from harness.plan.document import BYTES_MAX, read
from harness.plan.errors import PlanError
from harness.plan.held import DEPTH_MAX


def value(text: str) -> object:
    return read(text.encode(), name="plan.yaml").value


def test_keys_are_text_as_written_so_on_is_no_boolean() -> None:
    assert value("on: local\noff: 1\n1: x\n") == {"on": "local", "off": 1, "1": "x"}


def test_values_are_what_yaml_says() -> None:
    assert value("a: 1\nb: 1.5\nc: true\nd: null\ne: [x, 'y']\nf: {g: 0.05E}\n") == {
        "a": 1,
        "b": 1.5,
        "c": True,
        "d": None,
        "e": ["x", "y"],
        "f": {"g": "0.05E"},
    }


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("a: &x [1]\nb: *x\n", 2, "alias"),
        ("a: 1\na: 2\n", 2, "comes twice"),
        ("a: 1\nb: [1\n", 3, "not YAML"),
        ("a: !!python/object:os.system {}\n", 1, "value of type python"),
        ("a: 2001-01-01\n", 1, "timestamp"),
        ("a: .nan\n", 1, "no number"),
        ("a: .inf\n", 1, "no number"),
        ("seed: 0x" + "f" * 5000, 1, "number of 20000 bits"),
        ("a: 1\nseed: " + ":".join(["1", *["59"] * 3000]), 2, "number of 177.. bits"),
        ("a: 18446744073709551616\n", 1, "number of 65 bits"),
        ('a: 1\nb: "\\ud800"\n', 2, "half of a surrogate pair"),
        ('"\\udfff": 1\n', 1, "half of a surrogate pair"),
        ("a:\n  ? [1]\n  : 2\n", 2, "a key is a word"),
        ("a: 1\n---\nb: 2\n", 2, "not YAML"),
        ("a: 1\nb: \x07\n", 2, r"not YAML: the character U\+0007"),
        ("a: 1\n\0b: 1\n", 2, r"not YAML: the character U\+0000"),
    ],
)
def test_everything_else_is_refused_by_its_line(text: str, line: int | None, sentence: str) -> None:
    with pytest.raises(PlanError, match=sentence) as refused:
        value(text)
    where = "plan.yaml" if line is None else f"plan.yaml:{line}"
    assert refused.value.where == where
    assert str(refused.value).startswith(f"{where}: ")


def test_a_file_too_large_or_too_deep_is_refused_before_it_is_read() -> None:
    with pytest.raises(PlanError, match="most a plan may have"):
        read(b"#" * (BYTES_MAX + 1), name="p")
    with pytest.raises(PlanError, match="deeper"):
        value("[" * (DEPTH_MAX + 1) + "]" * (DEPTH_MAX + 1))
    with pytest.raises(PlanError, match="deeper"):
        value("[" * 100_000)


def test_bytes_that_are_no_text_are_refused_by_their_line() -> None:
    with pytest.raises(PlanError, match="UTF-8") as refused:
        read(b"a: 1\nb: \xff\n", name="p")
    assert refused.value.where == "p:2"


def test_a_byte_order_mark_is_nothing() -> None:
    assert read(b"\xef\xbb\xbfa: 1\n", name="p").value == {"a": 1}


def test_a_path_is_found_or_what_is_around_it() -> None:
    document = read(b"a: 1\nschedule:\n  - do: cut\n    shape: x\n  - do: y\n", name="p")
    assert document.where("schedule[0].shape") == "p:4"
    assert document.where("schedule[1]") == "p:5"
    assert document.where("schedule[0].until.after") == "p:3"
    assert document.where("elsewhere") == "p:1"
