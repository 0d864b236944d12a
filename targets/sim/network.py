"""Directed links in virtual time, with the states that `targets.cluster` names.

A link carries what one end says to the other. *Held* keeps everything, what is on its way included,
and lets it go in order when it opens; *dropped* loses it, and resets the clients' connections that run
through it. On a link between nodes a message may be lost, doubled or overtaken by a later one, as
often as the weather has it; a client's connection keeps its order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from targets.cluster import CLIENTS, Delayed, Dropped, Held, Link, LinkState, Open

from .draws import Draws

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .heap import Heap
    from .weather import Weather

    Deliver = Callable[..., object]


class SimLink:
    """One direction. ``flows`` is whether it is neither held nor dropped.

    ``epoch`` tells what was sent before a drop; ``last_ns`` keeps the order.
    """

    __slots__ = ("backlog", "between_nodes", "delay_ns", "draws", "epoch", "flows", "last_ns", "state")

    def __init__(self, draws: Draws, *, between_nodes: bool) -> None:
        self.draws = draws
        self.between_nodes = between_nodes
        self.state: LinkState = Open()
        self.flows = True
        self.delay_ns = 0
        self.epoch = 0
        self.last_ns = 0
        self.backlog: list[tuple[Deliver, tuple[Any, ...]]] = []


class SimNetwork:
    """Every directed link among the nodes and with the clients."""

    def __init__(self, heap: Heap, nodes: Sequence[str], weather: Weather, *, seed: int) -> None:
        self._heap = heap
        self._weather = weather
        self._orderly = not (weather.loss_ppm or weather.duplicate_ppm or weather.reorder_ppm)
        self._links = {
            (source, target): SimLink(
                Draws(seed, f"link/{source}>{target}"), between_nodes=CLIENTS not in (source, target)
            )
            for source in (*nodes, CLIENTS)
            for target in (*nodes, CLIENTS)
            if source != target
        }

    def state(self, link: Link) -> LinkState:
        """Return what state a link is in."""
        return self._links[link.source, link.target].state

    def refuses(self, source: str, target: str) -> bool:
        """Whether nothing can be connected over this link."""
        return isinstance(self._links[source, target].state, Dropped)

    def breaks(self, source: str, target: str) -> bool:
        """Draw whether a client's connection breaks at this message."""
        if not self._weather.break_ppm:
            return False
        return self._links[source, target].draws.chance(self._weather.break_ppm)

    def send(self, source: str, target: str, deliver: Deliver, *args: Any) -> None:
        """Have ``deliver(*args)`` called when the message arrives, if it does."""
        link = self._links[source, target]
        weather = self._weather
        if link.between_nodes and not self._orderly:
            if link.draws.chance(weather.loss_ppm):
                return
            if link.draws.chance(weather.duplicate_ppm):
                self._send(link, deliver, args, ordered=False)
            if link.draws.chance(weather.reorder_ppm):
                self._send(link, deliver, args, ordered=False)
                return
        self._send(link, deliver, args)

    def hang_up(self, source: str, target: str, deliver: Deliver, *args: Any) -> None:
        """Have ``deliver(*args)`` called when the target hears that the connection is closed.

        What is closed is closed once and for all: no weather loses or doubles that, so none is drawn.
        """
        link = self._links[source, target]
        match link.state:
            case Dropped():
                pass
            case Held():
                link.backlog.append((deliver, args))
            case _:
                heard_ns = self._heap.now_ns + link.delay_ns + self._weather.latency_min_ns
                self._heap.at(heard_ns, self._arrive, link, link.epoch, deliver, args)

    def _send(
        self, link: SimLink, deliver: Deliver, args: tuple[Any, ...], *, ordered: bool = True
    ) -> None:
        if not link.flows:
            if isinstance(link.state, Held):
                link.backlog.append((deliver, args))
            return
        weather, draws = self._weather, link.draws
        arrives_ns = (
            self._heap.now_ns
            + link.delay_ns
            + draws.between(weather.latency_min_ns, weather.latency_max_ns)
        )
        if weather.tail_ppm and draws.chance(weather.tail_ppm):
            arrives_ns += draws.between(0, weather.tail_max_ns)
        if not ordered:  # it takes up to four times as long, and nobody waits for it
            arrives_ns += draws.between(0, 4 * weather.latency_max_ns)
        elif arrives_ns <= link.last_ns:
            arrives_ns = link.last_ns + 1
        if ordered:
            link.last_ns = arrives_ns
        self._heap.at(arrives_ns, self._arrive, link, link.epoch, deliver, args)

    def _arrive(self, link: SimLink, epoch: int, deliver: Deliver, args: tuple[Any, ...]) -> None:
        if epoch != link.epoch:
            return
        if link.flows:
            deliver(*args)
        else:  # held: what was sent before a drop is of another epoch
            link.backlog.append((deliver, args))

    def set(self, link: Link, state: LinkState) -> None:
        """Put a link into a state at once."""
        found = self._links[link.source, link.target]
        found.state = state
        found.flows = isinstance(state, Open | Delayed)
        found.delay_ns = state.delay_ns if isinstance(state, Delayed) else 0
        match state:
            case Held():
                pass
            case Dropped():
                self.lose(link)
            case Open() | Delayed():
                backlog, found.backlog = found.backlog, []
                for deliver, args in backlog:
                    self._send(found, deliver, args)

    def lose(self, link: Link) -> None:
        """Lose everything that is on its way over a link, or kept by it."""
        found = self._links[link.source, link.target]
        found.epoch += 1
        found.backlog.clear()
