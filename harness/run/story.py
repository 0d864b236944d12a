"""A run told while it goes on: a line a phase, a fault and a change of leader.

Told from what the driver carries anyway: lines of the history, which announce every fault, and the
statuses it was asked to fetch. Nothing here is part of a run; whoever does not listen changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from checker.events import NEMESIS
from nemesis.faults import Standing
from targets.cluster import Role

if TYPE_CHECKING:
    from collections.abc import Callable

    from checker.events import Event
    from targets.cluster import NodeStatus

    from .ports import Phase


class Story:
    """Says each thing once. Times are from the run's origin."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._phase: Phase | None = None
        self._term = -1
        self._healing: set[Any] = set()

    def phase(self, phase: Phase, now_ns: int) -> None:
        """Tell a phase that has begun."""
        if phase is not self._phase:
            self._phase = phase
            self._tell(now_ns, phase.value)

    def line(self, event: Event) -> None:
        """Tell of a line of the history, if it is the nemesis's."""
        if event.process != NEMESIS or not isinstance(event.value, dict):
            return
        text = self._fault(event.f, event.value)
        if text is not None:
            self._tell(event.time_ns or 0, text)

    def status(self, status: NodeStatus, now_ns: int) -> None:
        """Tell of a leader of a term that is newer than any seen."""
        if status.role is Role.LEADER and status.term > self._term:
            self._term = status.term
            self._tell(now_ns, f"leader {status.node}, term {status.term}")

    def _fault(self, kind: str, told: dict[str, Any]) -> str | None:
        number = told.get("id")
        match told.get("step"):
            case "inject":
                fault = told["fault"]
                shape = fault.get("shape")
                roles = ", ".join(f"{node} {role}" for node, role in told["roles"].items())
                whom = roles or ", ".join(fault.get("nodes", []))
                return f"fault {number}: {kind}{f' {shape}' if shape else ''} ({whom})"
            case "injected" if told["standing"] != Standing.INSTALLED:
                return f"fault {number}: {told['standing']}: {told.get('reason')}"
            case "heal" if number not in self._healing:  # link by link, perhaps
                self._healing.add(number)
                return f"fault {number}: {kind} heals"
            case "healed" if told["standing"] == Standing.UNKNOWN:
                return f"fault {number}: NOT KNOWN TO BE HEALED: {told.get('reason')}"
            case None if told.get("missed"):
                return str(told.get("text"))
            case _:
                return None

    def _tell(self, now_ns: int, text: str) -> None:
        self._say(f"{now_ns / 1e9:6.2f} s  {text}")
