"""Counted links against a dumb oracle: the strongest of the cuts that stand, worked out from nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nemesis.faults import Cut, Fault, Flight, Slow, Standing, Verification
from nemesis.machine.ledger import Entry, Ledger
from nemesis.ports import Happened, Heal, Inject, NemesisEffect
from targets.cluster import Link

LINKS = [
    Link(source, target) for source in ("n1", "n2") for target in ("n1", "n2", "n3") if source != target
]
some_links = st.lists(st.sampled_from(LINKS), min_size=1, unique=True).map(tuple)
cuts = st.one_of(
    st.builds(Cut, some_links, st.sampled_from(Flight)),
    st.builds(Slow, some_links, st.integers(1, 3)),
)
OPEN = (0, 0)


def firmness(fault: Fault) -> tuple[int, int]:
    match fault:
        case Cut(_, Flight.DROP):
            return 3, 0
        case Cut():
            return 2, 0
        case Slow(_, delay_ns):
            return 1, delay_ns
    raise AssertionError(fault)


class Network:
    """A network that does as it is told, and a book of what stands."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.state = dict.fromkeys(LINKS, OPEN)
        self.standing: dict[int, tuple[Cut | Slow, set[Link]]] = {}

    def inject(self, number: int, fault: Cut | Slow) -> None:
        self.standing[number] = (fault, set(fault.links))
        self.obey(self.ledger.inject(Entry(number, fault, "e", 1, "s", {}, 0)))

    def heal(self, number: int, links: tuple[Link, ...] | None) -> None:
        fault, left = self.standing[number]
        left -= set(fault.links if links is None else links)
        self.obey(self.ledger.heal(number, 1, links=links))

    def obey(self, effects: tuple[NemesisEffect, ...]) -> None:
        for effect in effects:
            match effect:
                case Inject(number, (Cut() | Slow()) as fault):
                    self.state.update(dict.fromkeys(fault.links, firmness(fault)))
                    self.obey(
                        self.ledger.happened(Happened(number, Verification(Standing.INSTALLED)), 1)
                    )
                case Heal(number, (Cut() | Slow()) as fault):
                    self.state.update(dict.fromkeys(fault.links, OPEN))
                    done = Happened(number, Verification(Standing.INSTALLED), healed=True)
                    self.obey(self.ledger.happened(done, 1))
                case _:
                    raise AssertionError(effect)

    def expected(self) -> dict[Link, tuple[int, int]]:
        wishes = {link: [OPEN] for link in LINKS}
        for fault, left in self.standing.values():
            for link in left:
                wishes[link].append(firmness(fault))
        return {link: max(each) for link, each in wishes.items()}


@given(st.data())
def test_a_link_is_always_as_shut_as_the_firmest_standing_cut_wants_it(data: st.DataObject) -> None:
    network = Network()
    for number in range(data.draw(st.integers(1, 12))):
        standing = sorted(network.standing)
        heals: bool = data.draw(st.booleans())
        if standing and heals:
            links: tuple[Link, ...] | None = data.draw(st.one_of(st.none(), some_links))
            network.heal(data.draw(st.sampled_from(standing)), links)
        else:
            network.inject(number, data.draw(cuts))
        assert network.state == network.expected()
    network.obey(network.ledger.heal_all())
    assert set(network.state.values()) == {OPEN}
    assert network.ledger.settled
    assert all(fault.healed_ns is not None for fault in network.ledger.record())
