"""Grudges, as properties over every cluster size and centre."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nemesis.grudges import (
    ONE_NODE_SHAPES,
    Shape,
    Side,
    bridge,
    complete,
    links,
    majorities_ring,
    shaped,
    split,
)
from targets.cluster import CLIENTS, Link

NODES = [f"n{number}" for number in range(1, 10)]
clusters = st.integers(min_value=2, max_value=9).map(lambda size: NODES[:size])
placed = clusters.flatmap(lambda nodes: st.tuples(st.just(nodes), st.sampled_from(nodes)))


def heard(nodes: list[str], cut: tuple[Link, ...], node: str) -> set[str]:
    """Return whom a node still hears, itself included."""
    return {other for other in nodes if Link(other, node) not in cut}


@given(placed, st.sampled_from(Shape))
def test_a_shape_names_each_link_between_two_nodes_once(
    where: tuple[list[str], str], shape: Shape
) -> None:
    nodes, centre = where
    cut = shaped(shape, nodes, centre=centre)
    assert len(set(cut)) == len(cut)
    assert set(cut) <= {Link(source, target) for source, target in permutations(nodes, 2)}


@given(placed)
def test_a_mute_node_still_hears_and_a_deaf_one_still_speaks(where: tuple[list[str], str]) -> None:
    nodes, centre = where
    mute = set(shaped(Shape.LEADER_MUTE, nodes, centre=centre))
    deaf = set(shaped(Shape.LEADER_DEAF, nodes, centre=centre))
    assert {link.source for link in mute} == {centre}
    assert {link.target for link in deaf} == {centre}
    assert mute | deaf == set(shaped(Shape.ISOLATE_ONE, nodes, centre=centre))
    assert not mute & deaf


@given(placed)
def test_the_centre_of_halves_is_in_the_minority(where: tuple[list[str], str]) -> None:
    nodes, centre = where
    cut = shaped(Shape.HALVES, nodes, centre=centre)
    assert 2 * len(heard(nodes, cut, centre)) <= len(nodes)
    outside = [node for node in nodes if node not in heard(nodes, cut, centre)]
    assert all(heard(nodes, cut, node) == set(outside) for node in outside)


@given(placed)
def test_the_minority_third_is_a_third_at_most_but_somebody(where: tuple[list[str], str]) -> None:
    nodes, centre = where
    alone = heard(nodes, shaped(Shape.MINORITY_THIRD, nodes, centre=centre), centre)
    assert 1 <= len(alone) <= max(1, (len(nodes) - 1) // 3)


@given(st.integers(min_value=3, max_value=9).map(lambda size: NODES[:size]))
def test_in_a_ring_each_node_hears_a_majority_and_no_two_the_same(nodes: list[str]) -> None:
    cut = links(majorities_ring(nodes))
    sets = [frozenset(heard(nodes, cut, node)) for node in nodes]
    assert all(len(each) == len(nodes) // 2 + 1 for each in sets)
    assert len(set(sets)) == len(nodes)
    assert all(node in heard(nodes, cut, node) for node in nodes)


@given(st.integers(min_value=3, max_value=9).map(lambda size: NODES[:size]))
def test_a_bridge_is_heard_by_all_and_hears_all(nodes: list[str]) -> None:
    cut = links(bridge(nodes[1:], over=nodes[0]))
    assert heard(nodes, cut, nodes[0]) == set(nodes)
    assert all(nodes[0] in heard(nodes, cut, node) for node in nodes)
    assert len(heard(nodes, cut, nodes[1]) | heard(nodes, cut, nodes[-1])) == len(nodes)
    assert heard(nodes, cut, nodes[1]) & heard(nodes, cut, nodes[-1]) == {nodes[0]}


@given(clusters, st.data())
def test_a_complete_grudge_silences_exactly_what_crosses_components(
    nodes: list[str], data: st.DataObject
) -> None:
    sides = split(nodes, data.draw(st.integers(min_value=0, max_value=len(nodes))))
    cut = links(complete(sides))
    for source, target in permutations(nodes, 2):
        together = any({source, target} <= set(side) for side in sides)
        assert (Link(source, target) in cut) is not together


@pytest.mark.parametrize("shape", sorted(ONE_NODE_SHAPES))
def test_a_client_shape_leaves_the_peers_alone(shape: Shape) -> None:
    cut = shaped(shape, NODES[:3], centre="n2", side=Side.CLIENTS)
    assert cut
    assert all({link.source, link.target} == {"n2", CLIENTS} for link in cut)


def test_a_shape_of_many_has_no_client_form_and_a_centre_is_a_node() -> None:
    with pytest.raises(ValueError, match="no form"):
        shaped(Shape.HALVES, NODES[:3], centre="n1", side=Side.CLIENTS)
    with pytest.raises(ValueError, match="n9"):
        shaped(Shape.HALVES, NODES[:3], centre="n9")
