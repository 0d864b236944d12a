"""Which model a history is of is not guessed where nothing tells: it has to be said."""

from __future__ import annotations

import pytest

from checker.errors import MalformedHistory
from checker.formats import read
from checker.models import detect

BANK = """\
{:type :invoke, :f :read, :process 0, :time 1, :index 0}
{:type :ok, :f :read, :process 0, :time 2, :value {0 10, 1 10}, :index 1}
"""


def test_a_lone_read_of_a_map_is_no_register() -> None:
    history = read(BANK.encode(), name="bank.edn", format="edn")
    with pytest.raises(MalformedHistory, match=r"bank\.edn: its reads saw maps .* name the model"):
        detect(history)


def test_a_lone_read_of_a_number_may_be_one() -> None:
    text = BANK.replace("{0 10, 1 10}", "7")
    assert detect(read(text.encode(), name="one.edn", format="edn")) == "register"


def test_an_unknown_model_in_a_header_is_refused_by_name() -> None:
    text = b'{"schema":1,"model":"frob","kind":"lantern-history"}\n'
    with pytest.raises(MalformedHistory, match=r"h:1: its header names the model 'frob'"):
        detect(read(text, name="h"))
