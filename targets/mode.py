"""How a target's reads are served and what is promised of them, as far as a verdict needs to know."""

from __future__ import annotations

import msgspec


class Mode(msgspec.Struct, frozen=True, kw_only=True):
    """A way of reading: a policy of leasekv, a read mode of a system that is not ours.

    ``claims`` are names of `checker.exercised`: what a run must have exercised to mean anything.
    ``overlap`` says whether two leases at one instant of true time prove a violation.
    """

    name: str
    claims: tuple[str, ...]
    overlap: bool
    about: str
