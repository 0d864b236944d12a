"""What one node is told: who takes part, the timings, the policy and what is wrong with it.

`NodeConfig` is plain data (it travels to a node's process as JSON); `build_rules` turns it into the
`Rules` the core asks. Whatever does not fit together raises `ConfigError` and names the value.
"""

from __future__ import annotations

from typing import Final

import msgspec

from targets.clock import MS, SECOND

from .membership import Membership
from .mistakes import MISTAKES
from .moments import PPM
from .policies import CLOCK_STEP_NS, GRANT_NS, POLICIES
from .rules import RULES_OFF, Rules, drift_safe_lease_ns
from .views import Bounds

NODES_MAX: Final = 9


class ConfigError(ValueError):
    """A configuration that means nothing; the message names the field and the value."""


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a node holds at most; beyond it a request is refused as OVERLOADED, never queued.

    ``append_max`` entries travel in one message, ``appends_max`` such messages are unacknowledged per
    peer, ``rounds_max`` rounds are remembered per peer, ``held_max`` answers wait for the disk. When
    ``compact_entries`` were applied since the last snapshot the next is taken; ``trail_entries`` before
    it stay in memory, for peers that lag a little.
    """

    pending_max: int = 1024
    uncommitted_max: int = 4096
    append_max: int = 256
    appends_max: int = 8
    rounds_max: int = 1024
    held_max: int = 4096
    compact_entries: int = 20_000
    trail_entries: int = 2_000


class NodeConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One node of a cluster.

    ``nodes`` are all there are, ``voters`` those that vote to begin with: all, if none are named.
    ``election_ns`` is E: how long a promise lasts, and the least time before a node campaigns; a
    node's own timeout is drawn from the closed interval [E, E + ``election_jitter_ns``].
    ``heartbeat_ns`` is H, ``drift_ppm`` the declared rho, ``margin_ns`` theta. E must be the same on
    every node. ``clock_step_ns`` is how far wall and monotonic time may part between two readings.
    Where the policy needs a time service, that speaks every ``sync_ns`` and is at most ``sync_error_ns``
    off. ``grant_ns`` is how long a one-shot lease is granted for.
    ``mistakes`` and ``rules_off`` are ids; what a mistake needs switched off is not switched off by
    itself, so that its masking can be tested.
    """

    node: str
    nodes: tuple[str, ...]
    voters: tuple[str, ...] = ()
    policy: str = "lease-renew"
    mistakes: tuple[str, ...] = ()
    rules_off: tuple[str, ...] = ()
    election_ns: int = SECOND
    election_jitter_ns: int = 200 * MS
    heartbeat_ns: int = 100 * MS
    drift_ppm: int = 50_000
    margin_ns: int = 20 * MS
    clock_step_ns: int = CLOCK_STEP_NS
    sync_ns: int = 200 * MS
    sync_error_ns: int = 2 * MS
    grant_ns: int = GRANT_NS
    seed: int = 0
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        """Refuse what cannot work, naming it."""
        if len(set(self.nodes)) != len(self.nodes) or not 1 <= len(self.nodes) <= NODES_MAX:
            raise ConfigError(f"nodes must be 1 to {NODES_MAX} different names, not {list(self.nodes)}")
        if self.node not in self.nodes:
            raise ConfigError(f"node {self.node!r} is not among nodes {list(self.nodes)}")
        if not set(self.voters) <= set(self.nodes) or len(set(self.voters)) != len(self.voters):
            raise ConfigError(f"voters {list(self.voters)} must be different names among the nodes")
        for field in ("election_ns", "heartbeat_ns", "clock_step_ns", "sync_ns", "grant_ns"):
            if getattr(self, field) <= 0:
                raise ConfigError(f"{field} must be positive, not {getattr(self, field)}")
        for field in ("election_jitter_ns", "margin_ns", "sync_error_ns"):
            if getattr(self, field) < 0:
                raise ConfigError(f"{field} must not be negative, not {getattr(self, field)}")
        if not 0 <= self.drift_ppm < PPM:
            raise ConfigError(f"drift_ppm must be in [0, {PPM}), not {self.drift_ppm}")
        lease_ns = drift_safe_lease_ns(self.bounds)
        if 3 * self.heartbeat_ns > lease_ns:
            raise ConfigError(
                f"heartbeat_ns {self.heartbeat_ns} is more than a third of the lease, {lease_ns} ns"
            )

    @property
    def synced(self) -> bool:
        """Whether this node hears from a time service."""
        return POLICIES[self.policy].mode.synced

    @property
    def bounds(self) -> Bounds:
        """What the lease's length is computed from."""
        return Bounds(self.election_ns, self.drift_ppm, self.margin_ns, self.grant_ns)

    @property
    def membership(self) -> Membership:
        """Who takes part to begin with."""
        return Membership(self.voters or self.nodes)

    @property
    def read_deadline_ns(self) -> int:
        """How long a read may wait before it is answered with a code: half of E."""
        return self.election_ns // 2

    @property
    def sample_ns(self) -> int:
        """How often a node looks at its clocks if nothing else wakes it: half of E."""
        return self.election_ns // 2


def build_rules(config: NodeConfig) -> Rules:
    """Return the rules of the configured policy with its mistakes planted and rules switched off."""
    policy = POLICIES.get(config.policy)
    if policy is None:
        raise ConfigError(f"unknown policy {config.policy!r}; there are {', '.join(POLICIES)}")
    rules = policy.rules
    for name in config.mistakes:
        mistake = MISTAKES.get(name)
        if mistake is None:
            raise ConfigError(f"unknown mistake {name!r}; there are {', '.join(MISTAKES)}")
        if mistake.policy != config.policy:
            raise ConfigError(
                f"mistake {name!r} belongs to policy {mistake.policy!r}, not {config.policy!r}"
            )
        rules = mistake.change(rules)
    for name in config.rules_off:
        if name not in RULES_OFF:
            raise ConfigError(f"rule {name!r} cannot be switched off; these can: {', '.join(RULES_OFF)}")
        rules = RULES_OFF[name](rules)
    return rules
