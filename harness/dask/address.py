"""Addresses of schedulers: of this host, or spoken to through TLS with certificates, and no others.

Whoever can speak to a worker has it run code, so a scheduler that anybody on the network can speak to
is none that runs are given to.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final

_ADDRESS: Final = re.compile(
    r"(?:(?P<scheme>[a-z]+)://)?(?P<host>\[[0-9a-fA-F:.]+\]|[^\[\]:/]+):(?P<port>\d{1,5})"
)


def address_of(text: str) -> str:
    """Return a scheduler's address as Dask takes it; raise ``ValueError`` for one that is not taken."""
    found = _ADDRESS.fullmatch(text)
    if found is None:
        raise ValueError(f"'{text[:80]}' is no address; say tcp://127.0.0.1:8786 or tls://host:8786")
    scheme, host = found["scheme"] or "tcp", found["host"]
    if scheme not in {"tcp", "tls"}:
        raise ValueError(f"{scheme}:// is not taken; say tcp:// on this host, or tls://")
    if scheme == "tcp" and not _is_here(host):
        raise ValueError(
            f"{host} is not this host, and whoever can speak to a worker has it run code: say tls://"
        )
    return f"{scheme}://{host}:{found['port']}"


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
