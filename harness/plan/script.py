"""A plan's operations, one by one: instead of a workload that draws them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from checker.events import ReadPath


class Scripted(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """One operation: when, counted from the start of the load, by whom, and at which node.

    A ``seat`` is a client; it does its operations in order, and a late one holds up the next. A write
    that is ``fenced`` brings ``[token, anything]`` and is refused under a token that is not the newest.
    """

    at_ns: Annotated[int, msgspec.Meta(ge=0, le=86_400_000_000_000)]
    seat: Annotated[int, msgspec.Meta(ge=0, lt=10_000)]
    f: Literal["read", "write", "cas", "delete", "acquire", "renew", "release"]
    key: str
    node: str
    value: Any = None
    path: ReadPath | None = None
    fenced: bool = False
