"""A matrix multiplied out: names, expectations, what is left out, and what is refused with its line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from harness.campaign.file import Read, from_file, going_on, saved
from harness.plan import PlanError, Trust
from harness.times import seconds_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "campaign.yaml"


def reading(path: Path, text: str, **how: str) -> Read:
    path.write_text(text)
    return from_file(path, **how)  # type: ignore[arg-type]


def told(read: Read) -> list[str]:
    return [
        f"{each.name}: {each.expected.value}"
        + (f" known {' '.join(each.known)}" if each.known else "")
        + (f" seeds {' '.join(map(str, each.seeds_of(())))}" if each.seeds else "")
        for each in read.entries
    ]


def test_axes_are_multiplied_out_and_named_by_what_varies(path: Path) -> None:
    read = reading(
        path,
        """
schema: 1
seeds: 3
plan: {rate: 50}
runs:
  - name: right
    matrix:
      policy: [lease-renew, readindex]
      faults: [none, [clock, pause]]
      on: [sim]
      nodes: [3, 5]
    plan: {allow: not-exercised}
    exclude: [{policy: readindex, nodes: 5}]
    except: [{when: {policy: readindex, faults: none}, expect: not-exercised}]
""",
    )
    assert told(read) == [
        "right/lease-renew/none/nodes=3: pass",
        "right/lease-renew/none/nodes=5: pass",
        "right/lease-renew/clock+pause/nodes=3: pass",
        "right/lease-renew/clock+pause/nodes=5: pass",
        "right/readindex/none/nodes=3: not-exercised",
        "right/readindex/clock+pause/nodes=3: pass",
    ]
    plan = read.entries[3].plan(7)
    assert (plan.name, plan.nodes, plan.rate, plan.seed) == (
        "right-lease-renew-clock-pause-nodes-5", 5, 50, 7,
    )  # fmt: skip
    assert plan.allow == ("not-exercised",)


def test_what_is_expected_follows_from_what_is_planted(path: Path) -> None:
    read = reading(
        path,
        """
schema: 1
known: [L12]
runs:
  - matrix:
      mistake: [none, role-only-read, no-applied-wait]
      policy: [lease-renew, readindex]
    plan: {on: sim}
    unfit: leave-out
    known: [R7]
    seeds: {first: 5, count: 2}
""",
    )
    assert told(read) == [
        "none/lease-renew: pass known L12 R7 seeds 5 6",
        "none/readindex: pass known L12 R7 seeds 5 6",
        "role-only-read/lease-renew: violation known L12 R7 seeds 5 6",
        "no-applied-wait/readindex: violation known L12 R7 seeds 5 6",
    ]
    assert read.left_out == ("role-only-read/readindex", "no-applied-wait/lease-renew")


def test_a_campaign_is_saved_as_a_file_of_the_same_entries(path: Path) -> None:
    read = reading(
        path,
        """
schema: 1
until: violation
runs:
  - {name: a, matrix: {mistake: [none, role-only-read], on: [sim]}, known: [L1], seeds: [4, 2]}
  - {name: b, swarm: true, plan: {policy: readindex}, seeds: 2}
