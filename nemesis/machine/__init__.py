"""The nemesis' state machine: see `nemesis.machine.machine` for its theory."""

from .machine import Machine
from .record import EpisodeRun, Injected, InjectionRecord

__all__ = ["EpisodeRun", "Injected", "InjectionRecord", "Machine"]
