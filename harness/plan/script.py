"""A plan's operations, one by one: instead of a workload that draws them."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec

from checker.events import ReadPath

PAIR: Final = 2


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

    def wrong(  # noqa: PLR0911 - one sentence each
        self, *, locks: bool, time_ns: int
    ) -> str | None:
        """Return why it cannot be done or would not be, None if it is fine.

        ``locks`` is whether the workload is one of locks, ``time_ns`` how long the load lasts.
        """
        pair = isinstance(self.value, list | tuple) and len(self.value) == PAIR
        if self.f in {"acquire", "renew", "release"} and not locks:
            return f"{self.f} is an operation of workload lock"
        if self.f in {"read", "delete"} and self.value is not None:
            return f"a {self.f} takes no value"
        if self.f in {"cas", "acquire"} and not pair:
            takes = "[old, new]" if self.f == "cas" else "[session, time to live in ns]"
            return f"the value of {self.f} is {takes}"
        if self.path is not None and self.f != "read":
            return f"path is how a read is served, and this is a {self.f}"
        if self.fenced and not (self.f == "write" and pair):
            return "what is fenced is a write of [token, anything]"
        if self.at_ns > time_ns:
            return f"at_ns {self.at_ns} is after the load's end, {time_ns} ns"
        return None
