"""Cuts by packet filter, as text: what a node's namespace is told, and what is read back from it.

Pure: values to nft's language and nft's JSON to values; `netns` runs it.

One table a run and a namespace, named as the run: healing for good is deleting it, and no rule of
anybody else is ever touched. It is declared once, before any cut (to register a chain takes the kernel
10 ms); its chains come before every filter that accepts, so that established connections are cut too.
The peers to cut are elements of its sets, always replaced whole in one transaction: there are no
half-applied cuts, and applying twice is applying once. Elements have a time-out, so that the *kernel*
heals what a killed harness left, and each counts its packets: a counter that rises is the proof that a
cut holds.

Three ways to cut what a source says to a node, and they differ in what the source still hears:

* **hold**: segments with data (and the end of a stream) are dropped, acknowledgements pass. TCP keeps
  the bytes and sends them again: a true one-way cut, the other direction goes on.
* **hush**: every packet is dropped, acknowledgements too. One-way in name: the other direction stalls as
  well, after 0.2 to 0.8 s, when its sender has heard no acknowledgement for long enough.
* **reset**: what comes is answered with a reset: connections break, new ones are refused.

A bare acknowledgement is at most 80 bytes long (two headers of 20, 40 of options); a segment with data
that is as short carries PSH, as each last segment of a write does.
"""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ACK_BYTES_MAX: Final = 80


class Way(StrEnum):
    """What happens to the packets of a cut direction."""

    HOLD = "hold"
    HUSH = "hush"
    RESET = "reset"


class Hook(StrEnum):
    """Where in the node's namespace: what arrives from an address, or what leaves for one."""

    ARRIVING = "arriving"
    LEAVING = "leaving"


class PacketCut(msgspec.Struct, frozen=True, order=True):
    """One direction cut at one node: packets arriving from ``peer``, or leaving for it."""

    hook: Hook
    way: Way
    peer: str


def table(run: str) -> str:
    """Return the name of a run's table; a run's id is ``lantern-``, letters, digits, ``-`` and ``_``."""
    if re.fullmatch(r"lantern-[A-Za-z0-9_-]+", run) is None:
        raise ValueError(f"run id {run!r} cannot name a packet filter table")
    return run.replace("-", "_")


def declare(run: str, *, ports: Sequence[int] = ()) -> str:
    """Return the transaction that makes the run's table, with nothing cut, whatever was there before.

    A reset concerns connections to these ``ports`` of the node, so that a connection the node itself
    dialed is left alone; all connections if there are none.
    """
    name = table(run)
    lines = [f"add table inet {name}", f"delete table inet {name}", f"table inet {name} {{"]
    lines += [
        f"  set {_set_name(hook, way)} {{ type ipv4_addr; flags timeout; counter; }}"
        for hook in Hook
        for way in Way
    ]
    for hook in Hook:
        lines += _chain_lines(hook, ports)
    return "\n".join([*lines, "}", ""])


def add(run: str, cuts: Iterable[PacketCut], *, timeout_s: int) -> str:
    """Return the transaction that cuts ``cuts`` besides what is cut already."""
    peers: dict[str, list[str]] = {}
    for cut in sorted(set(cuts)):
        peers.setdefault(_set_name(cut.hook, cut.way), []).append(f"{cut.peer} timeout {timeout_s}s")
    return "".join(
        f"add element inet {table(run)} {name} {{ {', '.join(elements)} }}\n"
        for name, elements in peers.items()
    )


def replace(run: str, cuts: Iterable[PacketCut], *, timeout_s: int) -> str:
    """Return the transaction that makes ``cuts`` the whole truth of the declared table.

    Taking elements away makes the kernel wait before the next transaction (15 ms): `add` where nothing
    is taken away.
    """
    flushed = [f"flush set inet {table(run)} {_set_name(hook, way)}\n" for hook in Hook for way in Way]
    return "".join(flushed) + add(run, cuts, timeout_s=timeout_s)


def remove(run: str) -> str:
    """Return the transaction that leaves nothing of the run; idempotent."""
    name = table(run)
    return f"add table inet {name}\ndelete table inet {name}\n"


def read(listing: str) -> tuple[PacketCut, ...]:
    """Return the cuts in nft's JSON listing of a run's table, in order."""
    cuts = []
    for item in json.loads(listing)["nftables"]:
        elements = item.get("set", {}).get("elem", [])
        hook, _, way = item.get("set", {}).get("name", "").partition("_")
        cuts += [PacketCut(Hook(hook), Way(way), element["elem"]["val"]) for element in elements]
    return tuple(sorted(cuts))


def _set_name(hook: Hook, way: Way) -> str:
    return f"{hook}_{way}"


def _chain_lines(hook: Hook, ports: Sequence[int]) -> list[str]:
    arriving = hook is Hook.ARRIVING
    point, side, end = ("input", "saddr", "dport") if arriving else ("output", "daddr", "sport")
    ours = f"tcp {end} {{ {', '.join(map(str, ports))} }} " if ports else ""
    answerable = f"    meta l4proto tcp tcp flags & rst == 0 {ours}ip {side}"
    # Only what arrives can be answered with a reset: for what leaves, the asking packet is answered.
    resets = (
        [f"{answerable} @{one}_reset reject with tcp reset" for one in Hook]
        if arriving
        else [f"{answerable} @{hook}_reset drop"]
    )
    return [
        f"  chain {hook} {{ type filter hook {point} priority -300; policy accept;",
        f"    ip {side} @{hook}_hush drop",
        *resets,
        f"    meta l4proto tcp meta length > {ACK_BYTES_MAX} ip {side} @{hook}_hold drop",
        f"    meta l4proto tcp tcp flags & (psh | fin) != 0 ip {side} @{hook}_hold drop",
        "  }",
    ]
