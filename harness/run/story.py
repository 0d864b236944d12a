"""A run told while it goes on: a line a phase, a fault and a change of leader.

Told from what the driver carries anyway: lines of the history, which announce every fault, and the
statuses it was asked to fetch. Nothing here is part of a run; whoever does not listen changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from checker.events import NEMESIS
from harness.report.faults import named
from nemesis.faults import Standing
from targets.cluster import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from checker.events import Event
    from targets.cluster import NodeStatus

    from .ports import Phase


class Story:
    """Says each thing once. Times are from the run's origin.

    Links heal one by one, perhaps, and one that several faults share with the last of these. So a fault
    of links is said to heal when none of its links is shut any more.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._phase: Phase | None = None
        self._term = -1
        self._healing: set[Any] = set()
        self._shut: dict[Any, tuple[str, list[Any]]] = {}  # a fault's kind, and its links that are shut

    def phase(self, phase: Phase, now_ns: int) -> None:
        """Tell a phase that has begun."""
        if phase is not self._phase:
            self._phase = phase
            self._tell(now_ns, phase.value)

    def line(self, event: Event) -> None:
        """Tell of a line of the history, if it is the nemesis's."""
        if event.process != NEMESIS or not isinstance(event.value, dict):
            return
        for text in self._fault(event.f, event.value):
            self._tell(event.time_ns or 0, text)

    def status(self, status: NodeStatus, now_ns: int) -> None:
        """Tell of a leader of a term that is newer than any seen."""
        if status.role is Role.LEADER and status.term > self._term:
            self._term = status.term
            self._tell(now_ns, f"leader {status.node}, term {status.term}")

    def _fault(self, kind: str, told: dict[str, Any]) -> Iterator[str]:
        number = told.get("id")
        match told.get("step"):
            case "inject":
                fault = told["fault"]
                roles = ", ".join(f"{node} {role}" for node, role in told["roles"].items())
                whom = roles or ", ".join(fault.get("nodes", []))
                if "links" in fault:
                    self._shut[number] = kind, list(fault["links"])
                yield f"fault {number}: {named(kind, fault.get('shape'))} ({whom})"
            case "injected" if told["standing"] != Standing.INSTALLED:
                if told["standing"] == Standing.SKIPPED:
                    self._healing.add(number)  # nothing is there that could heal
                    self._shut.pop(number, None)
                yield f"fault {number}: {told['standing']}: {told.get('reason')}"
            case "heal":
                for each, what in self._healed_with(number, kind, told.get("fault", {})):
                    if each not in self._healing:
                        self._healing.add(each)
                        yield f"fault {each}: {what} heals"
            case "healed" if told["standing"] == Standing.UNKNOWN:
                yield f"fault {number}: NOT KNOWN TO BE HEALED: {told.get('reason')}"
            case None if told.get("missed"):
                yield str(told.get("text"))

    def _healed_with(self, number: Any, kind: str, fault: dict[str, Any]) -> Iterator[tuple[Any, str]]:
        """Yield the faults of which this heal, of one or of a part of it, leaves nothing."""
        if number not in self._shut:
            yield number, kind
        for each, (what, links) in tuple(self._shut.items()):
            left = [link for link in links if link not in fault.get("links", ())]
            self._shut[each] = what, left
            if not left:
                del self._shut[each]
                yield each, what

    def _tell(self, now_ns: int, text: str) -> None:
        self._say(f"{now_ns / 1e9:6.2f} s  {text}")
