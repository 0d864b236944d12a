"""Two faults of one link: it is healed once, and then neither stands."""

from __future__ import annotations

from harness.run.orders import Orders
from nemesis.faults import Cut, Standing, Verification
from nemesis.ports import Happened, Heal, Inject
from targets.cluster import Link

ONE, OTHER = Link("n1", "n2"), Link("n1", "n3")
DONE = Verification(Standing.INSTALLED)


def test_a_link_healed_for_one_fault_is_open_for_the_other() -> None:
    orders = Orders()
    orders.inject(Inject(1, Cut((ONE,))), {})
    orders.inject(Inject(2, Cut((ONE, OTHER))), {})
    for number in (1, 2):
        orders.happened(Happened(number, DONE))
    orders.heal(Heal(1, Cut((ONE,))))
    assert set(orders.standing) == {1, 2}
    orders.happened(Happened(1, DONE, healed=True))
    assert orders.standing == {2: Cut((OTHER,))}
    orders.heal(Heal(2, Cut((OTHER,))))
    orders.happened(Happened(2, DONE, healed=True))
    assert not orders.standing
