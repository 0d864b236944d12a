"""A model of one's own, and the checker used alone: a register that only grows.

    python docs/examples/my_model.py HISTORY
"""

import sys
import time
from pathlib import Path

from checker import Budget, Model, check, formats


class HighWater(Model):
    """``raise`` lifts the mark to a number, if that is higher; ``read`` returns the mark."""

    name = "high-water"
    functions = frozenset({"raise", "read"})

    def initial(self, value):
        """Return the mark at the start."""
        return value or 0

    def step(self, state, op):
        """Return the states that may follow; () if the operation cannot take effect here."""
        if op.f == "raise":
            return (max(state, op.value),)
        return (state,) if not op.known or state == op.value else ()

    def readonly(self, op):
        """Return whether the operation never changes anything: what lets the search skip orders."""
        return op.f == "read"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    history = formats.read(path.read_bytes(), name=path.name)
    report = check(history, model=HighWater(), budget=Budget(time_s=60, clock=time.monotonic))
    print(report.outcome, report.sentence or "")
