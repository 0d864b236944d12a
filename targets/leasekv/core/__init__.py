"""The node's core, a pure state machine; see `targets.leasekv.ports` for what a driver owes it."""

from .core import Core, CoreFigures, CoreStatus

__all__ = ["Core", "CoreFigures", "CoreStatus"]
