import re

import pytest

from targets.docker.packets import Hook
from targets.docker.queued import chain, empty, handed, lay, listeners, undo

RUN = "lantern-123-456-abc_def"
FROM_A, TO_B = (Hook.ARRIVING, "10.0.0.2"), (Hook.LEAVING, "10.0.0.3")
OTHERS = """*raw
:PREROUTING DROP [0:0]
:OUTPUT ACCEPT [0:0]
:mine - [0:0]
-A PREROUTING -s 10.9.9.9/32 -j NOTRACK
-A OUTPUT -j mine
COMMIT
"""
FRESH = "*raw\n:PREROUTING ACCEPT [0:0]\n:OUTPUT ACCEPT [9:99]\nCOMMIT\n"


def applied(script: str, saved: str) -> str:
    """Do to the text of a table what iptables-restore --noflush would; refuse what it would refuse."""
    lines = saved.splitlines()
    for line in script.splitlines():
        match line.split()[0]:
            case "*raw" | "COMMIT":
                continue
            case "-I":
                rule = line.replace("-I ", "-A ", 1)
                lines.insert(
                    next(i for i, one in enumerate(lines) if one.startswith(("-A", "COMMIT"))), rule
                )
            case "-A":
                lines.insert(lines.index("COMMIT"), line)
            case "-D":
                lines.remove(line.replace("-D ", "-A ", 1))
            case "-F":
                lines = [one for one in lines if not one.startswith(f"-A {line.split()[1]} ")]
            case "-X":
                name = line.split()[1]
                assert not any(name in one for one in lines if one.startswith("-A")), "still in use"
                lines = [one for one in lines if not one.startswith(f":{name} ")]
            case declared:
                assert declared.startswith(":")
                lines = [one for one in lines if not one.startswith((declared, f"-A {declared[1:]} "))]
                lines.insert(1, line)
    return "\n".join([*lines, ""])


def test_every_rule_lets_packets_pass_where_nobody_listens() -> None:
    rules = [line for line in lay(RUN, {FROM_A: 7700, TO_B: 7701}, "").splitlines() if "NFQUEUE" in line]
    name = chain(RUN)
    assert rules == [
        f"-A {name} -s 10.0.0.2 -j NFQUEUE --queue-num 7700 --queue-bypass",
        f"-A {name} -d 10.0.0.3 -j NFQUEUE --queue-num 7701 --queue-bypass",
    ]


def test_a_chain_is_named_after_its_run_alone_and_short_enough_for_the_kernel() -> None:
    assert chain(RUN) != chain(f"{RUN}x")
    assert re.fullmatch(r"lantern-[0-9a-f]{16}", chain("x" * 300))
    assert len(chain(RUN)) <= 28


def test_what_is_laid_twice_is_there_once() -> None:
    once = applied(lay(RUN, {FROM_A: 7700}, FRESH), FRESH)
    twice = applied(lay(RUN, {FROM_A: 7700, TO_B: 7701}, once), once)
    assert twice.count(f"-j {chain(RUN)}\n") == 2, "one jump a hook"
    assert twice.count("--queue-num") == 2


@pytest.mark.parametrize(
    "before",
    [
        FRESH,
        OTHERS,
    ],
)
def test_undoing_leaves_everybody_elses_rules_as_they_were(before: str) -> None:
    laid = applied(lay(RUN, {FROM_A: 7700, TO_B: 7701}, before), before)
    script = undo(RUN, laid)
    assert script is not None
    assert applied(script, laid) == before
    assert undo(RUN, before) is None, "twice is nothing"
    assert undo("lantern-1-1-other", laid) is None
    assert empty(before) is (before == FRESH)
    assert not empty(laid)


def test_the_kernels_list_names_who_listens() -> None:
    said = "    7700  24772     0 1     0     0     0        0  1\n 7702  24772 1 1 0 0 0 722  1\n"
    assert listeners(said) == {7700, 7702}
    assert listeners("") == frozenset()


def test_packets_are_handed_over_only_by_a_rule_that_is_reached() -> None:
    laid = applied(lay(RUN, {FROM_A: 7700}, OTHERS), OTHERS)
    assert handed(RUN, 7700, laid)
    assert not handed(RUN, 7701, laid)
    assert not handed(f"{RUN}x", 7700, laid)
    assert not handed(RUN, 7700, OTHERS)
    name = chain(RUN)
    without_jumps = "\n".join(line for line in laid.splitlines() if not line.endswith(f"-j {name}"))
    assert not handed(RUN, 7700, without_jumps)