""",
    )
    path.write_bytes(saved(read.entries, read.matrix))
    again = from_file(path, trust=Trust.STRANGER)
    assert again.entries == read.entries
    assert again.matrix.until == "violation"
    assert going_on(path, read.entries, read.matrix) == path.read_bytes()
    other = reading(path, "schema: 1\nruns:\n  - {name: b, plan: {on: sim, policy: log-read}}\n")
    path.write_bytes(saved(read.entries, read.matrix))
    with pytest.raises(PlanError, match="b was another run when this campaign began"):
        going_on(path, other.entries, other.matrix)


def test_a_campaign_is_put_elsewhere_as_a_whole(path: Path) -> None:
    text = "schema: 1\nruns:\n  - {name: a, matrix: {on: [sim, local]}}\n  - {name: b}\n"
    read = reading(path, text, on="docker")
    assert [(each.name, each.options["on"]) for each in read.entries] == [
        ("a", "docker"),
        ("b", "docker"),
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("runs: []\n", r":1: .*length >= 1"),
        ("runs:\n  - name: a\n    seeds:\n      first: 4611686018427387903\n      count: 2\n",
         r":4: seed 4611686018427387904, the last of 2 from 4611686018427387903 on, is not below"),
        ("runs:\n  - name: a\n    seeds: {first: 4611686018427387904, count: 2}\n", r":3: .*int. <= 46"),
        ("runs:\n  - name: a\n    seeds: [1, 4611686018427387904]\n", r":3: .*int. <= 46"),
        ("runs:\n  - name: a\n    seeds: 1000001\n", r":3: .*int. <= 1000000"),
        ("seeds: 2\nfirst_seed: 4611686018427387903\nruns:\n  - {name: a}\n",
         r":2: seed 4611686018427387904, "),
        (("runs:\n  - name: a\n    matrix: {drift_ppm: [1000, 900000]}\n    plan:\n      schedule:\n"
          "      - {do: clock, target: leader, rate: -2rho}\n"),
         r":6: a/drift_ppm=900000: .*-2.0rho is too much of a declared bound of 900000 ppm"),
        ("runs:\n  - {plan: {on: sim}}\n", r":2: a block without axes needs a name"),
        ("runs:\n  - {name: a, matrix: {polcy: [x]}}\n", r":2: unknown key .* 'polcy'; .*'policy'"),
        ("runs:\n  - name: a\n    matrix:\n      policy:\n      - log-read\n      - lease-renw\n",
         r":6: .*lease-renew"),
        ("runs:\n  - name: a\n    matrix: {policy: []}\n", r":3: .*length >= 1"),
        ("runs:\n  - name: a\n    matrix: {seed: [1, 2]}\n", r":3: the campaign itself decides seed"),
        ("runs:\n  - name: a\n    plan: {policy: log-read}\n    matrix: {policy: [log-read]}\n",
         r":3: policy is an axis"),
        (("runs:\n  - name: a\n    matrix:\n      mistake: [role-only-read]\n      policy:"
         " [lease-renew,\n        log-read]\n"), r":6: a/log-read: .* needs policy lease-renew"),
        ("runs:\n  - name: a\n    matrix: {on: [sim, local]}\n    exclude:\n    - {on: docker}\n",
         r":5: this is true of no combination"),
        (("runs:\n  - name: a\n    matrix: {on: [sim, local]}\n    except:\n    - {when: {on: docker},"
         " expect: pass}\n"), r":5: this is true of no combination"),
        ("runs:\n  - {name: a, expect: luck}\n", r":2: .*'luck'"),
        ("runs:\n  - {name: a, known: [lease]}\n", r":2: .*[Rr]egex"),
        ("runs:\n  - {name: a, known: [L2, L21]}\n", r":2: .*[Rr]egex"),
        ("runs:\n  - {name: a}\n  - {name: a}\n", r":3: two runs have the name a"),
        ("budget: soon\nruns:\n  - {name: a}\n", r":1: budget: 'soon' is no time"),
        (("runs:\n  - name: a\n    matrix: {nodes: [1,2,3,4,5,6,7,8,9], keys: [1,2,3,4,5,6,7,8,9],"
         " rate: [1,2,3,4,5,6,7,8,9], clients: [1,2,3,4,5,6,7,8,9]}\n"), r":3: more than 2000"),
        ("plan: {rate: fast}\nruns:\n  - {name: a}\n", r":1: "),
        ("runs:\n  - {name: a, swarm: true, matrix: {nodes: [3, 5]}}\n", r":2: a swarm draws nodes"),
        ("runs: &x\n  - *x\n", "alias"),
        ('runs:\n  - {name: "a\\n"}\n', r":2: .*[Rr]egex"),
        ('runs:\n  - {name: a, known: ["L12\\n"]}\n', r":2: .*[Rr]egex"),
        (f"runs:\n  - name: a\n    matrix: {{rate: {list(range(2001))}}}\n", r":3: more than 2000"),
        ((f"runs:\n  - name: a\n    seeds: {list(range(0, 202, 2))}\n    matrix: {{rate:"
          f" {list(range(1, 1001))}}}\n"), r":3: more than 100000 seeds are listed"),
        (f"runs:\n  - name: a\n    exclude: [{'{on: sim}, ' * 1001}]\n", r":3: .*length <= 1000"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_with_its_line(path: Path, text: str, sentence: str) -> None:
    with pytest.raises(PlanError, match="campaign.yaml" + sentence if sentence[0] == ":" else sentence):
        reading(path, text + "schema: 1\n")


def test_a_million_seeds_of_an_entry_are_two_numbers(path: Path) -> None:
    (entry,) = reading(path, "schema: 1\nruns: [{name: a, seeds: 1000000}]\n").entries
    assert len(entry.seeds_of(())) == 1_000_000
    assert len(msgspec.msgpack.encode(entry)) < 1000


def test_a_saved_campaign_of_a_stranger_names_nothing_of_this_host(path: Path) -> None:
    text = "schema: 1\nruns:\n  - name: a\n    plan: {target: etcd, on: docker, compose: compose.yaml}\n"
    path.write_text(text)
    with pytest.raises(PlanError, match=r"campaign.yaml:4: compose of a saved campaign"):
        from_file(path, trust=Trust.STRANGER)


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("1.5m", 90), ("2h", 7200)])
def test_a_budget_is_a_time(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds
