import json

import pytest

from targets.docker.packets import (
    Hook,
    PacketCut,
    Way,
    add,
    declare,
    read,
    remove,
    replace,
    table,
)

FROM_A = PacketCut(Hook.ARRIVING, Way.HOLD, "10.0.0.2")
TO_B = PacketCut(Hook.LEAVING, Way.RESET, "10.0.0.3")


def test_a_runs_table_carries_its_id_and_no_other_character() -> None:
    assert table("lantern-12-a_b") == "lantern_12_a_b"
    for hostile in ("lantern-x;flush ruleset", "lantern-a b", "lantern-x}", "lantern", "filter", ""):
        with pytest.raises(ValueError, match="cannot name"):
            table(hostile)


def test_declaring_replaces_what_was_there_and_touches_no_other_table() -> None:
    script = declare("lantern-r1")
    assert script.splitlines()[:2] == ["add table inet lantern_r1", "delete table inet lantern_r1"]
    assert "flush ruleset" not in script
    named = {line.split()[3] for line in script.splitlines() if " table inet " in line}
    assert named == {"lantern_r1"}


def test_removing_is_idempotent_because_the_table_is_added_first() -> None:
    assert remove("lantern-r1") == "add table inet lantern_r1\ndelete table inet lantern_r1\n"


def test_chains_come_before_any_filter_that_accepts() -> None:
    assert declare("lantern-r1").count("priority -300; policy accept;") == len(Hook)


def test_replacing_says_the_whole_truth_in_any_order() -> None:
    script = replace("lantern-r1", [TO_B, FROM_A, FROM_A], timeout_s=30)
    assert script == replace("lantern-r1", [FROM_A, TO_B], timeout_s=30)
    assert script.splitlines()[-2:] == [
        "add element inet lantern_r1 arriving_hold { 10.0.0.2 timeout 30s }",
        "add element inet lantern_r1 leaving_reset { 10.0.0.3 timeout 30s }",
    ]
    assert script.count("flush set") == len(Hook) * len(Way)


def test_adding_nothing_says_nothing() -> None:
    assert add("lantern-r1", [], timeout_s=30) == ""


def test_what_the_kernel_says_is_read_back() -> None:
    element = {"val": "10.0.0.2", "timeout": 30, "expires": 29, "counter": {"packets": 7, "bytes": 700}}
    listing = {
        "nftables": [
            {"metainfo": {}},
            {"table": {"name": "lantern_r1"}},
            {"set": {"name": "arriving_hold", "elem": [{"elem": element}]}},
            {"set": {"name": "leaving_reset"}},
        ]
    }
    assert read(json.dumps(listing)) == (FROM_A,)
