"""Packets handed to a queue of the harness, as text: the rules in a node's namespace, and their removal.

Pure: values to what ``iptables-restore`` reads, and what ``iptables-save`` says to what undoes our part
of it; `queues` runs both. The rules are iptables' because a kernel may have its target NFQUEUE without
the packet filter's own statement ``queue``, but not the other way round.

One chain a run, in the table ``raw``, which comes before every cut: what a queue lets go can still be
cut. Each rule hands one direction of one peer to a queue of its own, and carries ``--queue-bypass``:
where nobody listens at the queue, packets pass as if there was no rule. So rules are laid once, a delay
begins and ends with a listener, and a harness that was killed delays nothing.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from .packets import Hook

if TYPE_CHECKING:
    from collections.abc import Mapping

TABLE: Final = "raw"
HOOKS: Final = {Hook.ARRIVING: "PREROUTING", Hook.LEAVING: "OUTPUT"}
SIDES: Final = {Hook.ARRIVING: "-s", Hook.LEAVING: "-d"}

Direction = tuple[Hook, str]
"""What arrives from a peer's address, or leaves for it."""


def chain(run: str) -> str:
    """Return the name of a run's chain; a run's id is longer than the kernel lets a chain's name be."""
    return f"lantern-{hashlib.sha256(run.encode()).hexdigest()[:16]}"


def lay(run: str, numbers: Mapping[Direction, int], saved: str) -> str:
    """Return what makes ``numbers`` the queues of the run, given what ``iptables-save`` says."""
    name = chain(run)
    jumps = [f"-I {point} -j {name}" for point in HOOKS.values()]
    rules = [
        f"-A {name} {SIDES[hook]} {peer} -j NFQUEUE --queue-num {number} --queue-bypass"
        for (hook, peer), number in numbers.items()
    ]
    first = [] if f":{name} " in saved else jumps
    return "\n".join([f"*{TABLE}", f":{name} - [0:0]", *rules, *first, "COMMIT", ""])


def undo(run: str, saved: str) -> str | None:
    """Return what leaves nothing of the run and all of everybody else's, None if nothing is there."""
    name = chain(run)
    if f":{name} " not in saved:
        return None
    jumps = [
        line for line in saved.splitlines() if line.startswith("-A ") and line.endswith(f"-j {name}")
    ]
    drops = [line.replace("-A ", "-D ", 1) for line in jumps]
    return "\n".join([f"*{TABLE}", *drops, f"-F {name}", f"-X {name}", "COMMIT", ""])


def empty(saved: str) -> bool:
    """Tell whether a table has neither a rule nor a chain of anybody's: it does nothing."""
    lines = saved.splitlines()
    made = [line for line in lines if line.startswith(":") and line.split()[1] == "-"]
    return not made and not any(line.startswith("-A ") for line in lines)


def handed(run: str, number: int, saved: str) -> bool:
    """Tell whether packets are handed to a queue of the run, given what ``iptables-save`` says."""
    name = chain(run)
    lines = saved.splitlines()
    jumps = any(line.startswith("-A ") and line.endswith(f"-j {name}") for line in lines)
    words = (line.split() for line in lines if line.startswith(f"-A {name} "))
    return jumps and any(str(number) in rule and "NFQUEUE" in rule for rule in words)


def listeners(listing: str) -> frozenset[int]:
    """Return at which queues somebody listens, of the kernel's list of a namespace."""
    return frozenset(int(line.split()[0]) for line in listing.splitlines() if line.strip())
